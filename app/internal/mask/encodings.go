// SPDX-License-Identifier: Apache-2.0

package mask

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"html"
	"regexp"
	"strconv"
	"unicode/utf8"
)

// maxEncodings bounds the encodings around a value: base64 in a URL, or a login in base64 in a file in base64.
const maxEncodings = 2

// escapes decode texts in which single characters are encoded. Each reports false for a text without any.
var escapes = []func(form) (form, bool){percent, backslash, entity}

// encodings find the runs of a text that encode bytes as a whole.
var encodings = []func(text []byte) []run{base64Runs, hexRuns, byteRuns}

// run is text[from:to] with its possible meanings.
type run struct {
	from, to int
	decoded  [][]byte
}

// percent decodes a URL.
func percent(f form) (form, bool) {
	return f.unescaped('%', func(s []byte) ([]byte, int) {
		if len(s) < 3 {
			return nil, 0
		}
		b, err := strconv.ParseUint(string(s[1:3]), 16, 8)
		if err != nil {
			return nil, 0
		}
		return []byte{byte(b)}, 3
	})
}

// backslash decodes the escapes of JSON and Go.
func backslash(f form) (form, bool) {
	return f.unescaped('\\', func(s []byte) ([]byte, int) {
		part := string(s[:min(len(s), maxEscape)])
		r, multibyte, rest, err := strconv.UnquoteChar(part, '"')
		switch {
		case err == nil && (multibyte || r < utf8.RuneSelf):
			return []byte(string(r)), len(part) - len(rest)
		case err == nil:
			return []byte{byte(r)}, len(part) - len(rest) //nolint:gosec // an escape of one byte
		case len(s) > 1 && s[1] < utf8.RuneSelf:
			return s[1:2], 2 // such as \/ or \'
		}
		return nil, 0
	})
}

// entity decodes HTML.
func entity(f form) (form, bool) {
	return f.unescaped('&', func(s []byte) ([]byte, int) {
		end := bytes.IndexByte(s[:min(len(s), maxEscape)], ';')
		if end < 0 {
			return nil, 0
		}
		encoded := string(s[:end+1])
		decoded := html.UnescapeString(encoded)
		if decoded == encoded {
			return nil, 0
		}
		return []byte(decoded), len(encoded)
	})
}

// maxEscape is the length of the longest escape.
const maxEscape = 10

// unescaped decodes each escape that begins with a byte. decode returns the decoded bytes and the length
// of the escape, which is 0 for none.
func (f form) unescaped(begin byte, decode func([]byte) ([]byte, int)) (form, bool) {
	if bytes.IndexByte(f.text, begin) < 0 {
		return form{}, false
	}
	out, some := form{make([]byte, 0, len(f.text)), make([]int, 0, len(f.text)+1)}, false
	for i := 0; i < len(f.text); {
		part, n := f.text[i:i+1], 1
		if f.text[i] == begin {
			if decoded, length := decode(f.text[i:]); length > 0 {
				part, n, some = decoded, length, true
			}
		}
		for range part {
			out.at = append(out.at, f.position(i))
		}
		out.text = append(out.text, part...)
		i += n
	}
	out.at = append(out.at, f.position(len(f.text)))
	return out, some
}

// minBase64 is the length of the base64 of a value, without the characters that depend on other bytes.
const minBase64 = 7

// base64Runs returns the runs of base64 in either alphabet. The encoded data may begin before the run.
func base64Runs(text []byte) []run {
	var out []run
	for from := 0; from < len(text); {
		to := from
		for to < len(text) && in64(text[to]) {
			to++
		}
		encoded := text[from:to]
		for to < len(text) && text[to] == '=' {
			to++
		}
		if len(encoded) >= minBase64 {
			out = append(out, run{from, to, decode64(encoded)})
		}
		from = max(to, from+1)
	}
	return out
}

func in64(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' ||
		c == '+' || c == '/' || c == '-' || c == '_'
}

// decode64 returns the meanings of a run of base64, by its position in the encoded data.
func decode64(encoded []byte) (out [][]byte) {
	standard := make([]byte, len(encoded))
	for i, c := range encoded {
		switch c {
		case '-':
			c = '+'
		case '_':
			c = '/'
		}
		standard[i] = c
	}
	for shift := range 4 {
		part := standard[min(shift, len(standard)):]
		if len(part)%4 == 1 {
			part = part[:len(part)-1]
		}
		decoded, err := base64.RawStdEncoding.AppendDecode(nil, part)
		if err == nil && len(decoded) >= minWord {
			out = append(out, decoded)
		}
	}
	return out
}

// bytesForm matches bytes as Go and JavaScript print them.
var (
	bytesForm  = regexp.MustCompile(`\b` + numberForm + `(?:(?:, ?| )` + numberForm + `){5,}\b`)
	numbers    = regexp.MustCompile(numberForm)
	numberForm = `(?:0[xX][0-9A-Fa-f]{1,2}|[0-9]{1,3})`
)

// hexRuns returns the runs of hexadecimal digits, as Go and many databases print bytes. A space or a colon may be
// between bytes.
func hexRuns(text []byte) []run {
	var out []run
	for from := 0; from < len(text); {
		to := from + hexDigits(text[from:])
		encoded := text[from:to:to]
		if to-from == 2 {
			for to < len(text) && (text[to] == ' ' || text[to] == ':') && hexDigits(text[to+1:]) == 2 {
				encoded = append(encoded, text[to+1], text[to+2])
				to += 3
			}
		}
		if len(encoded) >= 2*minWord {
			r := run{from: from, to: to}
			for shift := range 2 { // the data may begin with half a byte of another text
				part := encoded[shift:]
				if decoded, err := hex.AppendDecode(nil, part[:len(part)/2*2]); err == nil {
					r.decoded = append(r.decoded, decoded)
				}
			}
			out = append(out, r)
		}
		from = max(to, from+1)
	}
	return out
}

// hexDigits returns the number of hexadecimal digits at the beginning of a text.
func hexDigits(text []byte) int {
	n := 0
	for n < len(text) && isHex(text[n]) {
		n++
	}
	return n
}

func isHex(c byte) bool { return c >= '0' && c <= '9' || c|0x20 >= 'a' && c|0x20 <= 'f' }

func byteRuns(text []byte) []run {
	var out []run
	if !bytes.ContainsAny(text, "0123456789") {
		return nil
	}
	for _, at := range bytesForm.FindAllIndex(text, -1) {
		var decoded []byte
		for _, each := range numbers.FindAll(text[at[0]:at[1]], -1) {
			base := 10
			if digits, isHex := bytes.CutPrefix(bytes.ToLower(each), []byte("0x")); isHex {
				each, base = digits, 16
			}
			n, err := strconv.ParseUint(string(each), base, 8)
			if err != nil {
				n = 0 // a number, but no byte
			}
			decoded = append(decoded, byte(n))
		}
		out = append(out, run{at[0], at[1], [][]byte{decoded}})
	}
	return out
}
