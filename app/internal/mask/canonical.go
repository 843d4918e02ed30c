// SPDX-License-Identifier: Apache-2.0

package mask

import (
	"bytes"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// form is a text without an encoding. at has the position of each byte in the encoded text, and the
// length of that text; nil means that the text is not encoded.
type form struct {
	text []byte
	at   []int
}

func (f form) position(i int) int {
	if f.at == nil {
		return i
	}
	return f.at[i]
}

func (f form) span(from, to int) span { return span{f.position(from), f.position(to)} }

// canonical returns the form in which values are compared: in lower case, with one encoding of each character
// (Unicode's NFKC), with spaces for other white space, and without the quotes of unknown text. Of data that is no
// text, only ASCII changes.
func (f form) canonical() form {
	if isASCII(f.text) || !utf8.Valid(f.text) {
		return form{lower(f.text), f.at}
	}
	out := form{make([]byte, 0, len(f.text)), make([]int, 0, len(f.text)+1)}
	var parts norm.Iter
	for parts.Init(norm.NFKC, f.text); !parts.Done(); {
		from := parts.Pos()
		part := lower(bytes.ToLower(parts.Next()))
		if quote := string(part); quote == "“" || quote == "”" {
			continue
		}
		out.text = append(out.text, part...)
		for range part {
			out.at = append(out.at, f.position(from))
		}
	}
	out.at = append(out.at, f.position(len(f.text)))
	return out
}

// canonical appends the canonical form of a value.
func canonical(to []byte, text string) []byte {
	from := len(to)
	to = append(to, text...)
	if value := to[from:]; !isASCII(value) {
		return append(to[:from], form{text: value}.canonical().text...)
	}
	lowerIn(to[from:])
	return to
}

// lower returns ASCII in lower case with spaces for other white space, and all other bytes as they are.
func lower(text []byte) []byte {
	out := bytes.Clone(text)
	lowerIn(out)
	return out
}

func lowerIn(text []byte) {
	for i, c := range text {
		switch {
		case c >= 'A' && c <= 'Z':
			c |= 0x20
		case c == '\n', c == '\t', c == '\r':
			c = ' '
		}
		text[i] = c
	}
}

func isASCII(text []byte) bool {
	for _, c := range text {
		if c >= utf8.RuneSelf {
			return false
		}
	}
	return true
}
