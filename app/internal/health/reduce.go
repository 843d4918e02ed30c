// SPDX-License-Identifier: Apache-2.0

package health

import (
	"maps"
	"slices"
)

// Reduced returns obj with the valid part of its status: of several conditions of one type the
// newest, and no parents to which the object no longer refers. It does not change obj, and returns
// obj itself if all of its status is valid.
func Reduced(obj map[string]any) map[string]any {
	status := sub(obj, "status")
	reduced := maps.Clone(status)
	changed := false
	if list := items(status, "conditions"); len(list) > 1 {
		if newest := newestOfType(list); len(newest) < len(list) {
			reduced["conditions"], changed = newest, true
		}
	}
	parents := items(status, "parents")
	if referenced := referencedParents(parents, obj); len(referenced) < len(parents) {
		reduced["parents"], changed = referenced, true
	}
	if !changed {
		return obj
	}
	out := maps.Clone(obj)
	out["status"] = reduced
	return out
}

// newestOfType returns the condition of each type with the latest transition, in order. Of equal times,
// the last one in the list counts.
func newestOfType(list []any) []any {
	newest := map[string]int{}
	for i, item := range list {
		c, _ := item.(fields)
		typ := raw(c, "type")
		at, known := newest[typ]
		if before, _ := list[max(at, 0)].(fields); !known || !moment(c).Before(moment(before)) {
			newest[typ] = i
		}
	}
	var out []any
	for i, item := range list {
		c, _ := item.(fields)
		if newest[raw(c, "type")] == i {
			out = append(out, item)
		}
	}
	return out
}

// referencedParents returns the parents in a status that spec.parentRefs names. Without that field, it
// returns all: the kind has another one for them.
func referencedParents(list []any, obj fields) []any {
	refs := items(sub(obj, "spec"), "parentRefs")
	if len(refs) == 0 {
		return list
	}
	namespace := raw(sub(obj, "metadata"), "namespace")
	return slices.DeleteFunc(slices.Clone(list), func(item any) bool {
		parent, _ := item.(fields)
		of := sub(parent, "parentRef")
		return of != nil && !slices.ContainsFunc(refs, func(ref any) bool {
			want, _ := ref.(fields)
			return sameParent(of, want, namespace)
		})
	})
}

// sameParent reports whether the parent of a status is that of a reference. A reference without a
// section or port stands for all of them.
func sameParent(of, want fields, namespace string) bool {
	for key, otherwise := range map[string]string{
		"group": "gateway.networking.k8s.io", "kind": "Gateway", "namespace": namespace, "name": "",
	} {
		if text(of, key, otherwise) != text(want, key, otherwise) {
			return false
		}
	}
	for _, key := range []string{"sectionName", "port"} {
		if want[key] != nil && of[key] != want[key] {
			return false
		}
	}
	return true
}

// text returns the text at key, or otherwise if it is absent.
func text(m fields, key, otherwise string) string {
	if v, there := m[key].(string); there {
		return v
	}
	return otherwise
}
