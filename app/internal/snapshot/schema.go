// SPDX-License-Identifier: Apache-2.0

package snapshot

import (
	"cmp"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"time"
)

// The schema of a state describes its structs: by the name of each one, the names of its fields, with
// their shapes. A shape is the form of the saved values of a type:
//
//	bool int uint text time      a basic value
//	bytes16                      an array of bytes
//	Timeline                     a struct, by the name of its type
//	*X []X map[K]X               a pointer, a slice, a map
//	#*X #[]X                     a pointer or a slice with a number, because others may refer to it
//
// A value is saved in these forms:
//
//	bool, uint   a varint
//	int          a varint, zigzag
//	text         its number; a new text follows, with its length
//	time         the seconds since the base, as an int; the nanoseconds and the location, as a uint
//	bytesN       up to 8 bytes as they are; more as a text
//	struct       one bit for each field, in whole bytes; then the fields that are not zero
//	*X           the value of X; a nil pointer is only possible in a field
//	[]X, map     the number of elements, and these; the elements of a map in the order of their keys
//	#            a number; a new value follows
const (
	maxFields = 64
	// maxRaw is the size of the arrays without a number.
	maxRaw = 8
)

// saver saves the values of one type.
type saver struct {
	shape string
	// empty reports whether a field with the value v is left out.
	empty  func(v reflect.Value) bool
	save   func(w *writer, v reflect.Value)
	fields []field // of a struct
}

// field is a saved field of a struct.
type field struct {
	*saver
	name  string
	index int
	// hidden means that the field is not exported. required means that it must not be nil.
	hidden, required bool
}

// of returns the field of v, which must be addressable.
func (f *field) of(v reflect.Value) reflect.Value {
	v = v.Field(f.index)
	if f.hidden { // reflection refuses to change such a field, and to return its value
		v = reflect.NewAt(v.Type(), v.Addr().UnsafePointer()).Elem()
	}
	return v
}

// types are the savers by type. All values that they get are addressable.
type types struct {
	savers  map[reflect.Type]*saver
	sharing map[reflect.Type]bool // near, or else far
	// structs is the schema. names are the types of its structs.
	structs map[string][]string
	names   map[string]reflect.Type
	// tables has an entry for each shared type: whether it is near.
	tables []bool
}

func newTypes(s Sharing) *types {
	t := &types{
		savers: map[reflect.Type]*saver{}, sharing: map[reflect.Type]bool{},
		structs: map[string][]string{}, names: map[string]reflect.Type{},
	}
	for _, v := range s.Near {
		t.sharing[reflect.TypeOf(v)] = true
	}
	for _, v := range s.Far {
		t.sharing[reflect.TypeOf(v)] = false
	}
	return t
}

// of returns the saver of the type.
func (s *types) of(t reflect.Type) *saver {
	known, begun := s.savers[t]
	switch {
	case known != nil:
		return known
	case begun:
		panic("snapshot: the type " + t.String() + " contains itself")
	}
	s.savers[t] = nil
	made := s.make(t)
	if near, shared := s.sharing[t]; shared {
		made = made.shared(len(s.tables))
		s.tables = append(s.tables, near)
	}
	s.savers[t] = made
	return made
}

func (s *types) make(t reflect.Type) *saver {
	one := &saver{empty: reflect.Value.IsZero}
	switch kind := t.Kind(); {
	case t == reflect.TypeFor[time.Time]():
		one.shape, one.empty, one.save = "time", emptyTime, saveTime
	case kind == reflect.Array && t.Elem().Kind() == reflect.Uint8 && t.Len() > 0:
		one.shape, one.save = "bytes"+strconv.Itoa(t.Len()), saveBytes
	case kind == reflect.String:
		one.shape, one.save = "text", func(w *writer, v reflect.Value) { w.text(v.String()) }
	case kind == reflect.Bool:
		one.shape, one.save = "bool", saveBool
	case reflect.Int <= kind && kind <= reflect.Int64:
		one.shape, one.save = "int", func(w *writer, v reflect.Value) { w.int(v.Int()) }
	case reflect.Uint <= kind && kind <= reflect.Uint64:
		one.shape, one.save = "uint", func(w *writer, v reflect.Value) { w.uint(v.Uint()) }
	case kind == reflect.Pointer:
		to := s.of(t.Elem())
		one.shape, one.save = "*"+to.shape, func(w *writer, v reflect.Value) { to.save(w, v.Elem()) }
	case kind == reflect.Slice:
		one.empty = emptyList
		one.shape, one.save = s.slice(s.of(t.Elem()))
	case kind == reflect.Map:
		one.empty = emptyList
		one.shape, one.save = s.mapping(t)
	case kind == reflect.Struct:
		s.fill(one, t)
	default:
		panic("snapshot: values of the type " + t.String() + " cannot be saved")
	}
	return one
}

func emptyList(v reflect.Value) bool { return v.Len() == 0 }

