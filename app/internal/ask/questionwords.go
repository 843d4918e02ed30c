// SPDX-License-Identifier: Apache-2.0

package ask

import (
	"regexp"
	"slices"
	"strings"

	"github.com/kube-lifeline/lifeline/app/internal/api"
	"github.com/kube-lifeline/lifeline/app/internal/kind"
	"github.com/kube-lifeline/lifeline/app/internal/store"
)

var (
	// comparedValue matches the end of a question after a field, a comparison and perhaps the beginning
	// of a value.
	comparedValue = regexp.MustCompile(`(\w+)\s*(?:==|!=)\s*("?)([\w./:-]*)$`)
	// fieldBegun matches the beginning of a name at the end of a question.
	fieldBegun = regexp.MustCompile(`(?:^|[\s(!&|+-])((?:(?:phase|began|ended)\.)?\w*)$`)
)

// QuestionWords completes a question: the name of a field, or a value of a field that has few. Each
// word is the whole question so far.
func QuestionWords(begun string) []string {
	var out []string
	if m := comparedValue.FindStringSubmatchIndex(begun); m != nil {
		field, value := begun[m[2]:m[3]], begun[m[6]:m[7]]
		before := begun[:m[4]]
		for _, v := range valuesOf(field) {
			if strings.HasPrefix(v, value) {
				out = append(out, before+`"`+v+`"`)
			}
		}
		return out
	}
	return fieldWords(begun, func(*api.Field) bool { return true })
}

// LengthWords completes an expression with a duration, as QuestionWords does.
func LengthWords(begun string) []string {
	return fieldWords(begun, func(f *api.Field) bool { return f.Type == "duration" || f.Type == "timestamp" })
}

// fieldWords completes the name of a field.
func fieldWords(begun string, wanted func(*api.Field) bool) []string {
	var out []string
	if m := fieldBegun.FindStringSubmatchIndex(begun); m != nil {
		before, name := begun[:m[2]], begun[m[2]:m[3]]
		for _, f := range api.QuestionFields() {
			if wanted(&f) && strings.HasPrefix(f.Name, name) {
				out = append(out, before+f.Name+"\t"+strings.ReplaceAll(f.Meaning, "`", ""))
			}
		}
	}
	return out
}

// valuesOf returns the values of a field, if they are few.
func valuesOf(field string) []string {
	if field == "kind" {
		var out []string
		for _, k := range kind.All() {
			out = append(out, k.Kind.Kind)
		}
		slices.Sort(out)
		return slices.Compact(out)
	}
	for _, f := range api.QuestionFields() {
		if f.Name == field {
			return f.Values
		}
	}
	return nil
}

// KeyWords completes the keys of groups, separated by commas.
func KeyWords(begun string) []string {
	keys := splitKeys(begun)
	last := keys[len(keys)-1]
	var out []string
	for _, name := range slices.Sorted(slices.Values(GroupFields())) {
		if strings.HasPrefix(name, last) && !slices.Contains(keys[:len(keys)-1], name) {
			out = append(out, strings.TrimSuffix(begun, last)+name)
		}
	}
	return out
}

// SortWords completes the value that lifecycles are sorted by.
func SortWords(begun string) []string {
	return fieldWords(begun, func(f *api.Field) bool { return slices.Contains(numberFields(), f.Name) })
}

// GroupFields returns the names that Find can group by.
func GroupFields() []string { return append(fieldsOf("string"), store.KeyNames()...) }

// numberFields returns the fields with a duration or a count.
func numberFields() []string { return append(LengthFields(), fieldsOf("int")...) }

// LengthFields returns the fields with a duration.
func LengthFields() []string { return fieldsOf("duration") }

func fieldsOf(kind string) []string {
	var out []string
	for _, f := range api.QuestionFields() {
		if f.Type == kind {
			out = append(out, f.Name)
		}
	}
	return out
}
