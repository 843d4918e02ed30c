// SPDX-License-Identifier: Apache-2.0

package mask

import (
	"bytes"
	"cmp"
	"unicode"
	"unicode/utf8"
)

// find returns the parts of a text with a value, as it is or encoded.
func (v Values) find(text string) []span {
	if !v.any() {
		return nil
	}
	return v.in(form{text: []byte(text)}, 0)
}

func (v Values) any() bool {
	for _, s := range v.sets {
		if len(s.all) > 0 {
			return true
		}
	}
	return false
}

// in returns the values in a form of a text, also below further encodings.
func (v Values) in(f form, depth int) []span {
	out := v.plain(f.canonical())
	if depth == maxEncodings || depth > 0 && !isText(f.text) {
		return out
	}
	for _, decode := range escapes {
		if decoded, some := decode(f); some {
			out = append(out, v.in(decoded, depth+1)...)
		}
	}
	for _, runs := range encodings {
		for _, r := range runs(f.text) {
			for _, decoded := range r.decoded {
				if len(v.in(form{text: decoded}, depth+1)) > 0 {
					out = append(out, f.span(r.from, r.to))
					break
				}
			}
		}
	}
	return out
}

// plain returns the values in a canonical text. Where a text was cut, the beginning of a value is enough: before
// an ellipsis, and at the end.
func (v Values) plain(f form) []span {
	var out []span
	end := 0
	for from := 0; from+minWord <= len(f.text); {
		if end <= from {
			end = from + cutAt(f.text[from:])
		}
		if n := v.at(f.text, from, end); n > 0 {
			out = append(out, f.span(from, from+n))
			from += n
			continue
		}
		from++
	}
	return out
}

// cutAt returns the position of the first ellipsis after the first byte, or the length of the text.
func cutAt(text []byte) int {
	if at := bytes.Index(text[1:], []byte("...")); at >= 0 { // the canonical form of "…", too
		return at + 1
	}
	return len(text)
}

// at returns the length of the longest value at a position, or 0. The text may have been cut at end: without a whole
// value, the beginning of one reaches up to there.
func (v Values) at(text []byte, from, end int) int {
	head := v.key.head(text[from:])
	whole, part := 0, 0
	for _, set := range v.sets {
		if !set.mayHave(head) {
			continue
		}
		for _, w := range set.candidates(head) {
			to := from + int(w.size)
			cut := to > end && from+minWord <= end
			switch {
			case to <= len(text) && v.key.sum(text[from:to]) == w.sum:
				if !w.letters || apart(text, from, to) {
					whole = max(whole, to-from)
				}
			case cut && (!w.letters || apart(text, from, end)):
				part = end - from
			}
		}
	}
	return cmp.Or(whole, part)
}

// apart reports whether the letters text[from:to] are no part of a longer word.
func apart(text []byte, from, to int) bool {
	before, _ := utf8.DecodeLastRune(text[:from])
	after, _ := utf8.DecodeRune(text[to:])
	return !unicode.IsLetter(before) && !unicode.IsLetter(after)
}

// isText reports whether decoded data can be encoded again.
func isText(data []byte) bool {
	if !utf8.Valid(data) {
		return false
	}
	for _, c := range data {
		if c < ' ' && c != '\n' && c != '\r' && c != '\t' {
			return false
		}
	}
	return true
}
