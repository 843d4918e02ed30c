// SPDX-License-Identifier: Apache-2.0

// Package jsonwalk reads single members of a JSON text in one walk and skips the rest. A large
// object often holds only a few wanted names, and the rest may be secret.
package jsonwalk

import (
	"bytes"
	"errors"
	"io"

	"github.com/go-json-experiment/json/jsontext"
)

// Walker stands before a value of a JSON text. Each method reads that value, or skips a value of
// another type: a member with a known name may have an unexpected type. An error means invalid
// JSON; the Walker is then unusable.
type Walker struct{ d *jsontext.Decoder }

// New returns a Walker before the first value of text. The caller must not change text during the
// walk. Like Kubernetes, it uses the last of several members with the same name and accepts invalid
// UTF-8.
func New(text []byte) Walker {
	return Walker{
		jsontext.NewDecoder(bytes.NewBuffer(text), jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true)),
	}
}

// Object calls member with the unescaped name of each member of an object. The callback must read
// the member's value. The name is valid until that read.
func (w Walker) Object(member func(name []byte) error) error {
	if !w.IsObject() {
		return w.Skip()
	}
	if _, err := w.d.ReadToken(); err != nil {
		return err
	}
	for w.d.PeekKind() != '}' {
		name, err := w.d.ReadValue()
		if err != nil {
			return err
		}
		plain := name[1 : len(name)-1]
		if bytes.IndexByte(plain, '\\') >= 0 {
			plain, _ = jsontext.AppendUnquote(nil, name) // an incomplete surrogate pair is replaced
		}
		if err := member(plain); err != nil {
			return err
		}
	}
	_, err := w.d.ReadToken()
	return err
}

// List calls item for each element of an array. The callback must read the element.
func (w Walker) List(item func() error) error {
	if w.d.PeekKind() != '[' {
		return w.Skip()
	}
	if _, err := w.d.ReadToken(); err != nil {
		return err
	}
	for w.d.PeekKind() != ']' {
		if err := item(); err != nil {
			return err
		}
	}
	_, err := w.d.ReadToken()
	return err
}

// IsObject reports whether an object follows.
func (w Walker) IsObject() bool { return w.d.PeekKind() == '{' }

// IsText reports whether a string follows.
func (w Walker) IsText() bool { return w.d.PeekKind() == '"' }

// Ended reports whether only white space follows.
func (w Walker) Ended() bool {
	_, err := w.d.ReadToken()
	return errors.Is(err, io.EOF)
}

// Text reads a string into s.
func (w Walker) Text(s *string) error {
	if !w.IsText() {
		return w.Skip()
	}
	t, err := w.d.ReadToken()
	if err == nil {
		*s = t.String()
	}
	return err
}

// Number reads an integer into n. It clamps large values to the largest int64 and truncates
// fractions.
func (w Walker) Number(n *int64) error {
	if w.d.PeekKind() != '0' {
		return w.Skip()
	}
	t, err := w.d.ReadToken()
	if err == nil {
		*n, _ = t.Int()
	}
	return err
}

// Truth reads true or false into b.
func (w Walker) Truth(b *bool) error {
	if k := w.d.PeekKind(); k == 't' || k == 'f' {
		*b = k == 't'
	}
	return w.Skip()
}

// Raw reads any value and returns its text, a part of New's text.
func (w Walker) Raw() ([]byte, error) { return w.d.ReadValue() }

// Skip reads and discards any value.
func (w Walker) Skip() error { return w.d.SkipValue() }
