// SPDX-License-Identifier: Apache-2.0

package question

import (
	"errors"
	"os"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"
)

// FuzzParse: any text is a question, or gives a bounded and printable error with a position. A
// question has an answer for any lifecycle.
func FuzzParse(f *testing.F) {
	for text := range matching {
		f.Add(text)
	}
	texts, err := os.ReadFile("testdata/errors.txt")
	if err != nil {
		f.Fatal(err)
	}
	for text := range strings.Lines(string(texts)) {
		f.Add(strings.TrimSuffix(text, "\n"))
	}
	for _, text := range []string{"phase.pull", "ended.readiness - began.pull", "end - start + duration"} {
		f.Add(text)
	}
	bounded := func(t *testing.T, err error) {
		t.Helper()
		var at *Error
		if !errors.As(err, &at) || at.Line < 1 || at.Column < 1 || at.Detail == "" || len(err.Error()) > 1000 ||
			!utf8.ValidString(err.Error()) || strings.ContainsFunc(err.Error(), unicode.IsControl) {
			t.Fatalf("bad error: %q", err)
		}
	}
	f.Fuzz(func(t *testing.T, text string) {
		if length, err := ParseLength(text); err != nil {
			bounded(t, err)
		} else if _, err := Parse(text); err == nil {
			t.Fatal("an expression is a length and a condition")
		} else {
			length.Of(web(), at)
		}
		q, err := Parse(text)
		if err != nil {
			bounded(t, err)
			return
		}
		for _, l := range []*Lifecycle{{}, web()} {
			first, _ := q.Eval(l, at)
			again, _ := q.Eval(l, at)
			if first != again {
				t.Fatal("two answers for one lifecycle")
			}
		}
	})
}
