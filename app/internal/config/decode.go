// SPDX-License-Identifier: Apache-2.0

package config

import (
	"fmt"
	"reflect"
	"regexp"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// decoder decodes a file into a configuration. encoding/json has no line numbers, stops at the
// first error, and matches field names in any case.
type decoder struct {
	// lines are the line numbers of fields and list elements, by path.
	lines map[string]int
	wrong []problem
}

// problem is one error; line is 0 for a field outside the file.
type problem struct {
	line int
	err  *field.Error
}

// wholeSize matches sizes in a file. Quantities also allow fractions of a byte, and exponents whose
// digits take too long to write out.
var wholeSize = regexp.MustCompile(`^[0-9]{1,18}(\.[0-9]{1,9})?(k|M|G|T|P|E|Ki|Mi|Gi|Ti|Pi|Ei)?$`)

func (d *decoder) reject(n *yaml.Node, err *field.Error) {
	d.wrong = append(d.wrong, problem{n.Line, err})
}

// mismatch rejects a value of the wrong type.
func (d *decoder) mismatch(n *yaml.Node, path *field.Path, wanted string) {
	d.reject(n, field.Invalid(path, shown(n), "must be "+wanted))
}

// section decodes a mapping into a struct.
func (d *decoder) section(n *yaml.Node, path *field.Path, into reflect.Value) {
	known := map[string]int{}
	for _, m := range members(into.Type()) {
		known[m.name] = m.index
	}
	seen := map[string]int{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, value := n.Content[i], n.Content[i+1]
		at := path.Child(named(key))
		index, ok := known[key.Value]
		switch {
		case key.Kind != yaml.ScalarNode || !ok:
			d.reject(key, field.Forbidden(at, "unknown field"+didYouMean(key.Value, into.Type())))
		case seen[key.Value] != 0:
			d.reject(key, field.Forbidden(at, fmt.Sprintf("given twice, first on line %d", seen[key.Value])))
		default:
			seen[key.Value] = key.Line
			d.lines[at.String()] = key.Line
			d.value(value, at, into.Field(index))
		}
	}
}

// value decodes a node into a field; null leaves the field unchanged.
func (d *decoder) value(n *yaml.Node, path *field.Path, into reflect.Value) {
	if n.Kind == yaml.AliasNode || n.Anchor != "" {
		d.reject(n, field.Forbidden(path, "anchors and aliases are not supported: write the value out"))
		return
	}
	if n.ShortTag() == "!!null" {
		return
	}
	if isSection(into.Type()) {
		if n.Kind != yaml.MappingNode {
			d.mismatch(n, path, "a section with the fields "+names(into.Type()))
			return
		}
		d.section(n, path, into)
		return
	}
	if isSections(into.Type()) {
		d.sections(n, path, into)
		return
	}
	if list, ok := into.Addr().Interface().(*[]string); ok {
		d.list(n, path, list)
		return
	}
	if n.Kind != yaml.ScalarNode {
		d.mismatch(n, path, "one value")
		return
	}
	d.scalar(n, path, into.Addr().Interface())
}

func (d *decoder) list(n *yaml.Node, path *field.Path, into *[]string) {
	if n.Kind != yaml.SequenceNode {
		d.mismatch(n, path, "a list, such as [a, b]")
		return
	}
	*into = make([]string, len(n.Content))
	for i, element := range n.Content {
		at := path.Index(i)
		d.lines[at.String()] = element.Line
		if element.Kind == yaml.ScalarNode && element.ShortTag() == "!!null" {
			d.mismatch(element, at, "a string")
			continue
		}
		d.value(element, at, reflect.ValueOf(&(*into)[i]).Elem())
	}
}

// sections decodes a list of mappings into a slice of structs.
func (d *decoder) sections(n *yaml.Node, path *field.Path, into reflect.Value) {
	if n.Kind != yaml.SequenceNode {
		d.mismatch(n, path, "a list of sections with the fields "+names(into.Type().Elem()))
		return
	}
	into.Set(reflect.MakeSlice(into.Type(), len(n.Content), len(n.Content)))
	for i, element := range n.Content {
		at := path.Index(i)
		d.lines[at.String()] = element.Line
		if element.ShortTag() == "!!null" {
			d.mismatch(element, at, "a section with the fields "+names(into.Type().Elem()))
			continue
		}
		d.value(element, at, into.Index(i))
	}
}

func (d *decoder) scalar(n *yaml.Node, path *field.Path, into any) {
	wanted, ok := "", false
	switch into := into.(type) {
	case *string:
		wanted, ok = "a string: put it in quotes", n.ShortTag() == "!!str"
		if ok {
			*into = n.Value
		}
	case *bool:
		wanted, ok = "true or false", n.ShortTag() == "!!bool" && n.Decode(into) == nil
	case *int:
		wanted, ok = "a whole number", n.ShortTag() == "!!int" && n.Decode(into) == nil
	case *metav1.Duration:
		parsed, err := time.ParseDuration(n.Value)
		wanted, ok = "a duration, such as 500ms, 30s or 1h30m", err == nil
		if ok {
			into.Duration = parsed
		}
	case *resource.Quantity:
		wanted, ok = "a size in bytes, such as 500Mi or 10Gi", wholeSize.MatchString(n.Value)
		if ok {
			parsed, err := resource.ParseQuantity(n.Value)
			ok, *into = err == nil, parsed
		}
	}
	if !ok {
		d.mismatch(n, path, wanted)
	}
}

func names(section reflect.Type) string {
	var out []string
	for _, m := range members(section) {
		out = append(out, m.name)
	}
	return strings.Join(out, ", ")
}

// shown returns a value as messages repeat it.
func shown(n *yaml.Node) string {
	switch n.Kind {
	case yaml.MappingNode:
		return "{…}"
	case yaml.SequenceNode:
		return "[…]"
	}
	return shorten(n.Value)
}

// named returns a key as part of a path.
func named(key *yaml.Node) string {
	if key.Kind != yaml.ScalarNode {
		return "…"
	}
	return printable(key.Value)
}
