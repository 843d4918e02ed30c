// SPDX-License-Identifier: Apache-2.0

package mask

import (
	"encoding/base64"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// find returns the parts of a text with a value, as it is or encoded.
func (v Values) find(text string) []span {
	if !v.any() {
		return nil
	}
	plain := form{text: []byte(text)}
	out := append(v.in(plain), v.base64(plain)...)
	for _, decode := range []func(string) form{percent, backslash} {
		if f := decode(text); f.at != nil {
			out = append(append(out, v.in(f)...), v.base64(f)...)
		}
	}
	return out
}

func (v Values) any() bool {
	for _, s := range v.sets {
		if len(s.all) > 0 {
			return true
		}
	}
	return false
}

// form is a text without its encoding. at has the position of each byte in the encoded text, and the
// length of that text; nil means that the text is not encoded.
type form struct {
	text []byte
	at   []int
}

func (f form) span(from, to int) span {
	if f.at == nil {
		return span{from, to}
	}
	return span{f.at[from], f.at[to]}
}

// in returns the values in a form of a text. At the end of a text, the beginning of a value is enough: the
// text may have been cut.
func (v Values) in(f form) []span {
	var out []span
	for from := 0; from+minWord <= len(f.text); {
		if n := v.at(f.text, from); n > 0 {
			out = append(out, f.span(from, from+n))
			from += n
			continue
		}
		from++
	}
	return out
}

// at returns the length of the longest value at a position, or 0.
func (v Values) at(text []byte, from int) (length int) {
	head := v.key.head(text[from:])
	for _, set := range v.sets {
		for _, w := range set.candidates(head) {
			n := min(int(w.size), len(text)-from)
			if n <= length || w.letters && !apart(text, from, from+n) {
				continue
			}
			if n < int(w.size) || v.key.sum(text[from:from+n]) == w.sum {
				length = n
			}
		}
	}
	return length
}

// apart reports whether the letters text[from:to] are no part of a longer word.
func apart(text []byte, from, to int) bool {
	before, _ := utf8.DecodeLastRune(text[:from])
	after, _ := utf8.DecodeRune(text[to:])
	return !unicode.IsLetter(before) && !unicode.IsLetter(after)
}

// base64 returns the runs of a text that have a value in base64, in either alphabet. The encoded data may
// begin before the value, and before the run.
func (v Values) base64(f form) []span {
	var out []span
	for from := 0; from < len(f.text); {
		to := from
		for to < len(f.text) && in64(f.text[to]) {
			to++
		}
		run := f.text[from:to]
		for to < len(f.text) && f.text[to] == '=' {
			to++
		}
		if len(run) >= minRun && v.encoded(run) {
			out = append(out, f.span(from, to))
		}
		from = max(to, from+1)
	}
	return out
}

// minRun is the length of the base64 of a value, without the characters that depend on other bytes.
const minRun = 7

func in64(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' ||
		c == '+' || c == '/' || c == '-' || c == '_'
}

// encoded reports whether a run of base64 has a value.
func (v Values) encoded(run []byte) bool {
	text := make([]byte, len(run))
	for i, c := range run {
		switch c {
		case '-':
			c = '+'
		case '_':
			c = '/'
		}
		text[i] = c
	}
	decoded := make([]byte, base64.RawStdEncoding.DecodedLen(len(text)))
	for shift := range 4 {
		part := text[min(shift, len(text)):]
		if len(part)%4 == 1 {
			part = part[:len(part)-1]
		}
		n, err := base64.RawStdEncoding.Decode(decoded, part)
		if err == nil && len(v.in(form{text: decoded[:n]})) > 0 {
			return true
		}
	}
	return false
}

// percent returns the form of a text without URL-encoding.
func percent(text string) form {
	return unescaped(text, '%', func(s string) (string, int) {
		if len(s) < 3 {
			return "", 0
		}
		b, err := strconv.ParseUint(s[1:3], 16, 8)
		if err != nil {
			return "", 0
		}
		return string([]byte{byte(b)}), 3
	})
}

// backslash returns the form of a text without the escapes of JSON and Go.
func backslash(text string) form {
	return unescaped(text, '\\', func(s string) (string, int) {
		r, multibyte, rest, err := strconv.UnquoteChar(s, '"')
		switch {
		case err == nil && (multibyte || r < utf8.RuneSelf):
			return string(r), len(s) - len(rest)
		case err == nil:
			return string([]byte{byte(r)}), len(s) - len(rest) //nolint:gosec // an escape of one byte
		case len(s) > 1 && s[1] < utf8.RuneSelf:
			return s[1:2], 2 // such as \/ or \'
		}
		return "", 0
	})
}

// unescaped decodes each escape that begins with a byte. decode returns the decoded bytes and the length
// of the escape, which is 0 for none.
func unescaped(text string, begin byte, decode func(string) (string, int)) form {
	if strings.IndexByte(text, begin) < 0 {
		return form{}
	}
	f := form{text: make([]byte, 0, len(text)), at: make([]int, 0, len(text)+1)}
	for i := 0; i < len(text); {
		out, n := text[i:i+1], 1
		if text[i] == begin {
			if decoded, length := decode(text[i:]); length > 0 {
				out, n = decoded, length
			}
		}
		for range len(out) {
			f.at = append(f.at, i)
		}
		f.text = append(f.text, out...)
		i += n
	}
	f.at = append(f.at, len(text))
	return f
}
