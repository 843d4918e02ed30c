// SPDX-License-Identifier: Apache-2.0

package render_test

import (
	"encoding/json"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/kube-lifeline/lifeline/app/internal/render"
)

// TestEscapeJSON: a document has the same value, as JSON and as YAML, and nothing that a terminal interprets.
func TestEscapeJSON(t *testing.T) {
	for text, want := range map[string]string{
		"web → тест 日本語 \ufffd":  "web → тест 日本語 \ufffd",
		"gnp\u202eexe":           `gnp\u202eexe`,
		"\u2066\u200b\u009b\x7f": `\u2066\u200b\u009b\u007f`,
		"tag \U000e0041":         `tag \udb40\udc41`,
		"123":                    "123",
		"null":                   "null",
	} {
		doc, err := json.Marshal(map[string]string{"name": text, "other": "x"})
		if err != nil {
			t.Fatal(err)
		}
		got := render.EscapeJSON(doc)
		if want := `{"name":"` + want + `","other":"x"}`; string(got) != want {
			t.Errorf("%q: got %s, want %s", text, got, want)
		}
		asYAML, err := render.YAMLOf(doc)
		if err != nil {
			t.Fatal(err)
		}
		if strings.ContainsAny(string(asYAML), "\u202e\u2066\u200b\u009b\x7f\U000e0041") {
			t.Errorf("%q: got %q", text, asYAML)
		}
		for of, read := range map[string]func() map[string]string{
			"JSON": func() (out map[string]string) { err = json.Unmarshal(got, &out); return out },
			"YAML": func() (out map[string]string) { err = yaml.Unmarshal(asYAML, &out); return out },
		} {
			if out := read(); err != nil || out["name"] != text || out["other"] != "x" {
				t.Errorf("%q as %s: %q, %v", text, of, out, err)
			}
		}
	}
	if got := render.EscapeJSON([]byte("\"a\xffb\"")); string(got) != `"a\ufffdb"` {
		t.Errorf("invalid UTF-8: %q", got)
	}
}
