// SPDX-License-Identifier: Apache-2.0

package api

import (
	"bytes"
	"encoding/json"
	"flag"
	"net/http"
	"os"
	"path"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/invopop/jsonschema"
	validator "github.com/santhosh-tekuri/jsonschema/v6"

	questions "github.com/kube-lifeline/lifeline/app/internal/question"
	"github.com/kube-lifeline/lifeline/app/internal/received"
	"github.com/kube-lifeline/lifeline/app/internal/span"
	"github.com/kube-lifeline/lifeline/app/internal/span/spantest"
	"github.com/kube-lifeline/lifeline/app/internal/view/viewtest"
)

var update = flag.Bool("update", false, "write openapi.json")

type dict = map[string]any

// nameOf returns the name of a schema. Types of other packages have the name of theirs before.
func nameOf(t reflect.Type) string {
	room := path.Base(t.PkgPath())
	if t.Name() == "" || room == "api" {
		return t.Name()
	}
	return strings.ToUpper(room[:1]) + room[1:] + t.Name()
}

// describe returns the OpenAPI document of the routes, as JSON.
func describe(t *testing.T) []byte {
	t.Helper()
	schemas := map[string]dict{}
	reflector := jsonschema.Reflector{
		Anonymous: true, AllowAdditionalProperties: true, Namer: nameOf,
		Mapper: func(of reflect.Type) *jsonschema.Schema {
			if of == reflect.TypeFor[Seconds]() {
				return &jsonschema.Schema{Type: "number", Description: "seconds"}
			}
			return nil
		},
	}
	for _, dir := range []string{"api", "answer", "object", "problem", "shift"} {
		if err := reflector.AddGoComments(
			"github.com/kube-lifeline/lifeline/app/internal/"+dir,
			"../"+dir,
		); err != nil {
			t.Fatal(err)
		}
	}
	// comments are found by package and path
	for name, text := range reflector.CommentMap {
		delete(reflector.CommentMap, name)
		reflector.CommentMap[regexp.MustCompile(`/\.\./\w+`).ReplaceAllString(name, "")] = text
	}
	schema := func(of reflect.Type) dict {
		raw, err := json.Marshal(reflector.ReflectFromType(of))
		if err != nil {
			t.Fatal(err)
		}
		var s struct {
			Ref  string          `json:"$ref"`
			Defs map[string]dict `json:"$defs"`
		}
		raw = bytes.ReplaceAll(raw, []byte("#/$defs/"), []byte("#/components/schemas/"))
		if err := json.Unmarshal(raw, &s); err != nil {
			t.Fatal(err)
		}
		for name, def := range s.Defs {
			schemas[name] = def
		}
		return dict{"$ref": s.Ref}
	}
	answer := func(of dict, media string) dict {
		return dict{"description": "the answer", "content": dict{media: dict{"schema": of}}}
	}
	failure := answer(schema(reflect.TypeFor[Problem]()), "application/json")
	failure["description"] = "an error, with a sentence for people"
	inPath := map[string]string{
		"traceID": "the ID of a trace, or its first digits, at least 8", "spanID": "the ID of a span, all 16 digits",
	}
	operation := func(summary, at string, names []string, ok dict) dict {
		list := []dict{}
		for _, name := range regexp.MustCompile(`{(\w+)}`).FindAllStringSubmatch(at, -1) {
			if inPath[name[1]] == "" {
				t.Errorf("parameter %s has no description", name[1])
			}
			list = append(list, dict{
				"name": name[1], "in": "path", "required": true, "schema": dict{"type": "string"},
				"description": inPath[name[1]],
			})
		}
		for _, name := range names {
			p, known := parameters[name]
			if !known {
				t.Errorf("parameter %s has no description", name)
			}
			of := dict{"type": p.format}
			if p.to > 0 {
				of["minimum"], of["maximum"] = p.from, p.to
			}
			if p.values != nil {
				of["enum"] = p.values
			}
			if p.many {
				of = dict{"type": "array", "items": of}
			}
			list = append(list, dict{
				"name": name, "in": "query", "required": slices.Contains(required, name), "description": p.meaning,
				"schema": of,
			})
		}
		return dict{"get": dict{
			"operationId": operationID(at),
			"summary":     summary,
			"parameters":  list,
			"responses":   dict{"200": ok, "default": failure},
		}}
	}
	paths := dict{}
	for _, to := range routes {
		ok := answer(schema(to.body), "application/json")
		if slices.Contains(to.parameters, "format") {
			ok["content"] = dict{
				"application/json": dict{"schema": dict{"anyOf": []dict{schema(to.body), {
					"type": "object", "required": []string{"traceEvents"}, "description": "with format=perfetto",
				}}}},
				"text/plain": dict{"schema": dict{"type": "string", "description": "with format=mermaid"}},
				"text/html":  dict{"schema": dict{"type": "string", "description": "with format=html"}},
			}
		}
		paths[prefix+to.path] = operation(to.summary, to.path, to.parameters, ok)
	}
	properties, _ := schemas["Lifecycle"]["properties"].(dict)
	for _, f := range questions.Fields() {
		if f.From != nil {
			of := schemaOf[f.Type]()
			of["description"] = f.Meaning
			properties[memberOf(f.Name)] = of
		}
	}
	paths[prefix+"watch"] = operation("Server-sent events: open traces, as they change", "watch",
		append(slices.Clone(objects), "view", "ended"), answer(dict{"type": "string"}, "text/event-stream"))
	paths[prefix+"problems/stream"] = operation("Server-sent events: the problems now, after each change",
		"problems/stream", selections, answer(dict{"type": "string"}, "text/event-stream"))
	out, err := json.MarshalIndent(dict{
		"openapi": "3.1.1",
		"info": dict{
			"title": "Lifeline", "version": "v1",
			"description": "Traces of the changes in a Kubernetes cluster. Durations are in seconds.",
		},
		"security": []dict{{}, {"token": []string{}}},
		"paths":    paths,
		"components": dict{"schemas": schemas, "securitySchemes": dict{"token": dict{
			"type": "http", "scheme": "bearer",
			"description": "the token of api.tokenFile, if the server has one",
		}}},
	}, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	return append(out, '\n')
}

// schemaOf returns the schema of the member for a field, by its type.
var schemaOf = map[questions.Type]func() dict{
	questions.String:    func() dict { return dict{"type": "string"} },
	questions.Int:       func() dict { return dict{"type": "integer"} },
	questions.Timestamp: func() dict { return dict{"type": "string", "format": "date-time"} },
	questions.Duration:  func() dict { return dict{"type": "number"} },
	questions.List:      func() dict { return dict{"type": "array", "items": dict{"type": "string"}} },
	questions.Map: func() dict {
		return dict{"type": "object", "additionalProperties": dict{"type": "string"}}
	},
}

// required are the parameters without which there is no answer.
var required = []string{"text"}

// operationID names the operation of a path for generated clients: "traces/{traceID}/why" is traceWhy.
func operationID(at string) string {
	words := strings.Split(regexp.MustCompile(`s/{\w+}`).ReplaceAllString(at, ""), "/")
	for i, w := range words[1:] {
		words[i+1] = strings.ToUpper(w[:1]) + w[1:]
	}
	return strings.Join(words, "")
}

// TestOpenAPIValid holds the document to the schema of OpenAPI 3.1, and its references and names to each
// other.
func TestOpenAPIValid(t *testing.T) {
	read := func(data []byte) any {
		v, err := validator.UnmarshalJSON(bytes.NewReader(data))
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
	standard, err := os.ReadFile("testdata/openapi-3.1-schema.json")
	if err != nil {
		t.Fatal(err)
	}
	c := validator.NewCompiler()
	if err := c.AddResource("openapi-3.1.json", read(standard)); err != nil {
		t.Fatal(err)
	}
	schema, err := c.Compile("openapi-3.1.json")
	if err != nil {
		t.Fatal(err)
	}
	whole, _ := read(openAPI).(dict)
	if err := schema.Validate(whole); err != nil {
		t.Error(err)
	}
	components, _ := whole["components"].(dict)
	schemas, _ := components["schemas"].(dict)
	ids := map[string]bool{}
	var walk func(v any)
	walk = func(v any) {
		switch v := v.(type) {
		case dict:
			if ref, ok := v["$ref"].(string); ok && schemas[strings.TrimPrefix(ref, "#/components/schemas/")] == nil {
				t.Errorf("%s leads nowhere", ref)
			}
			if get, ok := v["get"].(dict); ok {
				id, _ := get["operationId"].(string)
				if id == "" || ids[id] {
					t.Errorf("the operationId %q is empty or not the only one", id)
				}
				ids[id] = true
			}
			for _, inner := range v {
				walk(inner)
			}
		case []any:
			for _, inner := range v {
				walk(inner)
			}
		}
	}
	walk(whole)
	if len(ids) != len(routes)+2 {
		t.Errorf("%d operations, want %d", len(ids), len(routes)+2)
	}
}

// TestOpenAPI holds the embedded document to the routes and types.
func TestOpenAPI(t *testing.T) {
	want := describe(t)
	if *update {
		if err := os.WriteFile("openapi.json", want, 0o600); err != nil {
			t.Fatal(err)
		}
		return
	}
	if diff := cmp.Diff(string(want), string(openAPI)); diff != "" {
		t.Errorf("go test ./internal/api -run OpenAPI -update writes it: -want +got:\n%s", diff)
	}
	if _, body := start(t, Options{}).get(t, prefix+"openapi.json"); !bytes.Equal(body, openAPI) {
		t.Errorf("the server sends %.200q", body)
	}
}

// TestParameters holds the described parameters of each route to those that the server reads.
func TestParameters(t *testing.T) {
	s := start(t, Options{Sources: func() Sources { return Sources{} }})
	for _, to := range routes {
		path := strings.ReplaceAll(prefix+to.path, "{traceID}", spantest.Apply().ID.String())
		res, body := s.get(t, path+"?unknown=1")
		_, list, _ := strings.Cut(string(body), "the parameters are ")
		list, _, _ = strings.Cut(list, `"`)
		got := strings.FieldsFunc(list, func(r rune) bool { return r == ',' || r == ' ' })
		want := slices.Sorted(slices.Values(to.parameters))
		if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" || res.StatusCode != http.StatusBadRequest {
			t.Errorf("%s: -described +read:\n%s", to.path, diff)
		}
	}
}

// TestAnswers holds answers of the server to their schemas, with all members of each.
func TestAnswers(t *testing.T) {
	whole, err := validator.UnmarshalJSON(bytes.NewReader(openAPI))
	if err != nil {
		t.Fatal(err)
	}
	c := validator.NewCompiler()
	if err := c.AddResource("openapi.json", strict(whole)); err != nil {
		t.Fatal(err)
	}
	v := viewtest.New(t)
	v.Put(t, asOf, viewtest.Traces{
		Open: []*span.Trace{spantest.Unschedulable()},
		Finished: append(spantest.Healing(), spantest.Apply(), spantest.Rollout(), spantest.Hostile(),
			spantest.Many(200), spantest.Joined(), spantest.Fight(), spantest.Causes()),
	})
	s := start(t, Options{Access: v.Access, Problems: sampleProblems(), Sources: func() Sources {
		var none *received.Tally
		return Sources{
			Received:      none.Summary(asOf),
			Joining:       &Joining{},
			Relations:     []Relation{{}},
			Configuration: json.RawMessage(`{}`),
		}
	}})
	traces := []*span.Trace{
		spantest.Unschedulable(), spantest.Joined(), spantest.Many(200), spantest.Hostile(),
	}
	for _, to := range routes {
		if to.path == "compare" {
			continue // nothing to compare without parameters: see TestCompareAnswers
		}
		schema, err := c.Compile("openapi.json#/components/schemas/" + nameOf(to.body))
		if err != nil {
			t.Fatalf("%s: %v", to.path, err)
		}
		for _, one := range traces {
			path := strings.NewReplacer("{traceID}", one.ID.String(), "{spanID}", one.Spans[1].ID.String()).
				Replace(prefix + to.path)
			if slices.ContainsFunc(to.parameters, func(p string) bool { return slices.Contains(required, p) }) {
				path += "?text=web"
			}
			res, body := s.get(t, path)
			got, err := validator.UnmarshalJSON(bytes.NewReader(body))
			if err != nil || res.StatusCode != http.StatusOK {
				t.Fatalf("%s: %d %s %v", path, res.StatusCode, body, err)
			}
			if err := schema.Validate(got); err != nil {
				t.Errorf("%s: %v", path, err)
			}
			if path == prefix+to.path {
				break
			}
		}
	}
	schema, err := c.Compile("openapi.json#/components/schemas/Problem")
	if err != nil {
		t.Fatal(err)
	}
	_, body := s.get(t, prefix+"nothing")
	got, err := validator.UnmarshalJSON(bytes.NewReader(body))
	if err != nil || schema.Validate(got) != nil {
		t.Errorf("an error: %s %v", body, schema.Validate(got))
	}
}

// strict refuses members that a schema does not name, anywhere in v.
func strict(v any) any {
	switch v := v.(type) {
	case dict:
		for _, inner := range v {
			strict(inner)
		}
		if _, object := v["properties"]; object {
			v["additionalProperties"] = false
		}
	case []any:
		for _, inner := range v {
			strict(inner)
		}
	}
	return v
}
