// SPDX-License-Identifier: Apache-2.0

package relation

import "testing"

// BenchmarkKeys evaluates the example of the documentation for one object.
func BenchmarkKeys(b *testing.B) {
	r := compiled(b, ofDatabase)
	object := thing("a", "data-0", map[string]any{"labels": map[string]any{"example.com/db": "main"}})
	for b.Loop() {
		if _, ok := r.Caused(claim, object); !ok {
			b.Fatal("no key")
		}
	}
}
