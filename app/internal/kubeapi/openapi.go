// SPDX-License-Identifier: Apache-2.0

package kubeapi

import (
	"crypto/sha256"
	"encoding/hex"
	"reflect"
	"strings"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// dict is a part of a document.
type dict = map[string]any

// meanings are the descriptions of the types and their fields, for `kubectl explain`.
var meanings = map[string]string{
	"Change": "One change of the cluster and all its effects. In a namespace it has the part that belongs to the " +
		"namespace. It can only be read. The name is the trace ID.",
	"Change.involvedObject": "The changed object. A command with several has none.",
	"Change.spec":           "The request that began the change.",
	"Change.status":         "The course of the change.",

	"Object":           "The identity of an object.",
	"Object.apiGroup":  "API group; empty for the core group.",
	"Object.kind":      "Kind, such as Deployment.",
	"Object.namespace": "Namespace; empty for a cluster-scoped object.",
	"Object.name":      "Name.",
	"Object.uid":       "UID.",

	"ChangeSpec":         "The request that began a change.",
	"ChangeSpec.verb":    "create, update or delete.",
	"ChangeSpec.user":    "The user, if the audit log or an admission webhook shows it.",
	"ChangeSpec.actor":   "The component that wrote, such as kubectl.",
	"ChangeSpec.command": "The command of a `lifeline run`.",
	"ChangeSpec.edits":   "The changed fields in words, such as `image web:1 → web:2`.",
	"ChangeSpec.heals":   "The lost object that the change replaces.",
	"ChangeSpec.fight":   "The field over which several authors fight.",

	"ChangeStatus":       "The course of a change.",
	"ChangeStatus.state": "running, held or stuck for an open change, else its outcome.",
	"ChangeStatus.outcome": "converged, failed, refused, superseded, deleted or unfinished; absent while it is " +
		"open.",
	"ChangeStatus.category":       "The category of the reason, such as image-pull.",
	"ChangeStatus.reason":         "Why the change failed, or what it waits for.",
	"ChangeStatus.startTime":      "The time of the request.",
	"ChangeStatus.completionTime": "The time of the end; absent while it is open.",
	"ChangeStatus.duration":       "The time from the start to the end; absent while it is open.",
	"ChangeStatus.slowest":        "The slowest part.",
	"ChangeStatus.aftermath":      "What happened to the Pods of a converged change afterwards.",
	"ChangeStatus.spans":          "The number of steps that are known.",
	"ChangeStatus.why":            "The state of the object and its reason, in sentences. Only of one change.",
	"ChangeStatus.steps":          "The steps, those of a step below it. Only of one change.",
}

// schemas are the schemas of all types by name. ref begins a reference to one.
func schemas(ref string) dict {
	out := dict{}
	var of func(t reflect.Type) dict
	of = func(t reflect.Type) dict {
		switch {
		case t.Kind() == reflect.Pointer:
			return of(t.Elem())
		case t == reflect.TypeFor[metav1.Time]():
			return dict{"type": "string", "format": "date-time"}
		case t == reflect.TypeFor[metav1.ObjectMeta](), t == reflect.TypeFor[metav1.ListMeta]():
			return dict{"type": "object"}
		case t.Kind() == reflect.String:
			return dict{"type": "string"}
		case t.Kind() == reflect.Int:
			return dict{"type": "integer", "format": "int64"}
		case t.Kind() == reflect.Slice:
			return dict{"type": "array", "items": of(t.Elem())}
		}
		name := "dev.lifeline." + Version + "." + t.Name()
		if out[name] != nil {
			return dict{"$ref": ref + name}
		}
		properties := dict{}
		out[name] = dict{"type": "object", "description": meanings[t.Name()], "properties": properties}
		for f := range fieldsOf(t) {
			schema := of(f.typ)
			if schema["$ref"] != nil {
				schema = dict{"allOf": []dict{schema}, "default": dict{}}
			}
			schema["description"] = f.meaning
			properties[f.name] = schema
		}
		return dict{"$ref": ref + name}
	}
	of(reflect.TypeFor[Change]())
	for _, k := range []string{kind, visibleKind} {
		schema := dict{}
		for name, v := range out["dev.lifeline."+Version+".Change"].(dict) { //nolint:forcetypeassert // made above
			schema[name] = v
		}
		schema["x-kubernetes-group-version-kind"] = []dict{gvk(k)}
		out["dev.lifeline."+Version+"."+k] = schema
	}
	return out
}

func gvk(kind string) dict { return dict{"group": Group, "version": Version, "kind": kind} }

// field is a field of a type in JSON.
type field struct {
	name, meaning string
	typ           reflect.Type
}

// fieldsOf returns the fields of a type in JSON.
func fieldsOf(t reflect.Type) func(func(field) bool) {
	inherited := map[string]string{
		"apiVersion": "The versioned schema of this object.", "kind": "The kind of this object.",
		"metadata": "Standard metadata. creationTimestamp is the start of the change.",
	}
	return func(yield func(field) bool) {
		for i := range t.NumField() {
			f := t.Field(i)
			name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
			if name == "" && f.Anonymous {
				for in := range fieldsOf(f.Type) {
					if !yield(in) {
						return
					}
				}
				continue
			}
			meaning := inherited[name]
			if own := meanings[t.Name()+"."+name]; own != "" {
				meaning = own
			}
			if !yield(field{name, meaning, f.Type}) {
				return
			}
		}
	}
}

// paths are the operations of the resources, by which kubectl finds the kind of a resource.
func paths() dict {
	operation := func(kind, action string) dict {
		return dict{"get": dict{
			"description": "read " + kind, "responses": dict{"200": dict{"description": "OK"}},
			"x-kubernetes-action": action, "x-kubernetes-group-version-kind": gvk(kind),
		}}
	}
	return dict{
		Root + "/" + Resource:                                    operation(kind, verbList),
		Root + "/namespaces/{namespace}/" + Resource:             operation(kind, verbList),
		Root + "/namespaces/{namespace}/" + Resource + "/{name}": operation(kind, verbGet),
		Root + "/" + VisibleResource:                             operation(visibleKind, verbList),
		Root + "/" + VisibleResource + "/{name}":                 operation(visibleKind, verbGet),
	}
}

func openAPIInfo() dict { return dict{"title": "Lifeline", "version": Version} }

// openAPIV3 is the document of the version.
func openAPIV3() dict {
	return dict{
		"openapi": "3.0.0", "info": openAPIInfo(), "paths": paths(),
		"components": dict{"schemas": schemas("#/components/schemas/")},
	}
}

// openAPIV2 is the same for older clients. The API server merges it with those of all groups.
func openAPIV2() dict {
	definitions := schemas("#/definitions/")
	for _, d := range definitions {
		for _, p := range d.(dict)["properties"].(dict) { //nolint:forcetypeassert // made by schemas
			if all, is := p.(dict)["allOf"].([]dict); is { //nolint:forcetypeassert // as above
				p.(dict)["$ref"] = all[0]["$ref"] //nolint:forcetypeassert // as above
				delete(p.(dict), "allOf")         //nolint:forcetypeassert // as above
				delete(p.(dict), "default")       //nolint:forcetypeassert // as above
			}
		}
	}
	return dict{"swagger": "2.0", "info": openAPIInfo(), "paths": paths(), "definitions": definitions}
}

// hash identifies the document of the version.
var hash = sync.OnceValue(func() string {
	sum := sha256.Sum256(encode(openAPIV3()))
	return strings.ToUpper(hex.EncodeToString(sum[:16]))
})
