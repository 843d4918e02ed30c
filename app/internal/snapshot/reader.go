// SPDX-License-Identifier: Apache-2.0

package snapshot

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"time"
)

// Bounds of the schema in a state. They are far above those of any release.
const (
	maxSchema = 1 << 16
	maxShape  = 1 << 8
)

// reader reads a state. It keeps the first error; all values after it are zero. The schema comes from
// the input, like all else: it may lead to an error, but never to a value of a wrong type.
type reader struct {
	blocks   *BlockReader
	types    *types
	buf      []byte
	err      error
	epoch    int64
	structs  map[string][]string
	texts    []string
	tables   map[string]*loaded // of the shared values, by shape
	compiled map[compilation]load
}

// load reads one value into v. It skips the value if v is the zero Value.
type load func(r *reader, v reflect.Value)

// compilation is a struct of the state, and its type in this program; nil if it has none.
type compilation struct {
	shape string
	t     reflect.Type
}

// fail records an error of the format, if it is the first error.
func (r *reader) fail(format string, args ...any) {
	if r.err == nil {
		r.err = fmt.Errorf("%w: "+format, append([]any{ErrFormat}, args...)...)
	}
}

func (r *reader) readSchema() {
	n := r.uint()
	if n > maxSchema {
		r.fail("its schema is too long")
	}
	if text := r.bytes(n); r.err == nil && json.Unmarshal(text, &r.structs) != nil {
		r.fail("its schema is damaged")
	}
}

// loader returns the function for the values of that shape. They become values of the type t, or are
// skipped if t is nil.
func (r *reader) loader(shape string, t reflect.Type) load {
	switch {
	case r.err != nil:
		return nil
	case len(shape) > maxShape:
		r.fail("a shape is too long")
		return nil
	case t != nil && r.types.of(t).shape != shape:
		r.fail("a value has the shape %q instead of %q", shape, r.types.of(t).shape)
		return nil
	}
	if rest, ok := strings.CutPrefix(shape, "#"); ok {
		return r.table(shape, rest, t)
	}
	return r.plain(shape, t)
}

// plain returns the function for values without a number.
func (r *reader) plain(shape string, t reflect.Type) load {
	elem := func() reflect.Type {
		if t == nil {
			return nil
		}
		return t.Elem()
	}
	if rest, ok := strings.CutPrefix(shape, "*"); ok {
		return loadPointer(r.loader(rest, elem()))
	}
	if rest, ok := strings.CutPrefix(shape, "[]"); ok {
		return loadSlice(r.loader(rest, elem()))
	}
	if rest, ok := strings.CutPrefix(shape, "map["); ok {
		key, value, _ := strings.Cut(rest, "]")
		if t == nil {
			return skipMap(r.loader(key, nil), r.loader(value, nil))
		}
		return loadMap(t, r.loader(key, t.Key()), r.loader(value, t.Elem()))
	}
	if rest, ok := strings.CutPrefix(shape, "bytes"); ok {
		return r.array(rest)
	}
	switch shape {
	case "bool", "uint":
		return loadUint
	case "int":
		return loadInt
	case "text":
		return loadText
	case "time":
		return loadTime
	}
	return r.object(shape, t)
}

// loadUint also reads bools. A value that its type cannot hold is an error.
func loadUint(r *reader, v reflect.Value) {
	switch n := r.uint(); {
	case !v.IsValid():
	case v.Kind() == reflect.Bool:
		v.SetBool(n != 0)
	case v.OverflowUint(n):
		r.fail("a number is too large")
	default:
		v.SetUint(n)
	}
}

func loadInt(r *reader, v reflect.Value) {
	switch n := r.int(); {
	case !v.IsValid():
	case v.OverflowInt(n):
		r.fail("a number is too large")
	default:
		v.SetInt(n)
	}
}

func loadText(r *reader, v reflect.Value) {
	if text := r.text(); v.IsValid() {
		v.SetString(text)
	}
}

func loadTime(r *reader, v reflect.Value) {
	seconds, rest := r.int(), r.uint()
	nanos, local := rest>>1, rest&1 != 0
	if nanos >= uint64(time.Second) {
		r.fail("a time is invalid")
		return
	}
	at := time.Unix(r.epoch+seconds, int64(nanos))
	if !local {
		at = at.UTC()
	}
	if v.IsValid() {
		*v.Addr().Interface().(*time.Time) = at
	}
}

// array returns the function for arrays of bytes.
func (r *reader) array(size string) load {
	n, err := strconv.ParseUint(size, 10, 8)
	if err != nil || n == 0 {
		r.fail("an array has no size")
	}
	if n <= maxRaw {
		return func(r *reader, v reflect.Value) {
			if b := r.bytes(n); v.IsValid() && r.err == nil {
				copy(v.Bytes(), b)
			}
		}
	}
	return func(r *reader, v reflect.Value) {
		text := r.text()
		switch {
		case uint64(len(text)) != n:
			r.fail("an array has %d bytes instead of %d", len(text), n)
		case v.IsValid():
			copy(v.Bytes(), text)
		}
	}
}

func loadPointer(to load) load {
	return func(r *reader, v reflect.Value) {
		if v.IsValid() {
			if v.IsNil() {
				v.Set(reflect.New(v.Type().Elem()))
			}
			v = v.Elem()
		}
		to(r, v)
	}
}

// loadSlice reads slices. A damaged length may be too large, so a long slice grows with its elements.
func loadSlice(elem load) load {
	const most = 1 << 10
	return func(r *reader, v reflect.Value) {
		n := r.uint()
		if v.IsValid() {
			v.Set(reflect.MakeSlice(v.Type(), 0, int(min(n, most))))
		}
		for i := 0; uint64(i) < n && r.err == nil; i++ {
			var to reflect.Value
			if v.IsValid() {
				v.Grow(1)
				v.SetLen(i + 1)
				to = v.Index(i)
			}
			elem(r, to)
		}
	}
}

