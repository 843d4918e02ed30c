// SPDX-License-Identifier: Apache-2.0

package api

import (
	"testing"

	"github.com/kube-lifeline/lifeline/app/internal/span"
)

// TestLately: the values are bounded by their weights, and the last used ones stay.
func TestLately(t *testing.T) {
	kept := lately[string]{max: 100}
	put := func(name string, weight int) { kept.put(span.DeriveTraceID(name), name, weight) }
	want := func(names ...string) {
		t.Helper()
		for _, name := range names {
			if got, found := kept.get(span.DeriveTraceID(name)); !found || got != name {
				t.Errorf("%s is not there", name)
			}
		}
		if len(kept.used) != len(names) {
			t.Errorf("%d values, want %d", len(kept.used), len(names))
		}
	}
	put("a", 50)
	put("b", 50)
	want("b", "a")
	put("c", 50)
	want("a", "c")
	put("c", 10)
	put("d", 40)
	want("a", "c", "d")
	put("e", 101)
	want()
}
