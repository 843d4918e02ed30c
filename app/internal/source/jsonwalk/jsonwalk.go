// SPDX-License-Identifier: Apache-2.0

// Package jsonwalk reads what it is asked for out of a JSON text, in one walk
// and without making anything of the rest: of a large object a few names are
// wanted, and what is not wanted may be secret.
package jsonwalk

import (
	"bytes"
	"errors"
	"io"

	"github.com/go-json-experiment/json/jsontext"
)

// Walker stands before a value of a text. Its methods read that value, and
// skip it if it is of another shape than the method's: a member that has the
// name of one that is known is not always that one. An error says that the text
// is no JSON; the Walker is of no use then.
type Walker struct{ d *jsontext.Decoder }

// New returns a Walker before the first value of text, which must not change
// while it walks. As Kubernetes does, it takes the last of two members of one
// name, and reads on over text that is no UTF-8.
func New(text []byte) Walker {
	return Walker{jsontext.NewDecoder(bytes.NewBuffer(text), jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))}
}

// Object calls member with the name of each member of an object, however it is
// written; it must read the member's value. The name is valid until then.
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
			plain, _ = jsontext.AppendUnquote(nil, name) // half a character is one that is replaced
		}
		if err := member(plain); err != nil {
			return err
		}
	}
	_, err := w.d.ReadToken()
	return err
}

// List calls item for each element of an array; it must read the element.
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

// Ended reports whether nothing but space follows.
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

// Number reads an integer into n; what is too large is the largest, and of a
// fraction the whole.
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

// Raw reads any value and returns its text, which is part of New's.
func (w Walker) Raw() ([]byte, error) { return w.d.ReadValue() }

// Skip reads any value and makes nothing of it.
func (w Walker) Skip() error { return w.d.SkipValue() }
