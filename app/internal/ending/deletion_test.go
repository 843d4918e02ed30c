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

// TestByDeletion: a deletion ends when the object, its dependants and its after-effects are gone.
func TestByDeletion(t *testing.T) {
	// removed is a ConfigMap removed at 12 by an immediate deletion.
	removed := func(w *world) *change.Reconciliation {
		t := w.put(&kind.ConfigMap, "web", 10)
		w.gone(t, 12)
		return begin(t, 12)
	}
	// graceful is a Pod in deletion since 11.
	graceful := func(w *world) *change.Reconciliation {
		w.put(&kind.Pod, "web-a", 10, pod)
		return begin(w.put(&kind.Pod, "web-a", 11, leaving), 11)
	}
	// owner is a Deployment removed at 12, with a dependant.
	owner := func(w *world) (r *change.Reconciliation, dependant *change.Timeline) {
		w.put(&kind.Deployment, "web", 10)
		dependant = w.put(&kind.ReplicaSet, "web-1", 11, owned(&kind.Deployment, "web"))
		t := w.index.Timeline(w.states["web"].Ref)
		w.gone(t, 12)
		return begin(t, 12), dependant
	}
	testRule(t, byDeletion, map[string]ruling{
		"creation": {"a removal without a deletion is another change", 20, func(w *world) *change.Reconciliation {
			t := w.put(&kind.ConfigMap, "web", 10)
			w.gone(t, 12)
			return begin(t, 10)
		}, "undecided"},
		"present": {"the object is there", 60, graceful, "open"},
		"too long": {"the object is there without progress", 72, graceful,
			"unfinished at 11s by watch: is still terminating after its grace period"},
		"removed": {"the object is gone", 20, removed, "deleted at 12s by watch"},
		"request": {"the request of an immediate deletion has the exact end", 20,
			func(w *world) *change.Reconciliation {
				t := w.put(&kind.ConfigMap, "web", 10)
				w.gone(t, 12)
				request(t, "delete", 200, 12)
				return begin(t, 12)
			}, "deleted at 11.8s by request"},
		"graceful": {"the request began the deletion, and did not end it", 20, func(w *world) *change.Reconciliation {
			w.put(&kind.Pod, "web-a", 10, pod)
			t := w.put(&kind.Pod, "web-a", 11, leaving)
			request(t, "delete", 200, 11)
			w.gone(t, 15)
			return begin(t, 11)
		}, "deleted at 15s by watch"},
		"dependant": {"a dependant is there", 20, func(w *world) *change.Reconciliation {
			r, _ := owner(w)
			return r
		}, "open"},
		"dependant gone": {"the dependant is gone; its own deletion has the later end", 20,
			func(w *world) *change.Reconciliation {
				r, dependant := owner(w)
				w.gone(dependant, 14)
				return r
			}, "deleted at 12s by watch"},
		"orphan": {"the dependant has no owner any more", 20, func(w *world) *change.Reconciliation {
			r, _ := owner(w)
			w.put(&kind.ReplicaSet, "web-1", 13, func(s *observation.State) { s.Owners = nil })
			return r
		}, "deleted at 12s by watch"},
		"child": {"the deletion of a dependant goes on", 20, func(w *world) *change.Reconciliation {
			r := removed(w)
			below(r, concluded(history.Deleted, "", 0))
			return r
		}, "open"},
		"children": {"the last child decides", 20, func(w *world) *change.Reconciliation {
			r := removed(w)
			below(r, concluded(history.Deleted, span.Deleted, 17))
			below(r, concluded(history.Deleted, span.Deleted, 15))
			return r
		}, "deleted at 17s by watch"},
		"earlier child": {"the object itself was last", 20, func(w *world) *change.Reconciliation {
			r := removed(w)
			below(r, concluded(history.Deleted, span.Deleted, 11))
			return r
		}, "deleted at 12s by watch"},
	})
}

// TestOwns: the newest version of an object has its owners.
func TestOwns(t *testing.T) {
	w := newWorld(20)
	web := w.put(&kind.ReplicaSet, "web-1", 10, owned(&kind.Deployment, "web"))
	if !owns("web", web) || owns("other", web) {
		t.Error("want web as the only owner")
	}
	if w.put(&kind.ReplicaSet, "web-1", 11, func(s *observation.State) { s.Owners = nil }); owns("web", web) {
		t.Error("a former owner counts")
	}
	if owns("web", &change.Timeline{}) {
		t.Error("an object without a version has an owner")
	}
}
