// SPDX-License-Identifier: Apache-2.0

package apiproto

import (
	"bytes"
	"errors"
	"fmt"

	"google.golang.org/protobuf/encoding/protowire"
)

var errDamaged = errors.New("damaged message")

// object is a JSON object.
type object = map[string]any

// object decodes a message. The map has space for as many fields as the message before had.
func (t *table) object(data []byte) (object, error) {
	out := make(object, t.size.Load())
	err := t.read(data, out)
	if size := int64(len(out)); size != t.size.Load() {
		t.size.Store(size)
	}
	return out, err
}

// read decodes a message into out. A field without an entry in the table is an error: it may be a
// field of a newer API.
func (t *table) read(data []byte, out object) error {
	var seen uint64
	for len(data) > 0 {
		number, wire, n := protowire.ConsumeTag(data)
		if n < 0 {
			return errDamaged
		}
		if number > maxNumber || t.byNumber[number] == nil {
			return fmt.Errorf("unknown field %d", number)
		}
		f := t.byNumber[number]
		if wire != f.wire {
			return errDamaged
		}
		seen |= 1 << number
		var err error
		if data, err = f.read(data[:n], data[n:], out); err != nil {
			return err
		}
	}
	for _, f := range t.always {
		if seen&(1<<f.number) == 0 {
			if err := f.missing(out); err != nil {
				return err
			}
		}
	}
	return nil
}

// missing adds the zero value of the field to out.
func (f *field) missing(out object) (err error) {
	switch {
	case f.inline != nil:
		return f.inline.read(nil, out)
	case f.form != single || f.optional:
		out[f.name] = nil
	default:
		out[f.name], err = f.value.zero()
	}
	return err
}

// read decodes one field into out, and returns the data after it. tag is the tag before data. A list
// is read as a whole: its items follow each other, each after the same tag.
func (f *field) read(tag, data []byte, out object) (rest []byte, err error) {
	if f.form == repeated {
		return f.readList(tag, data, out)
	}
	if f.wire == protowire.VarintType {
		v, n := protowire.ConsumeVarint(data)
		if n < 0 {
			return nil, errDamaged
		}
		if v != 0 || f.zeros {
			out[f.name] = f.value.number(v)
		}
		return data[n:], nil
	}
	b, n := protowire.ConsumeBytes(data)
	if n < 0 {
		return nil, errDamaged
	}
	switch {
	case f.inline != nil:
		err = f.inline.read(b, out)
	case f.form == mapped:
		err = f.readEntry(b, out)
	case len(b) > 0 || f.zeros:
		out[f.name], err = f.value.bytes(b)
	}
	return data[n:], err
}

// readList decodes the items of a list.
func (f *field) readList(tag, data []byte, out object) (rest []byte, err error) {
	list, _ := out[f.name].([]any)
	if list == nil {
		list = make([]any, 0, f.count(tag, data))
	}
	for {
		var item any
		if f.wire == protowire.VarintType {
			v, n := protowire.ConsumeVarint(data)
			if n < 0 {
				return nil, errDamaged
			}
			item, data = f.value.number(v), data[n:]
		} else {
			b, n := protowire.ConsumeBytes(data)
			if n < 0 {
				return nil, errDamaged
			}
			if item, err = f.value.bytes(b); err != nil {
				return nil, err
			}
			data = data[n:]
		}
		list = append(list, item)
		var more bool
		if rest, more = bytes.CutPrefix(data, tag); !more {
			out[f.name] = list
			return data, nil
		}
		data = rest
	}
}

// count returns the number of items that follow each other.
func (f *field) count(tag, data []byte) (items int) {
	for more := true; more; data, more = bytes.CutPrefix(data, tag) {
		n := protowire.ConsumeFieldValue(f.number, f.wire, data)
		if n < 0 {
			break // readList reports it
		}
		items, data = items+1, data[n:]
	}
	return items
}

// readEntry decodes an entry of a map: its key is field 1, its value field 2.
func (f *field) readEntry(b []byte, out object) error {
	var key string
	var v any
	for len(b) > 0 {
		number, wire, n := protowire.ConsumeTag(b)
		if n < 0 {
			return errDamaged
		}
		m := protowire.ConsumeFieldValue(number, wire, b[n:])
		if m < 0 {
			return errDamaged
		}
		content := b[n : n+m]
		b = b[n+m:]
		switch {
		case number == 1 && wire == protowire.BytesType:
			k, _ := protowire.ConsumeBytes(content)
			key = text(k)
		case number == 2 && wire == f.value.wire && wire == protowire.VarintType:
			u, _ := protowire.ConsumeVarint(content)
			v = f.value.number(u)
		case number == 2 && wire == f.value.wire:
			var err error
			inner, _ := protowire.ConsumeBytes(content)
			if v, err = f.value.bytes(inner); err != nil {
				return err
			}
		default:
			return errDamaged
		}
	}
	if v == nil {
		var err error
		if v, err = f.value.zero(); err != nil {
			return err
		}
	}
	m, _ := out[f.name].(object)
	if m == nil {
		m = object{}
		out[f.name] = m
	}
	m[key] = v
	return nil
}
