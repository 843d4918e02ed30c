// SPDX-License-Identifier: Apache-2.0

package answer

import (
	"testing"
	"time"

	"github.com/kube-lifeline/lifeline/app/internal/object"
	"github.com/kube-lifeline/lifeline/app/internal/span"
	"github.com/kube-lifeline/lifeline/app/internal/span/spantest"
)

// TestGone: a removed object has the author of its deletion, and how it had ended.
func TestGone(t *testing.T) {
	job, settings := spantest.Ref("batch", "Job", "hook"), spantest.Ref("", "ConfigMap", "settings")
	const system = "system:serviceaccount:kube-system:"
	answer := func(of object.Ref, who string, took time.Duration) Answer {
		return Answer{
			Object: of, State: State(span.Deleted),
			Start: now.Add(-10 * time.Second), End: now.Add(took - 10*time.Second),
			Cause: Cause{Who: who, Verb: "delete", Object: of},
		}
	}
	failed := &Ended{State: State(span.Failed), Reason: "Job hook failed: Job has reached the specified backoff " +
		"limit: " +
		"Pod hook-1 failed: container hook exited with code 2"}
	for name, tc := range map[string]struct {
		answer Answer
		edit   func(*Answer)
		want   string
		lost   bool
	}{
		"TTL": {answer(job, system+"ttl-after-finished-controller", 0), func(a *Answer) { a.Ended = failed },
			"Job hook was removed by its TTL 10s ago. Before, it had failed: Job has reached the specified backoff " +
				"limit: Pod hook-1 failed: container hook exited with code 2.\n" +
				"Cause: system:serviceaccount:kube-system:ttl-after-finished-controller deleted Job hook at " +
				"12:00:50.\n", true},
		"TTL, completed": {answer(job, "ttl-after-finished-controller", 0), func(a *Answer) {
			a.Ended = &Ended{State: State(span.Converged)}
		}, "Job hook was removed by its TTL 10s ago. Before, it had completed.\n" +
			"Cause: ttl-after-finished-controller deleted Job hook at 12:00:50.\n", false},
		"garbage collector": {answer(settings, system+"generic-garbage-collector", 0), func(a *Answer) {
			a.Reason, a.Ended = "its owner ConfigMap other/parent is in another "+
				"namespace", &Ended{State: State(span.Converged)}
		}, "ConfigMap settings was removed by the garbage collector 10s ago: its owner ConfigMap other/parent is in " +
			"another namespace. Before, it had converged.\n" +
			"Cause: system:serviceaccount:kube-system:generic-garbage-collector deleted ConfigMap settings at " +
			"12:00:50.\n",
			false},
		"person": {answer(job, "jane", 3*time.Second), func(a *Answer) { a.Ended = failed },
			"Job hook was deleted by jane 7s ago, in 3s. Before, it had failed: Job has reached the specified " +
				"backoff " +
				"limit: Pod hook-1 failed: container hook exited with code 2.\n" +
				"Cause: jane deleted Job hook at 12:00:50.\n", false},
		"unknown": {answer(job, "", 0), func(*Answer) {}, "Job hook was deleted 10s ago.\n" +
			"Cause: an unknown author deleted Job hook at 12:00:50.\n", false},
		"with another object": {answer(settings, "jane", 0), func(a *Answer) { a.Cause.Object = job },
			"ConfigMap settings was deleted 10s ago.\nCause: jane deleted Job hook at 12:00:50.\n", false},
	} {
		t.Run(name, func(t *testing.T) {
			a := tc.answer
			tc.edit(&a)
			if got := a.Text(now, "default"); got != tc.want {
				t.Errorf("got  %q\nwant %q", got, tc.want)
			}
			if a.Lost() != tc.lost {
				t.Errorf("lost: got %t", a.Lost())
			}
		})
	}
}

// TestEndBefore: the trace before the deletion shows how the object had ended.
func TestEndBefore(t *testing.T) {
	apply := spantest.Apply()
	web := Reconciliation(apply, spantest.Ref("apps", "Deployment", "web"))
	a := Answer{State: State(span.Deleted), Object: web.Object}
	if !a.EndBefore(apply, now) || a.Ended.State != State(span.Converged) || a.Ended.TraceID != apply.ID.String() {
		t.Errorf("got %+v, want converged", a.Ended)
	}
	other := Answer{State: State(span.Deleted), Object: object.Ref{UID: "other"}}
	if other.EndBefore(apply, now) {
		t.Errorf("got %+v for another object", other.Ended)
	}
}
