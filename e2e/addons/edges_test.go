// SPDX-License-Identifier: Apache-2.0

package addons

import (
	"regexp"
	"testing"

	"github.com/kube-lifeline/lifeline/e2e/internal/harness"
)

// generated is the generated end of a name. Each becomes a star.
var generated = regexp.MustCompile(`(-[bcdfghjklmnpqrstvwxz2456789]{5,10}){1,2}$`)

// edges counts the reconciliations in traces by object and parent: "Secret web-tls < Certificate web",
// or "Issuer ca <" for a root.
func edges(traces []*harness.Trace) map[string]int {
	out := map[string]int{}
	for _, tr := range traces {
		byID := map[string]*harness.Span{}
		for _, s := range tr.Spans {
			byID[s.ID] = s
		}
		for _, s := range tr.Spans {
			if s.Outcome() == "" {
				continue
			}
			edge := subject(s) + " <"
			if up := byID[s.Parent]; up != nil {
				edge += " " + subject(up)
			}
			out[edge]++
		}
	}
	return out
}

func subject(s *harness.Span) string {
	return s.Kind() + " " + generated.ReplaceAllString(s.Object(), "-*")
}

// expect checks the numbers of edges. Those that are not in want may exist.
func expect(t *testing.T, traces []*harness.Trace, want map[string]int) {
	t.Helper()
	got := edges(traces)
	for edge, n := range want {
		if got[edge] != n {
			t.Errorf("%q: %d times, want %d", edge, got[edge], n)
		}
	}
	if t.Failed() {
		for _, tr := range traces {
			t.Log(harness.Names{}.Outline(tr))
		}
	}
}
