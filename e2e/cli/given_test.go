// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kube-lifeline/lifeline/e2e/internal/harness"
)

// configMap is a manifest of one; data is a line such as "a: b".
func configMap(namespace, name, data string) string {
	return fmt.Sprintf("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: %s, namespace: %s}\ndata: {%s}\n", name, namespace, data)
}

// outline compares the traces of a result with what was written by hand.
func outline(t *testing.T, r harness.Result, want ...string) {
	t.Helper()
	outlineWith(t, harness.Names{}, r, want...)
}

func outlineWith(t *testing.T, names harness.Names, r harness.Result, want ...string) {
	t.Helper()
	var got []string
	for _, tr := range r.Traces {
		got = append(got, names.Outline(tr))
		if orphans := tr.Orphans(); len(orphans) > 0 {
			t.Errorf("trace %s has %d orphans, the first %s %s", tr.ID, len(orphans), orphans[0].Name, orphans[0].Object())
		}
	}
	for i := range want {
		want[i] = strings.TrimPrefix(want[i], "\n")
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("traces (-want +got):\n%s\nstderr:\n%s", diff, r.Stderr)
	}
}

// namedOutline is outline where controllers have made up names.
func namedOutline(t *testing.T, namespace string, r harness.Result, want ...string) {
	t.Helper()
	outlineWith(t, bench.NamesIn(t, namespace), r, want...)
}
