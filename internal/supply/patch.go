// SPDX-License-Identifier: Apache-2.0

package supply

import (
	"maps"
	"slices"
	"strings"
)

// Operation is one operation of a JSON patch (RFC 6902).
type Operation struct {
	Op    string `json:"op"`
	Path  string `json:"path"`
	Value any    `json:"value,omitzero"`
}

// pointer escapes one segment of a JSON pointer (RFC 6901).
var pointer = strings.NewReplacer("~", "~0", "/", "~1")

// Path returns the JSON pointer of an annotation.
func Path(annotation string) string { return "/metadata/annotations/" + pointer.Replace(annotation) }

// Patch returns the JSON patch from one set of annotations to another; before is nil if the object
// has none.
func Patch(before, after map[string]string) []Operation {
	var out []Operation
	if before == nil && len(after) > 0 {
		out = append(out, Operation{Op: "add", Path: "/metadata/annotations", Value: map[string]string{}})
	}
	for _, k := range slices.Sorted(maps.Keys(after)) {
		if was, had := before[k]; !had || was != after[k] {
			out = append(out, Operation{Op: "add", Path: Path(k), Value: after[k]})
		}
	}
	for _, k := range slices.Sorted(maps.Keys(before)) {
		if _, kept := after[k]; !kept {
			out = append(out, Operation{Op: "remove", Path: Path(k)})
		}
	}
	return out
}
