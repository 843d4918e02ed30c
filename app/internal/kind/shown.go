// SPDX-License-Identifier: Apache-2.0

package kind

import "slices"

// shownOfPods returns the fields of a Pod, or of its template, whose values may be shown. They hold names,
// numbers and quantities, never an argument or a variable.
func shownOfPods(parent string) []string {
	var out []string
	for _, field := range []string{
		"metadata.labels", "spec.nodeSelector", "spec.resources",
		"spec.containers.image", "spec.containers.resources", "spec.containers.ports",
		"spec.initContainers.image", "spec.initContainers.resources", "spec.initContainers.ports",
		"spec.ephemeralContainers.image",
	} {
		out = append(out, parent+field)
	}
	return out
}

// shownOfTemplate returns the fields given, and those of a template of Pods at "spec.template".
func shownOfTemplate(fields ...string) []string {
	return append(fields, shownOfPods("spec.template.")...)
}

// Shows reports whether the values of the field at path may be shown. path has no keys of list items.
func (k *Kind) Shows(path []byte) bool {
	if below(path, "metadata.labels") {
		return k.Resource != "" && !k.MetadataOnly // a label of a Secret may repeat its content
	}
	return Below(path, k.Shown)
}

// Below reports whether the path, without keys of list items, is one of the fields, or below one.
func Below(path []byte, fields []string) bool {
	return slices.ContainsFunc(fields, func(field string) bool { return below(path, field) })
}

func below(path []byte, field string) bool {
	n := len(field)
	return len(path) >= n && string(path[:n]) == field && (len(path) == n || path[n] == '.')
}
