// SPDX-License-Identifier: Apache-2.0

package question

import (
	"fmt"
	"slices"
	"strings"

	"cel.dev/cel-go/common/ast"
)

// in builds membership of a literal list, a list or the keys of a map.
func (b *builder) in(e ast.Expr, args []ast.Expr) (node, *Error) {
	if len(args) != 2 {
		return b.fault(e, "in needs two operands", "")
	}
	of, err := b.inside(args[0])
	if err != nil {
		return nil, err
	}
	if f := b.collection(args[1]); f != nil {
		if of.kind() != String {
			return b.fault(e, fmt.Sprintf("%s has strings only, no %s", f.Name, of.kind()), "")
		}
		return member{f, of}, nil
	}
	// NULL IN () is false in SQL, and CEL itself evaluates such a list in two ways.
	if args[1].Kind() != ast.ListKind || args[1].AsList().Size() == 0 {
		return b.fault(args[1], "in needs a literal list that is not empty, "+collections(" or ", List, Map),
			`write kind in ["Pod", "Job"]`)
	}
	var values []constant
	for _, a := range args[1].AsList().Elements() {
		n, err := b.value(a)
		if err != nil {
			return nil, err
		}
		c, is := n.(constant)
		if !is || c.of != of.kind() {
			return b.fault(a, fmt.Sprintf("the list of in needs literals, here of the type %s", of.kind()), "")
		}
		if err := b.possible(a, of, c); err != nil {
			return nil, err
		}
		values = append(values, c)
	}
	return oneOf{of, values}, nil
}

// size builds the number of elements or keys.
func (b *builder) size(e ast.Expr, args []ast.Expr) (node, *Error) {
	if len(args) == 1 {
		if f := b.collection(args[0]); f != nil {
			return size{f}, nil
		}
	}
	return b.fault(e, "size is supported for "+collections(" and ", List, Map)+" only", "")
}

// index builds labels[key].
func (b *builder) index(e ast.Expr, args []ast.Expr) (node, *Error) {
	if len(args) != 2 {
		return b.fault(e, "[] needs one key", "")
	}
	f := b.collection(args[0])
	if f == nil || f.Type != Map {
		return b.fault(e, "[] is supported for "+collections(" and ", Map)+" only",
			`for images, write images.exists(i, i.contains("nginx"))`)
	}
	key, err := b.inside(args[1])
	if err != nil {
		return nil, err
	}
	if key.kind() != String {
		return b.fault(args[1], fmt.Sprintf("the key of a label is a string, not %s", key.kind()), "")
	}
	return lookup{f, key}, nil
}

// collections returns the names of the fields of these types, with a word before the last.
func collections(word string, types ...Type) string {
	var out []string
	for _, f := range fields {
		if slices.Contains(types, f.Type) {
			out = append(out, f.Name)
		}
	}
	last := len(out) - 1
	if last < 1 {
		return strings.Join(out, "")
	}
	return strings.Join(out[:last], ", ") + word + out[last]
}
