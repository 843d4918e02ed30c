// SPDX-License-Identifier: Apache-2.0

package operator

import (
	"encoding/json"
	"reflect"
	"strings"
	"sync"
)

// statusOf returns the status of a Go type by reflection. Every write needs it, and encoding the
// whole object as JSON would be expensive. It returns false if the result could differ from the
// JSON.
func statusOf(obj reflect.Value) (progress, bool) {
	var p progress
	status, ok := member(obj, "status")
	if !ok {
		return p, false
	}
	if p.observed, ok = number(status, "observedGeneration"); !ok {
		return p, false
	}
	conditions, ok := member(status, "conditions")
	if !ok {
		return p, false
	}
	if !conditions.IsValid() {
		return p, true
	}
	if conditions.Kind() != reflect.Slice {
		return p, false
	}
	for i := range conditions.Len() {
		c := conditions.Index(i)
		kind, sure := text(c, "type")
		status, sureToo := text(c, "status")
		observed, sureOfAll := number(c, "observedGeneration")
		if !sure || !sureToo || !sureOfAll {
			return p, false
		}
		p.take(kind, status, observed)
	}
	return p, true
}

func text(v reflect.Value, name string) (string, bool) {
	m, ok := member(v, name)
	if !ok || m.IsValid() && m.Kind() != reflect.String {
		return "", false
	}
	if !m.IsValid() {
		return "", true
	}
	return m.String(), true
}

func number(v reflect.Value, name string) (int64, bool) {
	m, ok := member(v, name)
	if !ok || m.IsValid() && !m.CanInt() {
		return 0, false
	}
	if !m.IsValid() {
		return 0, true
	}
	return m.Int(), true
}

var marshaler = reflect.TypeFor[json.Marshaler]()

// member returns a struct field by its JSON name; v may be a pointer. It returns the zero Value if
// there is none, and false if that is uncertain.
func member(v reflect.Value, name string) (reflect.Value, bool) {
	v = pointed(v)
	if !v.IsValid() {
		return v, true
	}
	if v.Kind() != reflect.Struct {
		return reflect.Value{}, false
	}
	f := fieldOf(v.Type(), name)
	switch {
	case f.unsure:
		return reflect.Value{}, false
	case f.index == nil:
		return reflect.Value{}, true
	}
	return pointed(v.FieldByIndex(f.index)), true
}

// pointed dereferences a pointer; nil gives the zero Value.
func pointed(v reflect.Value) reflect.Value {
	if v.Kind() == reflect.Pointer {
		return v.Elem()
	}
	return v
}

// field is the position of a JSON name in a struct type.
type field struct {
	index  []int // nil means none
	unsure bool
}

// fields caches the results of fieldOf by type and name.
var fields sync.Map

type fieldKey struct {
	of   reflect.Type
	name string
}

func fieldOf(t reflect.Type, name string) field {
	if f, ok := fields.Load(fieldKey{t, name}); ok {
		return f.(field)
	}
	f := findField(t, name)
	fields.Store(fieldKey{t, name}, f)
	return f
}

// findField searches the fields and inlined structs. Two fields with the same name make the result
// unsure. So do types with a custom JSON encoding.
func findField(t reflect.Type, name string) field {
	found := field{unsure: reflect.PointerTo(t).Implements(marshaler)}
	for i := range t.NumField() {
		f := t.Field(i)
		tag, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		var here field
		switch {
		case f.Anonymous && tag == "" && f.Type.Kind() == reflect.Struct:
			here = findField(f.Type, name)
			if here.index != nil {
				here.index = append([]int{i}, here.index...)
			}
		case f.Anonymous && tag == "", tag == "" && strings.EqualFold(f.Name, name):
			here.unsure = true
		case tag == name && f.IsExported():
			here.index, here.unsure = []int{i}, reflect.PointerTo(f.Type).Implements(marshaler) ||
				f.Type.Implements(marshaler)
		}
		if found.index != nil && here.index != nil {
			found.unsure = true
		}
		if here.index != nil {
			found.index = here.index
		}
		found.unsure = found.unsure || here.unsure
	}
	return found
}
