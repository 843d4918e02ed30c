// SPDX-License-Identifier: Apache-2.0

// Package mask replaces confidential values in texts. It recognizes the values of an object and of its
// relatives by keyed digests, in any case and encoded, too: in base64, in hexadecimal, in a URL or escaped. It
// recognizes other credentials by the rules of gitleaks. Package message decides which texts come here.
package mask

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Mark replaces a value.
const Mark = "…"

// Values are the values of an object and of its relatives. The zero value has none: only credentials are
// masked.
type Values struct {
	key  key
	sets []*Words
	// unread means that the object reads a ConfigMap that is unknown.
	unread bool
}

// Unread reports whether the object reads a ConfigMap that is unknown: one that does not exist, has not arrived yet or
// cannot be read.
func (v Values) Unread() bool { return v.unread }

// Mask returns a text without the values and without credentials.
func (v Values) Mask(text string) string {
	return replace(text, append(v.find(text), credentials(text)...))
}

// Credentials returns a text without credentials. A second call changes nothing.
func Credentials(text string) string { return replace(text, credentials(text)) }

// span is the part text[from:to] of a text.
type span struct{ from, to int }

// replace puts Mark in place of the spans, each extended to whole words.
func replace(text string, spans []span) string {
	if len(spans) == 0 {
		return text
	}
	for i := range spans {
		spans[i] = whole(text, spans[i])
	}
	slices.SortFunc(spans, func(a, b span) int { return a.from - b.from })
	var b strings.Builder
	end := 0
	for _, s := range spans {
		if s.to <= end {
			continue
		}
		if s.from >= end && (s.from > end || end == 0) {
			b.WriteString(text[end:s.from] + Mark)
		}
		end = s.to
	}
	return b.String() + text[end:]
}

// whole extends a span by the letters and digits around it.
func whole(text string, s span) span {
	for s.from > 0 {
		r, n := utf8.DecodeLastRuneInString(text[:s.from])
		if !wordRune(r) {
			break
		}
		s.from -= n
	}
	for s.to < len(text) {
		r, n := utf8.DecodeRuneInString(text[s.to:])
		if !wordRune(r) {
			break
		}
		s.to += n
	}
	return s
}

func wordRune(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }
