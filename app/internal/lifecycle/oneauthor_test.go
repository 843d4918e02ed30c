// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kube-lifeline/lifeline/app/internal/change"
	"github.com/kube-lifeline/lifeline/app/internal/kind"
	"github.com/kube-lifeline/lifeline/app/internal/observation"
	"github.com/kube-lifeline/lifeline/app/internal/span"
)

// told is a story with the right traces, links and authors.
type told struct {
	reason string
	tell   func(*story)
	want   string
	links  []string
	// authors are compared unless nil.
	authors []string
}

// tellStories compares each story with its traces: at the end, with a look every second, and in any order.
func tellStories(t *testing.T, stories map[string]told) {
	t.Helper()
	for name, tc := range stories {
		t.Run(name, func(t *testing.T) {
			s := newStory()
			tc.tell(s)
			for how, traces := range map[string][]*span.Trace{
				"at the end": observe(s.seen).Traces(s.now().Add(time.Minute)), "with a look every second": looks(s),
			} {
				slices.SortStableFunc(traces, func(a, b *span.Trace) int {
					return a.Root().Start.Compare(b.Root().Start.Time)
				})
				if diff := cmp.Diff(tc.want, plain(traces)); diff != "" {
					t.Errorf("%s, %s: -want +got:\n%s", tc.reason, how, diff)
				}
				if diff := cmp.Diff(tc.links, linksOf(traces)); diff != "" {
					t.Errorf("%s, %s: links: -want +got:\n%s", tc.reason, how, diff)
				}
				if diff := cmp.Diff(tc.authors, authorsOf(traces)); tc.authors != nil && diff != "" {
					t.Errorf("%s, %s: authors: -want +got:\n%s", tc.reason, how, diff)
				}
			}
			inAnyOrder(t, s, outline)
		})
	}
}

// TestOneAuthor: the user of the audit log is the author, and without it the field manager.
func TestOneAuthor(t *testing.T) {
	const first, second = "system:serviceaccount:a:operator", "system:serviceaccount:b:operator"
	as := func(user string, edits ...func(*observation.Write)) func(*observation.Write) {
		return func(w *observation.Write) {
			w.User, w.UserAgent, w.Manager = user, "manager/v1", "manager"
			for _, e := range edits {
				e(w)
			}
		}
	}
	status := func(w *observation.Write) { w.Subresource = "status" }
	tellStories(t, map[string]told{
		"TwoUsers": {reason: "two operators share the name of their program", tell: func(s *story) {
			s.write("head", custom("Head"), by("user-a"))
			s.write("head", managed("manager", "status"), func(st *observation.State) { st.ObservedGeneration = 1 })
			s.audited("head", "update", as(first, status))
			s.write("head", changed, managed("manager", ""))
			s.audited("head", "update", as(second))
			s.write("head", arrived)
		}, want: `trace 0 superseded
  reconcile Head head superseded
    update Head head (request)
trace 1 converged
  reconcile Head head converged ~previous
    update Head head (request)
`, links: []string{"Head head of 1: previous Head head of 0"},
			authors: []string{"Head head: user-a ", "Head head: manager " + second}},
		"OneUser": {reason: "an operator completes its object", tell: func(s *story) {
			s.write("head", custom("Head"), by("user-a"))
			s.write("head", managed("manager", "status"), func(st *observation.State) { st.ObservedGeneration = 1 })
			s.audited("head", "update", as(first, status))
			s.write("head", changed, managed("manager", ""))
			s.audited("head", "update", as(first))
			s.write("head", arrived)
		}, want: `trace 0 converged
  reconcile Head head converged
    update Head head (request)
    update Head head (request)
`},
		"CreationByAPerson": {reason: "a person gives an object an owner", tell: func(s *story) {
			s.write("head", custom("Head"), by("user-a"))
			s.write("head", managed("head-controller", "status"), arrived)
			s.audited("head", "update", as(first, status))
			s.wait(time.Minute)
			s.write("head", changed, by("user-a"))
			s.write("web", childOf("Head", "head", "Leaf"), by("kubectl-create"))
			s.audited("web", "create", person("user-b"))
			s.write("web", arrived)
			s.write("head", managed("head-controller", "status"), arrived)
		}, want: `trace 0 converged
  reconcile Head head converged
    update Head head (request)
trace 1 converged
  reconcile Head head converged ~previous
trace 2 converged
  reconcile Leaf web converged ~owner
    create Leaf web (request)
`, links: []string{"Head head of 1: previous Head head of 0", "Leaf web of 2: owner Head head of 1"}},
		"CreationWithoutLog": {reason: "no controller of the cluster is kubectl", tell: func(s *story) {
			s.settled(2)
			s.write("web", sized(3), by("user-a"))
			s.write("web-1", sized(3), valued(desiredReplicas, 3), by(change.Manager))
			s.write("web-1-x", pod("web-1"), by("kubectl-create"))
			s.started("web-1", "x")
			s.write("web", arrived)
		}, want: `trace 0 converged
  reconcile Deployment web converged
    reconcile ReplicaSet web-1 converged (owner)
trace 1 converged
  reconcile Pod web-1-x converged ~owner
`, links: []string{"Pod web-1-x of 1: owner ReplicaSet web-1 of 0"}},
		"RunningJob": {reason: "a CronJob removes only Jobs that have ended", tell: func(s *story) {
			s.write("tick", ofKind("batch", "CronJob"), by("user-a"), func(st *observation.State) {
				st.ObservedGeneration, st.Progress = -1, observation.ProgressCurrent
			})
			for _, name := range []string{"tick-1", "tick-2"} {
				s.wait(time.Minute)
				s.write(name, work, managedBy(change.Manager), controlled(kind.CronJob.Kind, "tick"))
			}
			s.gone("tick-1")
			s.write("tick-2", arrived, func(st *observation.State) {
				st.Conditions = []observation.Condition{{Type: "Complete", Status: "True"}}
			})
		}, want: `trace 0 converged
  reconcile CronJob tick converged
trace 1 superseded
  reconcile Job tick-1 superseded ~owner
trace 2 converged
  reconcile Job tick-2 converged ~owner
trace 3 deleted
  reconcile Job tick-1 deleted ~previous
`, links: []string{
			"Job tick-1 of 1: owner CronJob tick of 0", "Job tick-2 of 2: owner CronJob tick of 0",
			"Job tick-1 of 3: previous Job tick-1 of 1",
		}},
	})
}
