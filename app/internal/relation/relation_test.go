// SPDX-License-Identifier: Apache-2.0

package relation

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

var (
	database = schema.GroupKind{Group: "example.com", Kind: "Database"}
	claim    = schema.GroupKind{Kind: "PersistentVolumeClaim"}
)

// ofDatabase is the example of the documentation.
const ofDatabase = "to.metadata.labels['example.com/db'] == from.metadata.name && " +
	"to.metadata.namespace == from.metadata.namespace"

func declared(match string) Declaration {
	return Declaration{Name: "claim-of-database", From: database, To: claim, Match: match}
}

func compiled(t testing.TB, match string) *Relation {
	t.Helper()
	r, err := Compile(declared(match))
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func thing(namespace, name string, more map[string]any) map[string]any {
	meta := map[string]any{"namespace": namespace, "name": name}
	out := map[string]any{"metadata": meta, "spec": map[string]any{}}
	for key, value := range more {
		switch key {
		case "labels":
			meta[key] = value
		default:
			out["spec"].(map[string]any)[key] = value
		}
	}
	return out
}

func TestKeys(t *testing.T) {
	labelled := map[string]any{"labels": map[string]any{"example.com/db": "main"}}
	cases := map[string]struct {
		reason, match string
		from, to      map[string]any
		related       bool
	}{
		"label": {
			reason: "the example", match: ofDatabase, related: true,
			from: thing("a", "main", nil), to: thing("a", "data-0", labelled),
		},
		"other namespace": {
			reason: "each equality counts", match: ofDatabase,
			from: thing("b", "main", nil), to: thing("a", "data-0", labelled),
		},
		"no label": {
			reason: "a missing field is no key", match: ofDatabase,
			from: thing("a", "main", nil), to: thing("a", "data-0", nil),
		},
		"concatenation": {
			reason: "a key may be computed", match: "'data-' + from.metadata.name == to.metadata.name", related: true,
			from: thing("a", "main", nil), to: thing("a", "data-main", nil),
		},
		"numbers": {
			reason: "CEL compares numbers of any type", match: "from.spec.port == to.spec.port", related: true,
			from: thing("a", "x", map[string]any{"port": int64(80)}),
			to:   thing("a", "y", map[string]any{"port": float64(80)}),
		},
		"types": {
			reason: "a text is no number", match: "from.spec.port == to.spec.port",
			from: thing("a", "x", map[string]any{"port": int64(80)}),
			to:   thing("a", "y", map[string]any{"port": "80"}),
		},
		"null": {
			reason: "null is no key", match: "from.spec.x == to.spec.x",
			from: thing("a", "x", map[string]any{"x": nil}), to: thing("a", "y", map[string]any{"x": nil}),
		},
		"list": {
			reason: "a list is no key", match: "from.spec.x == to.spec.x",
			from: thing("a", "x", map[string]any{"x": []any{}}), to: thing("a", "y", map[string]any{"x": []any{}}),
		},
		"long": {
			reason: "a key is bounded", match: "from.spec.x == to.spec.x",
			from: thing("a", "x", map[string]any{"x": strings.Repeat("x", 254)}),
			to:   thing("a", "y", map[string]any{"x": strings.Repeat("x", 254)}),
		},
		"condition": {
			reason:  "a condition on one object",
			match:   "from.metadata.name == to.spec.of && to.spec.mode == 'live' && has(from.spec.on)",
			from:    thing("a", "x", map[string]any{"on": true}),
			to:      thing("a", "y", map[string]any{"of": "x", "mode": "live"}),
			related: true,
		},
		"false condition": {
			reason: "a condition on one object", match: "from.metadata.name == to.spec.of && to.spec.mode == 'live'",
			from: thing("a", "x", nil), to: thing("a", "y", map[string]any{"of": "x", "mode": "dead"}),
		},
		"an element": {
			reason:  "macros of CEL",
			match:   "to.spec.owners.filter(o, o.kind == 'Database')[0].name == from.metadata.name",
			from:    thing("a", "x", nil),
			related: true,
			to: thing("a", "y", map[string]any{"owners": []any{
				map[string]any{"kind": "A", "name": "a"}, map[string]any{"kind": "Database", "name": "x"},
			}}),
		},
		"too expensive": {
			reason: "the cost of an evaluation is bounded",
			match: "string(to.spec.l.all(a, to.spec.l.all(b, to.spec.l.all(c, a == b || b == c || true)))) == " +
				"from.metadata.name",
			from: thing("a", "true", nil),
			to:   thing("a", "y", map[string]any{"l": make([]any, 1000)}),
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			r := compiled(t, tc.match)
			a, ok := r.Causes(database, tc.from)
			b, ok2 := r.Caused(claim, tc.to)
			if related := ok && ok2 && cmp.Equal(a, b); related != tc.related {
				t.Errorf("%s: %v (%v) and %v (%v) are related: %v", tc.reason, a, ok, b, ok2, related)
			}
			if _, ok := r.Causes(claim, tc.from); ok {
				t.Error("an object of another kind has a key")
			}
		})
	}
}

func TestErrors(t *testing.T) {
	both := "this part uses both objects, and is no equality: " + form
	cases := map[string]struct{ match, want string }{
		"empty":  {"  ", "1:1: " + form},
		"syntax": {"from.metadata.name ==", "1:22: Syntax error: mismatched input '<EOF>'"},
		"unknown": {
			"from.a == to.b && form.c == to.d",
			"1:19: undeclared reference to 'form' (did you mean 'from'?)",
		},
		"type":     {"from.a + to.b", "1:1: "},
		"or":       {"from.a == to.a || from.b == to.b", "1:1: " + both},
		"no equal": {"from.a == to.a && from.b < to.b", "1:19: " + both},
		"mixed": {
			"from.a == to.a &&\n  from.b + to.b == from.c",
			"2:3: one side of this equality must use only from, the other only to",
		},
		"constant":  {"from.a == to.a && 1 == 1", "1:19: this part uses neither from nor to"},
		"one-sided": {"from.a == 'x' && to.b == 'y'", "1:1: " + form},
		"function":  {"from.a.nope() == to.b", "1:12: undeclared reference to 'nope'"},
		"long": {
			"from.a == to.b" + strings.Repeat(" ", 1100),
			"1:1: expression code point size exceeds limit: size: 1114, limit 1024",
		},
		"deep": {strings.Repeat("(", 40) + "from.a" + strings.Repeat(")", 40) + " == to.b", "1:"},
		"many": {
			"from.a == to.b" + strings.Repeat(" && from.a == to.b", 16),
			"1:289: must have at most 16 parts between &&",
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			_, err := Compile(declared(tc.match))
			var at *Error
			if !errors.As(err, &at) || !strings.HasPrefix(err.Error(), tc.want) {
				t.Errorf("got %v, want %s", err, tc.want)
			}
		})
	}
}
