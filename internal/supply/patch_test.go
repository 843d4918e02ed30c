// SPDX-License-Identifier: Apache-2.0

package supply

import (
	"encoding/json"
	"testing"
)

func TestPatch(t *testing.T) {
	for name, c := range map[string]struct {
		before, after map[string]string
		want          string
	}{
		"nothing":  {want: `null`},
		"the same": {before: map[string]string{"a": "b"}, after: map[string]string{"a": "b"}, want: `null`},
		"the first": {
			after: map[string]string{"a": ""},
			want: `[{"op":"add","path":"/metadata/annotations","value":{}},` +
				`{"op":"add","path":"/metadata/annotations/a","value":""}]`,
		},
		"another": {
			before: map[string]string{}, after: map[string]string{"a/b~c": "d"},
			want: `[{"op":"add","path":"/metadata/annotations/a~1b~0c","value":"d"}]`,
		},
		"more, other, less": {
			before: map[string]string{"a": "1", "b": "2", "c": "3"},
			after:  map[string]string{"a": "1", "b": "x", "d": "4"},
			want: `[{"op":"add","path":"/metadata/annotations/b","value":"x"},` +
				`{"op":"add","path":"/metadata/annotations/d","value":"4"},` +
				`{"op":"remove","path":"/metadata/annotations/c"}]`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			text, err := json.Marshal(Patch(c.before, c.after))
			if err != nil || string(text) != c.want {
				t.Errorf("got %s, %v; want %s", text, err, c.want)
			}
		})
	}
}