func emptyTime(v reflect.Value) bool { return v.Addr().Interface().(*time.Time).IsZero() }

func saveTime(w *writer, v reflect.Value) { w.time(v.Addr().Interface().(*time.Time)) }

func saveBool(w *writer, v reflect.Value) {
	n := uint64(0)
	if v.Bool() {
		n = 1
	}
	w.uint(n)
}

func saveBytes(w *writer, v reflect.Value) {
	b := v.Bytes()
	if len(b) <= maxRaw {
		w.blocks.buf = append(w.blocks.buf, b...)
	} else if n, known := w.texts.numbers[string(b)]; known { // without an allocation
		w.uint(n)
	} else {
		w.text(string(b))
	}
}

// slice returns the shape and the function for a slice of these elements.
func (s *types) slice(of *saver) (string, func(w *writer, v reflect.Value)) {
	return "[]" + of.shape, func(w *writer, v reflect.Value) {
		n := v.Len()
		w.uint(uint64(n)) //nolint:gosec // a length
		for i := range n {
			of.save(w, v.Index(i))
			if w.depth == 1 {
				w.bound()
			}
		}
	}
}

// mapping returns the shape and the function for a map.
func (s *types) mapping(t reflect.Type) (string, func(w *writer, v reflect.Value)) {
	keys, values := s.of(t.Key()), s.of(t.Elem())
	return "map[" + keys.shape + "]" + values.shape, func(w *writer, v reflect.Value) {
		w.uint(uint64(v.Len())) //nolint:gosec // a length
		key, value := reflect.New(t.Key()).Elem(), reflect.New(t.Elem()).Elem()
		for _, k := range slices.SortedFunc(slices.Values(v.MapKeys()), compare) {
			key.Set(k)
			value.Set(v.MapIndex(k))
			keys.save(w, key)
			values.save(w, value)
			if w.depth == 1 {
				w.bound()
			}
		}
	}
}

// compare orders the keys of maps.
func compare(a, b reflect.Value) int {
	switch {
	case a.Kind() == reflect.String:
		return cmp.Compare(a.String(), b.String())
	case a.CanUint():
		return cmp.Compare(a.Uint(), b.Uint())
	case a.Kind() == reflect.Array:
		for i := range a.Len() {
			if c := compare(a.Index(i), b.Index(i)); c != 0 {
				return c
			}
		}
		return 0
	}
	for i := range a.NumField() {
		if c := compare(a.Field(i), b.Field(i)); c != 0 {
			return c
		}
	}
	return 0
}

// fill completes the saver of a struct.
func (s *types) fill(one *saver, t reflect.Type) {
	one.shape = t.Name()
	if other := s.names[one.shape]; other != nil || one.shape == "" {
		panic(fmt.Sprintf("snapshot: the types %s and %s have one name", t, other))
	}
	s.names[one.shape] = t
	var shapes []string
	for i := range t.NumField() {
		f := t.Field(i)
		if f.Tag.Get("state") == "-" {
			continue
		}
		of := s.of(f.Type)
		shapes = append(shapes, f.Name+" "+of.shape)
		one.fields = append(one.fields, field{
			saver: of, name: f.Name, index: i, hidden: !f.IsExported(),
			required: f.Anonymous && f.Type.Kind() == reflect.Pointer,
		})
	}
	if len(shapes) == 0 || len(shapes) > maxFields {
		panic(fmt.Sprintf("snapshot: the type %s has %d fields", t, len(shapes)))
	}
	s.structs[one.shape] = shapes
	one.empty = func(v reflect.Value) bool {
		return !slices.ContainsFunc(one.fields, func(f field) bool { return !f.empty(f.of(v)) })
	}
	one.save = one.saveStruct
}

func (s *saver) saveStruct(w *writer, v reflect.Value) {
	w.depth++
	var given uint64
	for i := range s.fields {
		if f := &s.fields[i]; !f.empty(f.of(v)) {
			given |= 1 << i
		}
	}
	for i := 0; i < len(s.fields); i += 8 {
		w.blocks.buf = append(w.blocks.buf, byte(given>>i)) //nolint:gosec // the lowest byte
	}
	for i := range s.fields {
		if f := &s.fields[i]; given&(1<<i) != 0 {
			f.save(w, f.of(v))
		}
	}
	w.depth--
	w.blocks.flush()
}

// shared returns the saver of pointers or slices with a number, in the table of that index.
func (s *saver) shared(table int) *saver {
	return &saver{shape: "#" + s.shape, empty: s.empty, save: func(w *writer, v reflect.Value) {
		key := reference{to: v.Pointer()}
		if v.Kind() == reflect.Slice {
			key.len = v.Len()
		}
		t := &w.shared[table]
		if n, known := t.numbers[key]; known {
			w.uint(n)
			return
		}
		w.uint(t.add(key))
		s.save(w, v)
	}}
}
