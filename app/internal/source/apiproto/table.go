// SPDX-License-Identifier: Apache-2.0

package apiproto

import (
	"errors"
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"

	"google.golang.org/protobuf/encoding/protowire"
)

// maxNumber is the highest field number of a table. Those of Kubernetes are below it.
const maxNumber = 63

// table holds the fields of a message.
type table struct {
	byNumber [maxNumber + 1]*field
	// always are the fields that are in the JSON even if they are not in the message.
	always []*field
	// size is the number of fields in the last message.
	size atomic.Int64
}

// field is one field of a message.
type field struct {
	// name is the name in JSON.
	name   string
	number protowire.Number
	form   form
	wire   protowire.Type
	// value decodes the field, an item of a list, or a value of a map.
	value value
	// inline is the table of a message whose fields belong to the object around it; else nil.
	inline *table
	// zeros is true if the JSON contains the field although its value is zero. omitempty is the option of
	// its JSON tag.
	zeros, omitempty bool
	// optional is true if the zero value of the field is null.
	optional bool
}

// form is the form of a field in JSON.
type form int

const (
	single form = iota
	repeated
	mapped
)

// registry holds the tables by Go type.
type registry struct {
	mu     sync.Mutex
	byType map[reflect.Type]*table
	// ready holds the same tables when they are complete.
	ready sync.Map
}

var tables = registry{byType: map[reflect.Type]*table{}}

// of returns the table of a Go type. The protobuf tags of its fields have their numbers, and the JSON
// tags their names.
func (r *registry) of(t reflect.Type) (*table, error) {
	if ready, found := r.ready.Load(t); found {
		return ready.(*table), nil //nolint:forcetypeassert // the map has nothing else
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	out, err := r.build(t)
	if err != nil {
		clear(r.byType) // of incomplete tables
		return nil, err
	}
	r.ready.Store(t, out)
	return out, nil
}

// build returns the table of a Go type. It may be incomplete until the outermost build returns, if a
// type contains itself.
func (r *registry) build(t reflect.Type) (*table, error) {
	if known := r.byType[t]; known != nil {
		return known, nil
	}
	out := &table{}
	r.byType[t] = out
	_, whole := t.FieldByName("TypeMeta")
	for i := range t.NumField() {
		f, err := r.field(t.Field(i))
		if err != nil {
			return nil, fmt.Errorf("%v.%s: %w", t, t.Field(i).Name, err)
		}
		if f == nil {
			continue
		}
		if whole && f.name == "spec" {
			f.value.bytes = kept(f.value.bytes) // most versions of an object differ in their status only
		}
		out.byNumber[f.number] = f
		if f.zeros && (!f.optional || !f.omitempty) {
			out.always = append(out.always, f)
		}
	}
	return out, nil
}

// field returns the field of a Go struct, or nil for one without a protobuf tag, such as the TypeMeta.
func (r *registry) field(of reflect.StructField) (*field, error) {
	tag, found := of.Tag.Lookup("protobuf")
	if !found || tag == "-" {
		return nil, nil //nolint:nilnil // none
	}
	parts := strings.SplitN(tag, ",", 3)
	if len(parts) < 2 {
		return nil, fmt.Errorf("protobuf tag %q", tag)
	}
	number, err := strconv.Atoi(parts[1])
	if err != nil || number < 1 || number > maxNumber {
		return nil, fmt.Errorf("field number %q", parts[1])
	}
	name, options, _ := strings.Cut(of.Tag.Get("json"), ",")
	f := &field{name: name, number: protowire.Number(number), wire: protowire.BytesType}
	t := of.Type
	if f.optional = t.Kind() == reflect.Pointer; f.optional {
		t = t.Elem()
	}
	f.omitempty = strings.Contains(options, "omitempty")
	f.zeros = f.optional || !f.omitempty
	switch {
	case isSpecial(t):
		f.zeros = f.zeros || t.Kind() == reflect.Struct && !strings.Contains(options, "omitzero")
	case t.Kind() == reflect.Struct && name == "":
		f.zeros = !f.optional
		f.inline, err = r.build(t)
		return f, err
	case t.Kind() == reflect.Struct:
		f.zeros = true
		if strings.Contains(options, "omitzero") {
			return nil, fmt.Errorf("omitzero of %v", t)
		}
	case t.Kind() == reflect.Slice && t.Elem().Kind() != reflect.Uint8:
		f.form, t = repeated, t.Elem()
	case t.Kind() == reflect.Slice:
		f.optional = true // nil is null
	case t.Kind() == reflect.Map && t.Key().Kind() == reflect.String:
		f.form, t = mapped, t.Elem()
	}
	if f.form != single && t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if name == "" {
		return nil, errors.New("no JSON name")
	}
	if f.value, err = r.value(t); f.form != mapped {
		f.wire = f.value.wire
	}
	return f, err
}