func loadMap(t reflect.Type, key, elem load) load {
	return func(r *reader, v reflect.Value) {
		if v.IsNil() {
			v.Set(reflect.MakeMap(t))
		}
		for n := r.uint(); n > 0 && r.err == nil; n-- {
			k, e := reflect.New(t.Key()).Elem(), reflect.New(t.Elem()).Elem()
			key(r, k)
			elem(r, e)
			v.SetMapIndex(k, e)
		}
	}
}

func skipMap(key, elem load) load {
	return func(r *reader, _ reflect.Value) {
		for n := r.uint(); n > 0 && r.err == nil; n-- {
			key(r, reflect.Value{})
			elem(r, reflect.Value{})
		}
	}
}

// loaded are the read values of one shared type, in order. t is nil if the program lacks the type.
type loaded struct {
	t      reflect.Type
	load   load
	values []reflect.Value
}

// table returns the function for values with a number. The program may lack the field with the first
// reference, and know another one.
func (r *reader) table(shape, rest string, t reflect.Type) load {
	of := r.tables[shape]
	if of == nil {
		of = &loaded{}
		r.tables[shape] = of
	}
	if of.load == nil || of.t == nil && t != nil {
		of.t, of.load = t, r.plain(rest, t)
	}
	return of.read
}

func (of *loaded) read(r *reader, v reflect.Value) {
	known := uint64(len(of.values))
	switch n := r.uint(); {
	case n == known+1:
		if !v.IsValid() && of.t != nil {
			v = reflect.New(of.t).Elem()
		}
		of.load(r, v)
		of.values = append(of.values, v)
	case n == 0 || n > known:
		r.fail("a reference has no value")
	case v.IsValid():
		v.Set(of.values[n-1])
	}
}

// object returns the function for a struct.
func (r *reader) object(shape string, t reflect.Type) load {
	key := compilation{shape, t}
	made, begun := r.compiled[key]
	shapes := r.structs[shape]
	switch {
	case made != nil:
		return made
	case begun:
		r.fail("the struct %q contains itself", shape)
		return nil
	case len(shapes) == 0 || len(shapes) > maxFields:
		r.fail("the struct %q has %d fields", shape, len(shapes))
		return nil
	}
	r.compiled[key] = nil
	var known []field
	if t != nil {
		known = r.types.of(t).fields
	}
	s := &structure{fields: make([]*field, len(shapes)), loads: make([]load, len(shapes))}
	for i, text := range shapes {
		name, of, _ := strings.Cut(text, " ")
		var ft reflect.Type
		for j := range known {
			if known[j].name == name {
				s.fields[i], ft = &known[j], t.Field(known[j].index).Type
			}
		}
		s.loads[i] = r.loader(of, ft)
	}
	for i := range known {
		if known[i].required {
			s.required = append(s.required, known[i].index)
		}
	}
	r.compiled[key] = s.load
	return s.load
}

// structure is a struct of the state: its fields in this program, nil for one that the program lacks,
// and the functions for them.
type structure struct {
	fields   []*field
	loads    []load
	required []int
}

func (s *structure) load(r *reader, v reflect.Value) {
	var given uint64
	for i := 0; i < len(s.loads); i += 8 {
		given |= uint64(r.byte()) << i
	}
	for i, load := range s.loads {
		if given&(1<<i) == 0 {
			continue
		}
		var to reflect.Value
		if f := s.fields[i]; f != nil && v.IsValid() {
			to = f.of(v)
		}
		if load(r, to); r.err != nil {
			return
		}
	}
	if !v.IsValid() {
		return
	}
	for _, i := range s.required {
		if v.Field(i).IsNil() {
			r.fail("a value is missing")
		}
	}
}

func (r *reader) byte() byte {
	if b := r.bytes(1); len(b) == 1 {
		return b[0]
	}
	return 0
}

// uint reads a varint.
func (r *reader) uint() uint64 {
	if r.err != nil {
		return 0
	}
	n, size := binary.Uvarint(r.blocks.left)
	if size > 0 {
		r.blocks.left = r.blocks.left[size:]
		return n
	}
	n, err := binary.ReadUvarint(r.blocks) // over the end of a block
	switch {
	case r.blocks.err != nil:
		r.err = r.blocks.err
	case err != nil:
		r.fail("a number is too long")
	}
	if r.err != nil {
		return 0
	}
	return n
}

func (r *reader) int() int64 {
	n := r.uint()
	return int64(n>>1) ^ -int64(n&1)
}

// bytes returns the next n bytes, valid until the next call; none after an error. A damaged length may
// be too large, so the buffer grows only with the bytes that are there.
func (r *reader) bytes(n uint64) []byte {
	if r.err == nil && n > 0 && n <= uint64(len(r.blocks.left)) {
		return r.blocks.Next(int(n)) //nolint:gosec // at most a block
	}
	r.buf = r.buf[:0]
	for r.err == nil && uint64(len(r.buf)) < n {
		more := min(n-uint64(len(r.buf)), blockSize)
		r.buf = append(r.buf, r.blocks.Next(int(more))...)
		r.err = r.blocks.err
	}
	if r.err != nil {
		return nil
	}
	return r.buf
}

// text reads a text.
func (r *reader) text() string {
	known := uint64(len(r.texts))
	switch n := r.uint(); {
	case n == 0:
		return ""
	case n <= known:
		return r.texts[n-1]
	case n > known+1:
		r.fail("a text is missing")
		return ""
	}
	text := string(r.bytes(r.uint()))
	r.texts = append(r.texts, text)
	return text
}
