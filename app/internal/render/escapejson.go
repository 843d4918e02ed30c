// SPDX-License-Identifier: Apache-2.0

package render

import (
	"fmt"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"

	"sigs.k8s.io/yaml"
)

// EscapeJSON escapes the characters of a JSON document that a terminal would interpret, such as changes of direction.
// The values stay the same. A document without them is returned itself.
func EscapeJSON(doc []byte) []byte {
	return escapeAll(doc, func(out []byte, r rune) []byte {
		if high, low := utf16.EncodeRune(r); high != utf8.RuneError {
			return fmt.Appendf(out, `\u%04x\u%04x`, high, low)
		}
		return fmt.Appendf(out, `\u%04x`, r)
	})
}

// escapeAll replaces the characters of a JSON document that a terminal would interpret.
func escapeAll(doc []byte, escape func(out []byte, r rune) []byte) []byte {
	var out []byte
	from := 0
	for i := 0; i < len(doc); {
		if doc[i] < 0x7f { // JSON has escaped control characters
			i++
			continue
		}
		r, size := utf8.DecodeRune(doc[i:])
		if printable(r) && (r != utf8.RuneError || size > 1) {
			i += size
			continue
		}
		out = escape(append(out, doc[from:i]...), r)
		i += size
		from = i
	}
	if out == nil {
		return doc
	}
	return append(out, doc[from:]...)
}

// escapeYAML appends the escape of a character in a string with double quotes.
func escapeYAML(out []byte, r rune) []byte {
	if r < 0x10000 {
		return fmt.Appendf(out, `\u%04x`, r)
	}
	return fmt.Appendf(out, `\U%08x`, r)
}

// quotes is an escaped noncharacter in front of a string. It makes the YAML writer choose double quotes, which allow
// escapes, and is removed afterwards.
const quotes = `\uFFFE`

// special matches a JSON string with the escape of a character outside ASCII.
var special = regexp.MustCompile(`"((?:[^"\\]|\\[^uU])*\\[uU](?:[^"\\]|\\.)*")`)

// YAMLOf returns a JSON document as a YAML document after a separator, with the escapes of EscapeJSON.
func YAMLOf(doc []byte) ([]byte, error) {
	text, err := yaml.JSONToYAML(special.ReplaceAll(escapeAll(doc, escapeYAML), []byte(`"\uFFFE$1`)))
	if err != nil {
		return nil, err
	}
	out := []byte("---\n")
	for _, r := range strings.ReplaceAll(string(text), quotes, "") {
		if r == '\n' || unicode.IsPrint(r) {
			out = utf8.AppendRune(out, r)
		} else {
			out = escapeYAML(out, r)
		}
	}
	return out, nil
}
