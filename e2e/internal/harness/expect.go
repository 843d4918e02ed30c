// SPDX-License-Identifier: Apache-2.0

package harness

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Expect compares the outlines of a result's traces, one for each, with what
// was written by hand, and reports spans whose parents are missing.
func (n Names) Expect(t testing.TB, r Result, want ...string) {
	t.Helper()
	var got []string
	for _, tr := range r.Traces {
		got = append(got, n.Outline(tr))
		if orphans := tr.Orphans(); len(orphans) > 0 {
			t.Errorf("trace %s has %d orphans, the first %s %s",
				tr.ID, len(orphans), orphans[0].Name, orphans[0].Object())
		}
	}
	for i := range want {
		want[i] = strings.TrimPrefix(want[i], "\n")
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("traces (-want +got):\n%s\nstderr:\n%s", diff, r.Stderr)
	}
}

// Expect is that of Names, with the names of the oracle's namespace.
func (o *Oracle) Expect(t testing.TB, r Result, want ...string) {
	t.Helper()
	o.Names(t).Expect(t, r, want...)
}
