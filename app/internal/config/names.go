// SPDX-License-Identifier: Apache-2.0

package config

import (
	"reflect"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"
)

// member is a field of a section, with its name in files.
type member struct {
	name  string
	index int
}

// members returns the fields of a section, in the order of the documentation.
func members(section reflect.Type) []member {
	out := make([]member, section.NumField())
	for i := range out {
		out[i] = member{name: section.Field(i).Tag.Get("json"), index: i}
	}
	return out
}

// isSection reports whether fields of type t are sections with fields in a file.
func isSection(t reflect.Type) bool {
	return t.Kind() == reflect.Struct && t.PkgPath() == reflect.TypeFor[ServerConfiguration]().PkgPath()
}

// isSections reports whether fields of type t are lists of sections.
func isSections(t reflect.Type) bool { return t.Kind() == reflect.Slice && isSection(t.Elem()) }

// each calls visit for every field that is not a section.
func each(path *field.Path, section reflect.Value, visit func(*field.Path, reflect.Value)) {
	for _, m := range members(section.Type()) {
		at, v := path.Child(m.name), section.Field(m.index)
		if isSection(v.Type()) {
			each(at, v, visit)
		} else {
			visit(at, v)
		}
	}
}

// didYouMean suggests a field for an unknown one. It is a field of the same section with a similar
// name, or one with the same name in another section. It returns an empty string without a
// suggestion.
func didYouMean(unknown string, section reflect.Type) string {
	best, least := "", 1+min(max(2, len(unknown)/3), 4)
	for _, m := range members(section) {
		if d := distance(strings.ToLower(unknown), strings.ToLower(m.name)); d < least {
			best, least = m.name, d
		}
	}
	if best == "" {
		best = elsewhere(unknown, nil, reflect.TypeFor[ServerConfiguration]())
	}
	if best == "" {
		return ""
	}
	return "; did you mean " + best + "?"
}

// elsewhere returns the path of a field with that name, or an empty string.
func elsewhere(name string, path *field.Path, section reflect.Type) string {
	for _, m := range members(section) {
		at := path.Child(m.name)
		if path != nil && strings.EqualFold(m.name, name) {
			return at.String()
		}
		if t := section.Field(m.index).Type; isSection(t) {
			if found := elsewhere(name, at, t); found != "" {
				return found
			}
		}
	}
	return ""
}

// distance is the Levenshtein distance of two texts. The first is cut to the length of the longest
// name.
func distance(a, b string) int {
	a = a[:min(len(a), 64)]
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			substituted := diagonal
			if a[i] != b[j] {
				substituted++
			}
			diagonal = row[j+1]
			row[j+1] = min(substituted, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}
