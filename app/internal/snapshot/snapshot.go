// SPDX-License-Identifier: Apache-2.0

// Package snapshot saves and restores a value of any struct type, with all that it refers to. Its
// fields need no conversion: reflection finds them. A value with several references is saved once, and
// shared again after the restoration.
//
// A state is a head, and then blocks with checksums (block.go). The content of the blocks is the
// schema (schema.go), the base of all times, and the value. The schema has the names of all saved
// fields, so a field may come or go:
//
//   - A field that a state lacks keeps its value. A field that the program lacks is skipped.
//   - The names of saved types and fields are part of the format. A renamed field is a new one.
//   - A field with another type than in the state makes the state unreadable. Rename it instead.
//
// A value refers to earlier ones by number. So neither saving nor restoring needs memory for more than
// a block and the shared values, in addition to the value itself.
package snapshot

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"time"
)

// ErrFormat is the error for damaged or incomplete input, and for input of another format.
var ErrFormat = errors.New("not an engine's state that can be read")

// Version is the version of the format. It changes only if an older release cannot read the new
// format, or would misunderstand it. A new field needs no new version.
const Version = 2

// magic is the beginning of every saved engine. The version follows in one byte.
const magic = "lifeline engine\n"

// Sharing has one value of each pointer and slice type whose values may have several references. Near
// values have them from neighbours, Far values from anywhere. While saving, about 8,192 Near values of a
// type are known. An older one is saved again: maps of all values of a large cluster would need as much
// time and memory as the rest together.
type Sharing struct{ Near, Far []any }

// Format saves and restores values of the struct T. It has no state of its own.
type Format[T any] struct {
	types  *types
	root   *saver
	schema []byte
}

// New returns the format of T. It panics if T refers to a type that cannot be saved: to itself, to an
// interface, or to two types of one name. A field with the tag `state:"-"` is not saved. All other
// fields are, exported or not.
func New[T any](s Sharing) *Format[T] {
	f := &Format[T]{types: newTypes(s)}
	f.root = f.types.of(reflect.TypeFor[T]())
	f.schema, _ = json.Marshal(f.types.structs) // of texts only
	return f
}

// Save writes v. epoch is the base of the saved times. It may be any time, and should be close to most
// of them. Equal values give equal bytes. No element of a slice or a map may be nil, and no embedded
// pointer.
func (f *Format[T]) Save(out io.Writer, epoch time.Time, v *T) error {
	w := f.writer(out, epoch)
	f.root.save(w, reflect.ValueOf(v).Elem())
	return w.blocks.close()
}

// writer returns a writer that has written all before the value.
func (f *Format[T]) writer(out io.Writer, epoch time.Time) *writer {
	w := &writer{blocks: blockWriter{out: out}, shared: make([]table[reference], len(f.types.tables))}
	w.texts.near = true
	for i, near := range f.types.tables {
		w.shared[i].near = near
	}
	if !epoch.IsZero() {
		w.epoch = epoch.Unix()
	}
	_, w.blocks.err = out.Write(append([]byte(magic), Version))
	w.uint(uint64(len(f.schema)))
	w.blocks.buf = append(w.blocks.buf, f.schema...)
	w.int(w.epoch)
	return w
}

// Restore reads the output of Save into v, and not one byte more of in. Fields without a saved value
// stay as they are, and maps get more entries. An error wraps ErrFormat or is an error of in; v is
// useless then. No element of a slice or a map is nil afterwards, and no embedded pointer. The use of
// memory is at most a multiple of the input.
func (f *Format[T]) Restore(in io.Reader, v *T) error {
	if err := readHead(in); err != nil {
		return err
	}
	r := &reader{
		blocks: NewBlockReader(in), types: f.types, tables: map[string]*loaded{}, compiled: map[compilation]load{},
	}
	r.readSchema()
	r.epoch = r.int()
	load := r.loader(f.root.shape, reflect.TypeFor[T]())
	if r.err == nil {
		load(r, reflect.ValueOf(v).Elem())
	}
	if r.err == nil {
		r.err = r.blocks.Close()
	}
	return r.err
}

// readHead reads the head of a state.
func readHead(r io.Reader) error {
	head := make([]byte, len(magic)+1)
	if _, err := io.ReadFull(r, head); err != nil {
		return early(err)
	}
	switch v := head[len(magic)]; {
	case !bytes.HasPrefix(head, []byte(magic)):
		return fmt.Errorf("%w: it does not begin like one", ErrFormat)
	case v != Version:
		return fmt.Errorf("%w: its format is version %d; the known one is %d", ErrFormat, v, Version)
	}
	return nil
}

// writer collects a state.
type writer struct {
	blocks blockWriter
	epoch  int64
	// depth is the number of structs around the present value.
	depth  int
	texts  table[string]
	shared []table[reference]
}

// reference identifies a pointer, or a slice by its first element and its length.
type reference struct {
	to  uintptr
	len int
}

// maxKnown bounds the tables of near values.
const maxKnown = 1 << 13

// table numbers the values of one type in the order of their first use, from 1.
type table[K comparable] struct {
	numbers map[K]uint64
	last    uint64
	near    bool
}

// add returns the number of a new value.
func (t *table[K]) add(key K) uint64 {
	if t.numbers == nil {
		t.numbers = map[K]uint64{}
	}
	t.last++
	t.numbers[key] = t.last
	return t.last
}

// bound forgets the values if there are many. It is called between two elements of the saved struct, so
// that the parts of one element share their values.
func (w *writer) bound() {
	w.texts.bound()
	for i := range w.shared {
		w.shared[i].bound()
	}
}

func (t *table[K]) bound() {
	if t.near && len(t.numbers) > maxKnown {
		clear(t.numbers)
	}
}

func (w *writer) uint(n uint64) { w.blocks.buf = binary.AppendUvarint(w.blocks.buf, n) }

func (w *writer) int(n int64) { w.blocks.buf = binary.AppendVarint(w.blocks.buf, n) }

// text writes the number of a text, and a new text itself. The number of the empty text is 0.
func (w *writer) text(s string) {
	if s == "" {
		w.uint(0)
		return
	}
	if n, known := w.texts.numbers[s]; known {
		w.uint(n)
		return
	}
	w.uint(w.texts.add(s))
	w.uint(uint64(len(s)))
	w.blocks.buf = append(w.blocks.buf, s...)
}

// time writes a time. A time in UTC stays in UTC, any other becomes local.
func (w *writer) time(t *time.Time) {
	w.int(t.Unix() - w.epoch)
	local := uint64(0)
	if t.Location() != time.UTC {
		local = 1
	}
	w.uint(uint64(t.Nanosecond())<<1 | local) //nolint:gosec // less than a billion
}
