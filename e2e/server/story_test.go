// SPDX-License-Identifier: Apache-2.0

package server

import (
	"slices"
	"strings"
	"testing"

	"github.com/kube-lifeline/lifeline/e2e/internal/harness"
)

// story is what happens in two namespaces, step by step, and what a server has
// seen of it.
type story struct {
	*plain
	shop, pay string
	// seen are how many traces there were at the last step.
	seen int
}

// begin starts a server before anything happens.
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

// await waits until the server has so many traces more, of which all have ended
// but so many.
func (s *story) await(t *testing.T, more, open int) {
	t.Helper()
	s.seen += more
	harness.Eventually(t, "the traces of what was done", func() bool {
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

// failing waits until a trace tells of a failure, and all that there is to tell of
// it: a Deployment that gives up soon may do so before its Pod has come to a failure.
func (s *story) failing(t *testing.T) {
	t.Helper()
	harness.Eventually(t, "a trace that fails", func() bool {
		return slices.ContainsFunc(s.server.List(t, nil), func(one harness.Summary) bool {
			return one.Open && one.Outcome == "failed" && strings.Contains(one.Reason, "ImagePullBackOff") &&
				len(s.server.Trace(t, one.TraceID).Find("backoff", "")) > 0
		})
	})
}

// slows waits until a span of that name is the slowest of the newest trace.
func (s *story) slows(t *testing.T, name string) {
	t.Helper()
	harness.Eventually(t, "the newest trace being slowest in "+name, func() bool {
		return strings.HasPrefix(s.server.List(t, nil)[0].Slowest, name)
	})
}

// kubectl changes something in a namespace.
func (s *story) kubectl(t *testing.T, namespace string, args ...string) string {
	t.Helper()
	return strings.TrimSpace(bench.MustKubectl(t, "", append([]string{"-n", namespace}, args...)...))
}

// newest is the ID of the newest trace but so many.
func (s *story) newest(t *testing.T, but int) string {
	t.Helper()
	return s.server.List(t, nil)[but].TraceID
}
