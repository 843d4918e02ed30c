// SPDX-License-Identifier: Apache-2.0

package question

import "strings"

// CEL reserves the word namespace, and its parser refuses it as a name. A question for CEL has
// another spelling of equal length, so that positions stay.
const (
	reserved   = "namespace"
	unreserved = "Namespace"
)

// unreserve replaces the reserved name. It leaves strings, comments and the names after a point as
// they are.
func unreserve(text string) string {
	var out strings.Builder
	last := byte(0) // the last byte of code that is no space
	for i := 0; i < len(text); {
		n := 1
		switch c := text[i]; {
		case isLetter(c):
			n = wordLength(text[i:])
			word := text[i : i+n]
			if i+n < len(text) && isQuote(text[i+n]) && len(word) <= 2 && strings.Trim(word, "rRbB") == "" {
				n += stringLength(text[i+n:], strings.ContainsAny(word, "rR"))
			} else if word == reserved && last != '.' {
				out.WriteString(unreserved)
				last, i = c, i+n
				continue
			}
		case isQuote(c):
			n = stringLength(text[i:], false)
		case strings.HasPrefix(text[i:], "//"):
			if n = strings.IndexByte(text[i:], '\n'); n < 0 {
				n = len(text) - i
			}
			out.WriteString(text[i : i+n])
			i += n
			continue
		}
		if strings.TrimSpace(text[i:i+n]) != "" {
			last = text[i+n-1]
		}
		out.WriteString(text[i : i+n])
		i += n
	}
	return out.String()
}

func isQuote(c byte) bool { return c == '"' || c == '\'' }

func isLetter(c byte) bool { return c == '_' || c|0x20 >= 'a' && c|0x20 <= 'z' }

// wordLength returns the length of the name at the beginning of text.
func wordLength(text string) int {
	n := 0
	for n < len(text) && (isLetter(text[n]) || text[n] >= '0' && text[n] <= '9') {
		n++
	}
	return n
}

// stringLength returns the length of the string at the beginning of text, with its quotes. In a raw
// one a backslash has no meaning. A string without end extends to the end of text.
func stringLength(text string, raw bool) int {
	end := text[:1]
	if triple := strings.Repeat(end, 3); strings.HasPrefix(text, triple) {
		end = triple
	}
	for i := len(end); i < len(text); i++ {
		switch {
		case text[i] == '\\' && !raw:
			i++
		case strings.HasPrefix(text[i:], end):
			return i + len(end)
		}
	}
	return len(text)
}
