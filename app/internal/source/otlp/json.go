// SPDX-License-Identifier: Apache-2.0

package otlp

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"
)

// jsonReader reads OTLP/JSON, token by token: the JSON of protobuf, but with
// IDs in hex, enums as numbers and only lowerCamelCase names. What has no value
// or a name that nobody knows is passed over.
//
// The first error stays in err, and nothing is read any more.
type jsonReader struct {
	dec *jsontext.Decoder
	err error
	// name is that of the member that member went to, until its value is read.
	name []byte
	// unquoted is used again and again.
	unquoted []byte
}

func newJSONReader(body []byte) *jsonReader {
	// Members that come twice cost more to find than they do harm: the last
	// counts. Invalid UTF-8 is replaced, as in protobuf.
	return &jsonReader{dec: jsontext.NewDecoder(bytes.NewBuffer(body), jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))}
}

// fail notes an error. That of a request that ends too soon is not io.EOF.
func (j *jsonReader) fail(err error) {
	if j.err == nil && err != nil {
		if errors.Is(err, io.EOF) {
			err = io.ErrUnexpectedEOF
		}
		j.err = fmt.Errorf("%w: %w", errMalformed, err)
	}
}

// unfit notes that a value is not what it has to be.
func (j *jsonReader) unfit(want string) {
	if j.err == nil {
		j.err = fmt.Errorf("%w: %.200s is no %s", errMalformed, j.dec.StackPointer(), want)
	}
}

// stop notes an error that is not about the form.
func (j *jsonReader) stop(err error) {
	if j.err == nil {
		j.err = err
	}
}

// open begins an object ('{') or a list ('[').
func (j *jsonReader) open(kind jsontext.Kind) {
	if j.err != nil {
		return
	}
	token, err := j.dec.ReadToken()
	switch {
	case err != nil:
		j.fail(err)
	case token.Kind() != kind && kind == '{':
		j.unfit("object")
	case token.Kind() != kind:
		j.unfit("list")
	}
}

// more goes to the next value of an open list or the next name of an open
// object, or ends it.
func (j *jsonReader) more() bool {
	for j.err == nil {
		switch j.dec.PeekKind() {
		case ']', '}':
			_, err := j.dec.ReadToken()
			j.fail(err)
			return false
		case 'n':
			j.skip()
		default:
			return true
		}
	}
	return false
}

// member goes to the next member of an open object that has a value, or ends
// the object.
func (j *jsonReader) member() bool {
	for j.more() {
		if j.name = j.text(); j.err != nil {
			return false
		}
		if j.dec.PeekKind() != 'n' {
			return true
		}
		j.skip()
	}
	return false
}

func (j *jsonReader) skip() {
	if j.err == nil {
		j.fail(j.dec.SkipValue())
	}
}

// value reads a value of one of two kinds; nil if it is none.
func (j *jsonReader) value(a, b jsontext.Kind, want string) []byte {
	if j.err != nil {
		return nil
	}
	v, err := j.dec.ReadValue()
	if err != nil {
		j.fail(err)
		return nil
	}
	if kind := v.Kind(); kind != a && kind != b {
		j.unfit(want)
		return nil
	}
	return v
}

// text reads a string. It is valid until the next is read.
func (j *jsonReader) text() []byte { return j.unquote(j.value('"', '"', "string")) }

func (j *jsonReader) unquote(v []byte) []byte {
	if len(v) < 2 || v[0] != '"' {
		return v
	}
	if bytes.IndexByte(v, '\\') < 0 {
		return v[1 : len(v)-1]
	}
	// What is wrong with it can only be its UTF-8, which it has replaced.
	j.unquoted, _ = jsontext.AppendUnquote(j.unquoted[:0], v)
	return j.unquoted
}

func (j *jsonReader) bool() bool {
	v := j.value('t', 'f', "boolean")
	return len(v) > 0 && v[0] == 't'
}

// number reads a number or a string that holds one.
func (j *jsonReader) number() string { return string(j.unquote(j.value('0', '"', "number"))) }

func (j *jsonReader) uint64() uint64 {
	s := j.number()
	n, err := strconv.ParseUint(s, 10, 64)
	if err != nil && j.err == nil {
		f := j.integral(s)
		if f < 0 || f >= math.MaxUint64 {
			j.unfit("unsigned integer")
			return 0
		}
		n = uint64(f)
	}
	return n
}

func (j *jsonReader) int64() int64 {
	s := j.number()
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil && j.err == nil {
		f := j.integral(s)
		if f < math.MinInt64 || f >= math.MaxInt64 {
			j.unfit("integer")
			return 0
		}
		n = int64(f)
	}
	return n
}

// integral reads an integer that is written as 1e3 or 1.0.
func (j *jsonReader) integral(s string) float64 {
	f, err := strconv.ParseFloat(s, 64)
	if err != nil || f != math.Trunc(f) {
		j.unfit("integer")
		return 0
	}
	return f
}

func (j *jsonReader) float64() float64 {
	s := j.number()
	if j.err != nil {
		return 0
	}
	f, err := strconv.ParseFloat(s, 64)
	if err != nil {
		j.unfit("number")
	}
	return f
}

// enum reads the number of an enum, or its name, which OTLP does not allow but
// protobuf's own encoders write. A name that nobody knows is 0.
func (j *jsonReader) enum(names map[string]int32) int32 {
	if j.err == nil && j.dec.PeekKind() == '"' {
		s := j.text()
		if n, ok := names[string(s)]; ok {
			return n
		}
		n, _ := strconv.ParseInt(string(s), 10, 32)
		return int32(n)
	}
	n := j.int64()
	if n != int64(int32(n)) { //nolint:gosec // that is what is asked
		return 0
	}
	return int32(n) //nolint:gosec // checked
}

// id reads an ID in hex; one that is no hex, or too long, is a misfit.
func (j *jsonReader) id(d *draft, to []byte) {
	text := j.text()
	var buf [16]byte
	if len(text) > hex.EncodedLen(len(buf)) {
		d.misfit = true
		return
	}
	n, err := hex.Decode(buf[:], text)
	d.setID(to, buf[:n])
	d.misfit = d.misfit || err != nil
}

// base64 reads bytes, in either alphabet, padded or not.
func (j *jsonReader) base64() []byte {
	text := bytes.TrimRight(j.text(), "=")
	raw := make([]byte, base64.RawStdEncoding.DecodedLen(len(text)))
	encoding := base64.RawStdEncoding
	if bytes.ContainsAny(text, "-_") {
		encoding = base64.RawURLEncoding
	}
	n, err := encoding.Decode(raw, text)
	if err != nil {
		j.unfit("base64")
	}
	return raw[:n]
}

// end checks that nothing follows.
func (j *jsonReader) end() {
	if j.err != nil {
		return
	}
	if _, err := j.dec.ReadToken(); !errors.Is(err, io.EOF) {
		j.err = fmt.Errorf("%w: something follows the request", errMalformed)
	}
}
