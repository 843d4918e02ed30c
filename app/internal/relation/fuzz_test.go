// SPDX-License-Identifier: Apache-2.0

package relation

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
)

// FuzzCompile: any expression compiles, or gives a bounded and printable error with a position. The
// keys of any objects are scalars, and the same objects give the same keys. Equal keys mean that the
// whole expression is true.
func FuzzCompile(f *testing.F) {
	const object = `{"metadata":{"name":"main","namespace":"a","labels":{"example.com/db":"main"}},` +
		`"spec":{"n":1,"l":[1,"x"]}}`
	for _, match := range []string{
		ofDatabase, "", "from.metadata.name ==", "from.a == to.a || true",
		"'data-' + from.metadata.name == to.metadata.name",
		"to.spec.l.exists(x, x == 1) && from.spec.n == to.spec.n", "from.spec.l[1] == to.spec.l[1]",
		"from.metadata.name.matches('^m') && size(from.spec.l) == size(to.spec.l)", "to == from",
		"from.metadata.name == to.metadata.name ? true : false",
		"[from].map(to, to.metadata.name)[0] == to.metadata.name",
	} {
		f.Add(match, object, object)
	}
	f.Fuzz(func(t *testing.T, match, a, b string) {
		r, err := Compile(declared(match))
		if err != nil {
			var at *Error
			if !errors.As(err, &at) || at.Line < 1 || at.Column < 1 || len(err.Error()) > 500 ||
				!utf8.ValidString(err.Error()) || strings.ContainsFunc(err.Error(), unicode.IsControl) {
				t.Fatalf("bad error: %q", err)
			}
			return
		}
		var from, to map[string]any
		if json.Unmarshal([]byte(a), &from) != nil || json.Unmarshal([]byte(b), &to) != nil {
			return
		}
		x, hasX := r.Causes(database, from)
		y, hasY := r.Caused(claim, to)
		again, has := r.Causes(database, from)
		if has != hasX || !cmp.Equal(again, x) {
			t.Fatalf("the key of one object differs: %v and %v", x, again)
		}
		for _, v := range append(append([]Value{}, x...), y...) {
			switch v.(type) {
			case string, bool, int64, float64:
			default:
				t.Fatalf("%T is no value of a key", v)
			}
		}
		if hasX && hasY && cmp.Equal(x, y) && !whole(t, match, from, to) {
			t.Fatalf("equal keys %v, but %q is not true", x, match)
		}
	})
}

// whole evaluates the undivided expression.
func whole(t *testing.T, match string, from, to map[string]any) bool {
	env, err := environment()
	if err != nil {
		t.Fatal(err)
	}
	tree, issues := env.Compile(match)
	if issues.Err() != nil {
		t.Fatal(issues.Err())
	}
	p, err := env.Program(tree)
	if err != nil {
		t.Fatal(err)
	}
	v, _, err := p.Eval(map[string]any{varFrom: from, varTo: to})
	return err == nil && v.Value() == true
}
