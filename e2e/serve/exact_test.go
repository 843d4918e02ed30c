// SPDX-License-Identifier: Apache-2.0

package serve

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/kube-lifeline/lifeline/e2e/internal/harness"
)

// exact checks that the backend's traces are identical to the store's, to the last attribute and
// nanosecond. The store has the latest version of a span, and the backend the sent one. They are
// the same, because a span is sent after its end.
func exact(t *testing.T, stored, sent map[string]*harness.Trace) {
	t.Helper()
	bad := 0
	for _, id := range harness.IDs(stored) {
		if sent[id] == nil {
			t.Errorf("trace %s did not reach the backend:\n%s", id, outline(stored[id]))
			continue
		}
		diff := cmp.Diff(
			byID(stored[id]),
			byID(sent[id]),
			cmpopts.EquateEmpty(),
			cmpopts.IgnoreFields(harness.Span{}, "Came", "Sender"),
		)
		if diff == "" {
			continue
		}
		if bad++; bad <= 5 {
			t.Errorf("trace %s (-store +backend):\n%s", id, diff)
		}
	}
	if bad > 0 {
		t.Errorf("%d traces differ between store and backend", bad)
	}
}

// replayed logs the number of replayed observations at the starts of a server.
func replayed(t *testing.T, s *harness.Server) {
	t.Helper()
	starts, most, total := 0, 0.0, 0.0
	for _, l := range s.Lines() {
		if l.Message() != "journal opened" {
			continue
		}
		n, _ := l["replayed"].(float64)
		starts++
		most, total = max(most, n), total+n
	}
	t.Logf("%d starts replayed %.0f observations, at most %.0f", starts, total, most)
}
