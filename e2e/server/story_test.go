// SPDX-License-Identifier: Apache-2.0

package server

import (
	"strings"
	"testing"

	"github.com/kube-lifeline/lifeline/e2e/internal/harness"
)

// story is a series of changes in two namespaces, with a server that observes them.
type story struct {
	*plain
	shop, pay string
	// seen is the number of traces at the last step.
	seen int
}

// begin starts a server before the first change.
func begin(t *testing.T) *story {
	t.Helper()
	s := &story{shop: bench.Namespace(t), pay: bench.Namespace(t)}
	s.plain = &plain{
		server:     serve(t, harness.ServerOptions{}),
		namespaces: map[string]string{s.shop: "shop", s.pay: "pay"},
		traces:     map[string]int{},
	}
	return s
}

// await waits until the server has that number of traces more, and exactly open traces are open.
func (s *story) await(t *testing.T, more, open int) {
	t.Helper()
	s.seen += more
	harness.Eventually(t, "the traces of the changes", func() bool {
		all := s.server.List(t, nil)
		if len(all) > s.seen {
			t.Fatalf("the server has %d traces, want %d: %+v", len(all), s.seen, all)
		}
		going := 0
		for _, one := range all {
			if one.Open {
				going++
			}
		}
		return len(all) == s.seen && going == open
	})
	s.number(t)
}

// fails waits until the newest trace has failed, with the Pod's reason and its backoff.
func (s *story) fails(t *testing.T) {
	t.Helper()
	harness.Eventually(t, "a failed trace with backoff", func() bool {
		newest := s.server.List(t, nil)[0]
		return newest.Outcome == "failed" && strings.Contains(newest.Reason, "cannot pull image") &&
			len(s.server.Trace(t, newest.TraceID).Find("backoff", "")) > 0
	})
}

// lists waits until the list has a text about the newest trace of the object.
func (s *story) lists(t *testing.T, namespace, of, name string) {
	t.Helper()
	var list string
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("the last list of %s:\n%s", of, list)
		}
	})
	harness.Eventually(t, name+" in the list of "+of, func() bool {
		list = bench.Do(t, asking(s.server, "ls", of, "-n", namespace, "--limit", "1")).Stdout
		return strings.Contains(list, name)
	})
}

// kubectl runs kubectl in a namespace, and returns its output without surrounding blanks.
func (s *story) kubectl(t *testing.T, namespace string, args ...string) string {
	t.Helper()
	return strings.TrimSpace(bench.MustKubectl(t, "", append([]string{"-n", namespace}, args...)...))
}

// newest returns the ID of the newest trace, after skipping but newer ones.
func (s *story) newest(t *testing.T, but int) string {
	t.Helper()
	return s.server.List(t, nil)[but].TraceID
}
