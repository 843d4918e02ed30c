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
	schemas := dict{}
	reflector := jsonschema.Reflector{
		Anonymous: true, AllowAdditionalProperties: true, Namer: nameOf,
		Mapper: func(of reflect.Type) *jsonschema.Schema {
			if of == reflect.TypeFor[Seconds]() {
				return &jsonschema.Schema{Type: "number", Description: "seconds"}
			}
			return nil
		},
	}
	for _, dir := range []string{"api", "answer", "object"} {
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
	operation := func(summary, at string, names []string, ok dict) dict {
		var list []dict
		for _, name := range regexp.MustCompile(`{(\w+)}`).FindAllStringSubmatch(at, -1) {
			list = append(list, dict{
				"name": name[1], "in": "path", "required": true, "schema": dict{"type": "string"},
				"description": "the ID of a trace, or its first digits, at least 8",
			})
		}
		for _, name := range names {
			p, known := parameters[name]
			if !known {
				t.Errorf("parameter %s has no description", name)
			}
			list = append(list, dict{
				"name": name, "in": "query", "description": p.meaning, "schema": dict{"type": p.format},
			})
		}
		return dict{"get": dict{
			"summary": summary, "parameters": list, "responses": dict{"200": ok, "default": failure},
		}}
	}
	paths := dict{}
	for _, to := range routes {
		paths[prefix+to.path] = operation(
			to.summary,
			to.path,
			to.parameters,
			answer(schema(to.body), "application/json"),
		)
	}
	paths[prefix+"watch"] = operation("Server-sent events: open traces, as they change", "watch",
		append(slices.Clone(objects), "view"), answer(dict{"type": "string"}, "text/event-stream"))
	out, err := json.MarshalIndent(dict{
		"openapi": "3.1.1",
		"info": dict{
			"title": "Lifeline", "version": "v1",
			"description": "Traces of the changes in a Kubernetes cluster. Durations are in seconds.",
		},
		"paths": paths, "components": dict{"schemas": schemas},
	}, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	return append(out, '\n')
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
	s := start(t, Options{Store: v, Sources: func() Sources {
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
		schema, err := c.Compile("openapi.json#/components/schemas/" + nameOf(to.body))
		if err != nil {
			t.Fatalf("%s: %v", to.path, err)
		}
		for _, one := range traces {
			path := strings.NewReplacer("{traceID}", one.ID.String(), "{spanID}", one.Spans[1].ID.String()).
				Replace(prefix + to.path)
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
