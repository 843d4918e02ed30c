// SPDX-License-Identifier: Apache-2.0

package ending

import (
	"testing"

	"github.com/kube-lifeline/lifeline/app/internal/change"
	"github.com/kube-lifeline/lifeline/app/internal/history"
	"github.com/kube-lifeline/lifeline/app/internal/kind"
	"github.com/kube-lifeline/lifeline/app/internal/observation"
	"github.com/kube-lifeline/lifeline/app/internal/span"
)

// TestByReplacement: another trace ends a reconciliation with its write. A failure before that counts.
func TestByReplacement(t *testing.T) {
	// replace supersedes what set returns with a new number of replicas at 15.
	replace := func(set func(*world) *change.Reconciliation) func(w *world) *change.Reconciliation {
		return func(w *world) *change.Reconciliation {
			r := set(w)
			r.Superseded = begin(w.put(&kind.Deployment, "web", 15, replicas(3)), 15).First()
			return r
		}
	}
	waiting := func(w *world) *change.Reconciliation {
		return begin(w.put(&kind.Deployment, "web", 10, replicas(1)), 10)
	}
	testRule(t, byReplacement, map[string]ruling{
		"not replaced": {"no other change came", 20, stuck, "undecided"},
		"replaced":     {"the other write ends it", 20, replace(waiting), "superseded at 15s by watch"},
		"request": {"the other change began with its request", 20, func(w *world) *change.Reconciliation {
			r := replace(waiting)(w)
			request(r.Timeline, "patch", 200, 15)
			r.Superseded = begin(r.Timeline, 15).First()
			return r
		}, "superseded at 14.3s by request"},
		"audit log": {"the audit log has the time of that request", 20, func(w *world) *change.Reconciliation {
			r := replace(waiting)(w)
			w.trail.Attach(r.Timeline, &observation.Write{
				Ref: r.Timeline.Ref, Verb: "patch", Code: 200, ResourceVersion: 15, Start: at(14.2), End: at(14.4),
			})
			return r
		}, "superseded at 14.2s by audit"},
		"failed before": {"the failure was first", 20, replace(stuck),
			"failed at 12s by watch: exceeded its progress deadline"},
		"failed after": {"the failure is of the other change", 20, func(w *world) *change.Reconciliation {
			r := replace(waiting)(w)
			w.put(&kind.Deployment, "web", 16, observing, deadline)
			return r
		}, "superseded at 15s by watch"},
		"hopeless Pod": {"a crash loop is a failure", 20, func(w *world) *change.Reconciliation {
			r := crashed(w)
			r.Superseded = &change.Write{RV: 15, At: history.Moment{Hi: at(15), Live: true}}
			return r
		}, "failed at 13s by watch: is in a crash loop: container app exited with code 1, restarted once"},
		"Pod of a rollout": {"the controller replaced it", 20, func(w *world) *change.Reconciliation {
			r := below(concluded(history.Created, span.Superseded, 14), crashed(w))
			r.Superseded = &change.Write{Timeline: r.Timeline, RV: 15, At: history.Moment{Hi: at(15), Live: true}}
			return r
		}, "superseded at 15s by watch"},
	})
}

// TestByRemoval: the removal of an object ends what has not ended before.
func TestByRemoval(t *testing.T) {
	testRule(t, byRemoval, map[string]ruling{
		"present": {"the object is there", 20, stuck, "undecided"},
		"in deletion": {"the object is still there", 20, func(w *world) *change.Reconciliation {
			r := crashed(w)
			w.put(&kind.Pod, "web-a", 14, leaving)
			return r
		}, "undecided"},
		"removed": {"the object is gone", 20, func(w *world) *change.Reconciliation {
			r := crashed(w)
			w.gone(r.Timeline, 14)
			return r
		}, "superseded at 14s by watch"},
	})
}

// TestUnseen: a request without a version ends after a quiet time, if the object never came.
func TestUnseen(t *testing.T) {
	// requested is a creation at 10 that only its request shows. Its response was at 9.8.
	requested := func(w *world) *change.Reconciliation {
		t := w.index.Timeline(newWorld(0).put(&kind.ConfigMap, "web", 1).Ref)
		request(t, "create", 201, 10)
		return begin(t, 10)
	}
	testRule(t, unseen, map[string]ruling{
		"seen": {"its version is there", 20, stuck, "undecided"},
		"own version": {"the version of the write is the newest", 20, func(w *world) *change.Reconciliation {
			return begin(w.put(&kind.ConfigMap, "web", 10), 10)
		}, "undecided"},
		"coming": {"the watch may be late", 12.8, requested, "open"},
		"never": {"the object may not be watched", 12.801, requested,
			"unfinished at 9.3s by request: the object was not seen after the write"},
		"older version": {"the object is watched, and its version is late", 1000,
			func(w *world) *change.Reconciliation {
				t := w.put(&kind.ConfigMap, "web", 8)
				request(t, "update", 200, 10)
				return begin(t, 10)
			}, "open"},
		"newer version": {"the version of a later write includes it", 20, func(w *world) *change.Reconciliation {
			w.put(&kind.ConfigMap, "web", 8)
			t := w.put(&kind.ConfigMap, "web", 12)
			request(t, "update", 200, 10)
			return begin(t, 10)
		}, "undecided"},
		"no request": {"the end is not known", 1000, func(w *world) *change.Reconciliation {
			r := requested(w)
			r.Last().Request = nil
			return r
		}, "open"},
		"several": {"the last request counts", 22, func(w *world) *change.Reconciliation {
			r := requested(w)
			r.Wrote(&change.Write{Timeline: r.Timeline, RV: 20,
				Request: &observation.Write{Start: at(19), End: at(20)}})
			return r
		}, "open"},
	})
	w := newWorld(20)
	if end, _ := unseen(w.Endings, requested(w)); !end.Unseen {
		t.Error("the ending does not say that the object was not seen")
	}
}
