// SPDX-License-Identifier: Apache-2.0

package store

import "slices"

// Namespaces returns the namespaces that the caller may see, sorted; nil means all. Objects without a namespace are in
// none of them.
func (a Access) Namespaces() []string {
	if a.scope.Namespaces == nil {
		return nil
	}
	out := slices.DeleteFunc(slices.Clone(a.scope.Namespaces), func(ns string) bool { return ns == "" })
	slices.Sort(out)
	return out
}
