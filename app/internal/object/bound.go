// SPDX-License-Identifier: Apache-2.0

package object

import (
	"strings"
	"unicode/utf8"
)

// maxText bounds any text that a cluster supplies.
const maxText = 1024

// Bound cuts a text from a cluster to at most 1024 bytes, at a rune boundary.
func Bound(s string) string { return cut(s, maxText) }

// OneLine returns a text on one line and without control characters, of at most that many bytes. Invalid
// UTF-8 becomes the replacement character.
func OneLine(s string, most int) string {
	return cut(strings.Join(strings.FieldsFunc(strings.ToValidUTF8(s, "�"), func(r rune) bool {
		return r < ' ' || r >= 0x7f && r < 0xa0 || r == '\u2028' || r == '\u2029'
	}), " "), most)
}

// cut cuts a text to at most that many bytes, at a rune boundary.
func cut(s string, most int) string {
	if len(s) <= most {
		return s
	}
	at := most - len("…")
	for at > 0 && !utf8.RuneStart(s[at]) {
		at--
	}
	return s[:at] + "…"
}
