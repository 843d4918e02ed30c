// SPDX-License-Identifier: Apache-2.0

package jsonwalk_test

import (
	"encoding/json"
	"errors"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kube-lifeline/lifeline/app/internal/source/jsonwalk"
)

// read holds the members that the test reads.
type read struct {
	Text   string
	Number int64
	Truth  bool
	List   []string
	Inner  string
	Raw    string
	Ended  bool
}

func walk(text string) (out read, err error) {
	w := jsonwalk.New([]byte(text))
	err = w.Object(func(name []byte) error {
		switch string(name) {
		case "text":
			return w.Text(&out.Text)
		case "number":
			return w.Number(&out.Number)
		case "truth":
			return w.Truth(&out.Truth)
		case "list":
			return w.List(func() error {
				item := "?"
				err := w.Text(&item)
				out.List = append(out.List, item)
				return err
			})
		case "inner":
			return w.Object(func(name []byte) error {
				if string(name) == "text" {
					return w.Text(&out.Inner)
				}
				return w.Skip()
			})
		case "raw":
			raw, err := w.Raw()
			out.Raw = string(raw)
			return err
		}
		return w.Skip()
	})
	out.Ended = err == nil && w.Ended()
	return out, err
}

func TestWalk(t *testing.T) {
	cases := map[string]struct {
		reason string
		text   string
		want   read
	}{
		"all": {
			reason: "each method reads its type",
			text: ` {"text":"a","number":7,"truth":true,"list":["x","y"],"inner":{"text":"b","more":1},` +
				`"raw":{"k":[1, 2]}} `,
			want: read{Text: "a", Number: 7, Truth: true, List: []string{
				"x", "y",
			}, Inner: "b", Raw: `{"k":[1, 2]}`, Ended: true},
		},
		"nothing":   {"an absent member stays unchanged", `{}`, read{Ended: true}},
		"no object": {"an array is skipped", `["text","a"]`, read{Ended: true}},
		"unwanted": {
			"other members are skipped at any size",
			`{"data":{"text":"a","list":[[[{}]]]},"text":"b","spec":{"inner":{"text":"c"}}}`,
			read{Text: "b", Ended: true},
		},
		"other shapes": {
			"a member of another type is skipped",
			`{"text":1,"number":"7","truth":"true","list":{"a":1},"inner":[1],"raw":"a"}`,
			read{Raw: `"a"`, Ended: true},
		},
		"nulls": {
			"null leaves the value unchanged",
			`{"text":"a","number":7,"truth":true,"text":null,"number":null,"truth":null,"list":null,"inner":null}`,
			read{Text: "a", Number: 7, Truth: true, Ended: true},
		},
		"twice": {
			"the last of two members wins, as in Kubernetes",
			`{"text":"a","truth":true,"text":"b","truth":false}`, read{Text: "b", Ended: true},
		},
		"twice, other": {
			"a later member of another type is skipped", `{"text":"a","truth":true,"text":[],"truth":0}`,
			read{Text: "a", Truth: true, Ended: true},
		},
		"mixed list": {"elements of other types are skipped", `{"list":["a",1,null,{"x":[]},"b"]}`, read{
			List: []string{"a", "?", "?", "?", "b"}, Ended: true,
		}},
		"escapes": {
			"escapes in a text are decoded",
			`{"text":"\"\\\/\n\u00fc\ud83d\ude00"}`,
			read{Text: "\"\\/\nü😀", Ended: true},
		},
		"escaped name": {
			"escapes in a name are decoded", `{"te\u0078t":"a","\u0074ext\u0020":"b"}`, read{Text: "a", Ended: true},
		},
		"half a name": {
			"half a surrogate pair is replaced", `{"text\ud800":"a","text":"b"}`, read{Text: "b", Ended: true},
		},
		"other case": {"names are case-sensitive", `{"Text":"a","TEXT":"b"}`, read{Ended: true}},
		"no UTF-8": {
			"invalid UTF-8 is replaced, as in Kubernetes", "{\"text\":\"a\xffb\",\"\xff\":1,\"number\":7}",
			read{Text: "a\uFFFDb", Number: 7, Ended: true},
		},
		"large": {
			"a too large number becomes the largest", `{"number":1e99}`, read{Number: math.MaxInt64, Ended: true},
		},
		"small": {
			"a too small number becomes the smallest", `{"number":-99999999999999999999}`, read{
				Number: math.MinInt64,
				Ended:  true,
			},
		},
		"exact": {"all bits of an int64 are exact", `{"number":9007199254740993}`, read{
			Number: 9007199254740993, Ended: true,
		}},
		"fraction": {"fractions are truncated", `{"number":-1.9}`, read{Number: -1, Ended: true}},
		"goes on": {
			"more text is an error only for callers of Ended", `{"text":"a"}{"text":"b"}`, read{Text: "a"},
		},
		"goes on badly": {"invalid text after the value is not an end", `{"text":"a"}]`, read{Text: "a"}},
		"only space": {
			"white space after the value is an end", "{\"text\":\"a\"}\n\t ", read{Text: "a", Ended: true},
		},
		"deep, unwanted": {"deep nesting is skipped", `{"x":` + strings.Repeat(
			"[", 500,
		) + strings.Repeat("]", 500) + `,"text":"a"}`, read{Text: "a", Ended: true}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Log(tc.reason)
			got, err := walk(tc.text)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

// TestNoJSON expects an error for invalid JSON, at any position in the text.
func TestNoJSON(t *testing.T) {
	whole := `{"text":"a","number":7,"truth":true,"list":["x"],"inner":{"text":"b"},"raw":[1]}`
	for cut := range len(whole) {
		if _, err := walk(whole[:cut]); err == nil {
			t.Errorf("%s: want an error", whole[:cut])
		}
	}
	for name, text := range map[string]string{
		"empty":         ``,
		"word":          `hello`,
		"no name":       `{7:1}`,
		"no colon":      `{"text" "a"}`,
		"comma":         `{"text":"a",}`,
		"bad escape":    `{"text":"\q"}`,
		"bad name":      `{"t\q":1}`,
		"control":       "{\"text\":\"a\nb\"}",
		"bad number":    `{"number":01}`,
		"bad truth":     `{"truth":tru}`,
		"list as close": `{"list":["a"}`,
		"too deep":      strings.Repeat(`{"x":`, 20_000) + `1` + strings.Repeat(`}`, 20_000),
	} {
		if got, err := walk(text); err == nil {
			t.Errorf("%s: got %+v, want an error", name, got)
		}
	}
}

// TestErrors expects a callback's error to end the walk and to return unchanged.
func TestErrors(t *testing.T) {
	stop := errors.New("stop")
	w := jsonwalk.New([]byte(`{"a":[1,2],"b":3}`))
	calls := 0
	err := w.Object(func([]byte) error {
		calls++
		return w.List(func() error { calls++; return stop })
	})
	if !errors.Is(err, stop) || calls != 2 {
		t.Errorf("after %d calls: %v", calls, err)
	}
}

// FuzzWalk compares the members with those that encoding/json reads.
func FuzzWalk(f *testing.F) {
	f.Add(`{"text":"a","number":7,"truth":true,"list":["x",1],"inner":{"text":"b"},"raw":null}`)
	f.Fuzz(func(t *testing.T, text string) {
		got, err := walk(text)
		if err == nil && got.Ended != json.Valid([]byte(text)) && !strings.Contains(text, "\ufffd") {
			t.Fatalf("ended: %t, valid: %t", got.Ended, json.Valid([]byte(text)))
		}
		var want map[string]any
		if err != nil || !got.Ended || json.Unmarshal([]byte(text), &want) != nil {
			return
		}
		if s, ok := want["text"].(string); ok && s != got.Text {
			t.Errorf("text is %q, want %q", got.Text, s)
		}
		if b, ok := want["truth"].(bool); ok && b != got.Truth {
			t.Errorf("truth is %t, want %t", got.Truth, b)
		}
		if list, ok := want["list"].([]any); ok && !slices.ContainsFunc(
			list, func(v any) bool { _, isText := v.(string); return !isText },
		) {
			if n := len(got.List); n < len(list) { // both of two lists are read
				t.Errorf("%d elements, want %d", n, len(list))
			}
		}
	})
}
