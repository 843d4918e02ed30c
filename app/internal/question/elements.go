// SPDX-License-Identifier: Apache-2.0

package question

import "slices"

// Elements are the texts of a list field, such as images. Statistics have a group for each.
type Elements struct{ field *Field }

// ElementsOf returns the elements of the list with this name, and false if there is no such list.
func ElementsOf(list string) (*Elements, bool) {
	f := byName[list]
	if f == nil || f.Type != List {
		return nil, false
	}
	return &Elements{f}, true
}

// Lists returns the names of the fields with a list, in the order of the documents.
func Lists() []string {
	var out []string
	for i := range fields {
		if fields[i].Type == List {
			out = append(out, fields[i].Name)
		}
	}
	return out
}

// Field returns the list.
func (e *Elements) Field() Field { return *e.field }

// Uses reports whether these are the elements of the field with this name.
func (e *Elements) Uses(field string) bool { return e.field.Name == field }

// Of returns the elements for a lifecycle, without repetitions. An empty list counts as one empty text.
func (e *Elements) Of(l *Lifecycle) []string {
	texts, _ := e.field.value(l).([]string)
	if len(texts) == 0 {
		return []string{""}
	}
	return slices.Clone(texts)
}
