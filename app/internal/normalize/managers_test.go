// SPDX-License-Identifier: Apache-2.0

package normalize

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestLeafManagers checks the paths of fields, and which field managers own each.
func TestLeafManagers(t *testing.T) {
	const head = `{"metadata":{"uid":"u","resourceVersion":"1"`
	entry := func(manager, owned string) string {
		return `{"manager":"` + manager + `","operation":"Update","fieldsV1":` + owned + `}`
	}
	cases := map[string]struct {
		reason   string
		object   string
		managers []string
		want     map[string]string
	}{
		"Granular": {
			"who lost the last label still owns the map, but no label",
			`,"labels":{"tier":"b"}}`,
			[]string{
				entry("a", `{"f:metadata":{"f:labels":{}}}`),
				entry("b", `{"f:metadata":{"f:labels":{"f:tier":{}}}}`),
			},
			map[string]string{"metadata.labels.tier": "b"},
		},
		"Atomic": {
			"the owner of an atomic field owns all of it",
			`},"spec":{"selector":{"matchLabels":{"app":"a"}}}`,
			[]string{entry("a", `{"f:spec":{"f:selector":{}}}`)},
			map[string]string{"spec.selector.matchLabels.app": "a"},
		},
		"ListMap": {
			"items of a list are known by their keys, as in managedFields",
			`},"kind":"Service","apiVersion":"v1","spec":{"ports":[` +
				`{"port":80,"protocol":"TCP","nodePort":1},{"port":80,"protocol":"UDP"}]}`,
			[]string{
				entry("a", `{"f:spec":{"f:ports":`+
					`{"k:{\"port\":80,\"protocol\":\"TCP\"}":{".":{},"f:port":{}}}}}`),
				entry("b", `{"f:spec":{"f:ports":{"k:{\"port\":80,\"protocol\":\"TCP\"}":{"f:nodePort":{}}}}}`),
			},
			map[string]string{
				"spec.ports[port=80,protocol=TCP].port":     "a",
				"spec.ports[port=80,protocol=TCP].protocol": "",
				"spec.ports[port=80,protocol=TCP].nodePort": "b",
				"spec.ports[port=80,protocol=UDP].port":     "",
				"spec.ports[port=80,protocol=UDP].protocol": "",
			},
		},
		"Custom": {
			"in a custom resource, a key may be confidential",
			`},"spec":{"tokens":[{"key":"hunter2"}],"users":[{"name":"a","key":"hunter3"}]}`,
			nil,
			map[string]string{
				"spec.tokens": "", "spec.users[name=a].key": "", "spec.users[name=a].name": "",
			},
		},
		"Both": {
			"two appliers may own one field",
			`},"spec":{"n":1}`,
			[]string{entry("a", `{"f:spec":{"f:n":{}}}`), entry("b", `{"f:spec":{"f:n":{}}}`)},
			map[string]string{"spec.n": "a b"},
		},
		"Scalars": {
			"a list without keys is one field",
			`},"spec":{"args":["a","b"]}`,
			[]string{entry("a", `{"f:spec":{"f:args":{}}}`)},
			map[string]string{"spec.args": "a"},
		},
		"Names": {
			"a name that is no identifier stands in brackets",
			`,"annotations":{"example.com/a.b":"1"}}`,
			nil,
			map[string]string{"metadata.annotations[example.com/a.b]": ""},
		},
		"Confidential": {
			"a name that is no word may hold anything",
			`},"spec":{"env":[{"name":"my password"}],"x y":1}`,
			[]string{entry("a", `{"f:spec":{"f:x y":{}}}`)},
			map[string]string{"spec.env[name=#5e8911ba3f4db042].name": "", "spec[#721bcc7c4f0a18eb]": "a"},
		},
		"Empty": {
			"an empty value is a field, an empty part is none",
			`,"labels":{}},"spec":{"emptyDir":{}},"data":{}`,
			nil,
			map[string]string{"spec.emptyDir": ""},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			text := head + `,"managedFields":[` + strings.Join(tc.managers, ",") + `]` + tc.object + `}`
			if !strings.Contains(tc.object, "apiVersion") {
				text = `{"apiVersion":"x/v1","kind":"X",` + text[1:]
			}
			s := normalizer.Object(parse(t, text))
			got := map[string]string{}
			for _, l := range s.Leaves {
				var names []string
				for i, m := range s.Managers {
					if l.Managers&(1<<i) != 0 {
						names = append(names, m.Name)
					}
				}
				got[l.Path] = strings.Join(names, " ")
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s: -want +got:\n%s", tc.reason, diff)
			}
		})
	}
}

// TestLeavesAreBounded checks an object with too many fields: a change of any field still shows.
func TestLeavesAreBounded(t *testing.T) {
	text := func(last string) string {
		var spec []string
		for i := range 2 * maxLeaves {
			spec = append(spec, fmt.Sprintf(`"f%04d":"v"`, i))
		}
		spec = append(spec, `"g":"`+last+`"`)
		return `{"apiVersion":"x/v1","kind":"X","metadata":{"uid":"u","resourceVersion":"1"},"spec":{` +
			strings.Join(spec, ",") + `}}`
	}
	a, b := normalizer.Object(parse(t, text("1"))), normalizer.Object(parse(t, text("2")))
	if len(a.Leaves) != maxLeaves || a.Desired == b.Desired {
		t.Errorf("%d leaves, want %d; same digest: %v", len(a.Leaves), maxLeaves, a.Desired == b.Desired)
	}
}

// TestDigestsNeedTheKey checks that another key gives other digests: a recording then reveals no
// short value.
func TestDigestsNeedTheKey(t *testing.T) {
	u := read(t, "deployment")
	other := New([KeySize]byte{2}, Settings{}).Object(u)
	for i, l := range normalizer.Object(u).Leaves {
		if l.Value == other.Leaves[i].Value {
			t.Errorf("the digest of %s does not depend on the key", l.Path)
		}
	}
}

func FuzzLeaves(f *testing.F) {
	f.Add(`{"a":[{"name":"x","b":[]},{"name":"y"}]}`, `{"f:spec":{"f:a":{"k:{\"name\":\"x\"}":{}}}}`)
	f.Add(`{"a":{"b":{}}}`, `{"f:spec":{"f:a":1}}`)
	f.Fuzz(func(t *testing.T, spec, owned string) {
		if !json.Valid([]byte(spec)) || !json.Valid([]byte(owned)) {
			t.Skip()
		}
		var s map[string]any
		if json.Unmarshal([]byte(spec), &s) != nil {
			t.Skip()
		}
		u := parse(t, `{"apiVersion":"x/v1","kind":"X","metadata":{"uid":"u","resourceVersion":"1","managedFields":`+
			`[{"manager":"a","operation":"Update","fieldsV1":`+owned+`}]},"spec":`+spec+`}`)
		first, second := normalizer.Object(u), normalizer.Object(u)
		if diff := cmp.Diff(first, second); diff != "" {
			t.Errorf("the same object gives two observations: -first +second:\n%s", diff)
		}
		for i, l := range first.Leaves {
			if l.Managers > 1 || i > 0 && compareLeaves(first.Leaves[i-1], l) > 0 {
				t.Errorf("leaf %d is %+v after %+v", i, l, first.Leaves[max(i-1, 0)])
			}
		}
	})
}
