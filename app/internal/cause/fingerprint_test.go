// SPDX-License-Identifier: Apache-2.0

package cause

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
)

// memos are the fields with results that are computed on first use. They do not belong to the state of a Scene.
var memos = map[string]bool{
	"cause.Scene.places": true, "cause.Scene.roles": true, "change.Audits.Joined": true,
	"change.Reconciliation.Start":   true,
	"change.Reconciliation.arrived": true, "change.Reconciliation.ArrivedFrom": true,
	"change.Reconciliation.arrivedParts": true, "change.Reconciliation.SpanID": true,
	"index.lookups.names": true, "index.Index.shared": true, "time.Time.loc": true,
	"placed.Changes.recs": true, "placed.Changes.instants": true,
}

// fingerprint returns all values that can be reached from the roots, one a line.
func fingerprint(roots ...any) string {
	f := &printer{seen: map[uintptr]int{}}
	for i, r := range roots {
		f.print(fmt.Sprint(i), reflect.ValueOf(r))
	}
	return f.String()
}

// printer writes values. seen are the pointers written so far.
type printer struct {
	strings.Builder
	seen map[uintptr]int
}

func (f *printer) print(path string, v reflect.Value) {
	switch v.Kind() {
	case reflect.Pointer:
		n, known := f.seen[v.Pointer()]
		if !known && !v.IsNil() {
			n = len(f.seen) + 1
			f.seen[v.Pointer()] = n
			f.print(path, v.Elem())
		}
		fmt.Fprintf(f, "%s -> %d\n", path, n)
	case reflect.Interface:
		f.print(path, v.Elem())
	case reflect.Struct:
		for i := range v.NumField() {
			if name := v.Type().Field(i).Name; !memos[v.Type().String()+"."+name] {
				f.print(path+"."+name, v.Field(i))
			}
		}
	case reflect.Slice, reflect.Array:
		for i := range v.Len() {
			f.print(fmt.Sprintf("%s[%d]", path, i), v.Index(i))
		}
		fmt.Fprintf(f, "%s has %d\n", path, v.Len())
	case reflect.Map:
		keys := map[string]reflect.Value{}
		var order []string
		for it := v.MapRange(); it.Next(); {
			key := &printer{seen: map[uintptr]int{}}
			key.print("", it.Key())
			keys[key.String()], order = it.Value(), append(order, key.String())
		}
		slices.Sort(order)
		for i, k := range order {
			f.print(fmt.Sprintf("%s{%d}", path, i), keys[k])
		}
		fmt.Fprintf(f, "%s has keys %q\n", path, order)
	case reflect.Func, reflect.Chan, reflect.UnsafePointer, reflect.Invalid:
	default:
		fmt.Fprintf(f, "%s = %v\n", path, v)
	}
}
