// SPDX-License-Identifier: Apache-2.0

package ending

import (
	"testing"

	"github.com/kube-lifeline/lifeline/app/internal/change"
	"github.com/kube-lifeline/lifeline/app/internal/history"
	"github.com/kube-lifeline/lifeline/app/internal/kind"
	"github.com/kube-lifeline/lifeline/app/internal/span"
)

// cordoned returns the cordon of a Node at 11.
func cordoned(w *world) *change.Reconciliation {
	w.put(&kind.Node, "node-1", 10, by("kubectl"), field("metadata.name", 1))
	r := begin(w.put(&kind.Node, "node-1", 11, by("kubectl"), field("spec.unschedulable", 1)), 11)
	r.Instant = true
	return r
}

// TestByStorage: an instant change ends with its write, or with its last effect.
func TestByStorage(t *testing.T) {
	testRule(t, byStorage, map[string]ruling{
		"reconciled": {"the object has a controller", 20, func(w *world) *change.Reconciliation {
			r := cordoned(w)
			r.Instant = false
			return r
		}, "undecided"},
		"stored": {"nothing follows", 20, cordoned, "converged at 11s by watch"},
		"request": {"the response says when it was stored", 20, func(w *world) *change.Reconciliation {
			r := cordoned(w)
			request(r.Timeline, "patch", 200, 11)
			r = begin(r.Timeline, 11)
			r.Instant = true
			return r
		}, "converged at 10.8s by request"},
		"drain": {"an evicted Pod is there", 20, func(w *world) *change.Reconciliation {
			r := cordoned(w)
			below(r, concluded(history.Deleted, span.Deleted, 13))
			below(r, concluded(history.Deleted, "", 0))
			return r
		}, "open"},
		"drained": {"the last Pod is gone", 20, func(w *world) *change.Reconciliation {
			r := cordoned(w)
			below(r, concluded(history.Deleted, span.Deleted, 15))
			below(r, concluded(history.Deleted, span.Deleted, 13))
			return r
		}, "converged at 15s by watch"},
	})
}

// TestByLoss: the loss of a Node lasts until its taints are gone.
func TestByLoss(t *testing.T) {
	taint := kind.LossTaints[0]
	// lost is a Node that lost its kubelet at 11.
	lost := func(w *world) *change.Reconciliation {
		w.put(&kind.Node, "node-1", 10, by("kube-controller-manager"), field("metadata.name", 1))
		r := begin(w.put(&kind.Node, "node-1", 11, field(taint, 1)), 11)
		r.Instant = true
		return r
	}
	// back is lost, until 15.
	back := func(w *world) *change.Reconciliation {
		r := lost(w)
		w.put(&kind.Node, "node-1", 15, field(taint, 0))
		return r
	}
	testRule(t, byLoss, map[string]ruling{
		"cordon": {"a cordon is no loss", 20, cordoned, "undecided"},
		"person": {"the taint is a person's", 20, func(w *world) *change.Reconciliation {
			w.put(&kind.Node, "node-1", 10, by("kubectl"), field("metadata.name", 1))
			r := begin(w.put(&kind.Node, "node-1", 11, field(taint, 1)), 11)
			r.Instant = true
			return r
		}, "undecided"},
		"reconciled": {"the change is not instant", 20, func(w *world) *change.Reconciliation {
			r := back(w)
			r.Instant = false
			return r
		}, "undecided"},
		"lost": {"the Node has the taint", 20, lost, "open"},
		"for good": {"the Node has the taint without progress", 72, lost,
			"unfinished at 11s by watch: waits for its controller to report completion"},
		"other taint": {"one of two taints is left", 20, func(w *world) *change.Reconciliation {
			r := lost(w)
			w.put(&kind.Node, "node-1", 13, field(kind.LossTaints[1], 1))
			w.put(&kind.Node, "node-1", 14, field(taint, 0))
			return r
		}, "open"},
		"back": {"the taint is gone", 20, back, "converged at 15s by watch"},
		"lost again": {"the second loss is another change", 20, func(w *world) *change.Reconciliation {
			r := back(w)
			w.put(&kind.Node, "node-1", 17, field(taint, 1))
			return r
		}, "converged at 15s by watch"},
		"evicting": {"an evicted Pod is there", 20, func(w *world) *change.Reconciliation {
			r := back(w)
			below(r, concluded(history.Deleted, "", 0))
			return r
		}, "open"},
		"evicted": {"the last Pod went after the taint", 20, func(w *world) *change.Reconciliation {
			r := back(w)
			below(r, concluded(history.Deleted, span.Deleted, 18))
			return r
		}, "converged at 18s by watch"},
		"deletion": {"the deletion of the Node replaces its loss", 20, func(w *world) *change.Reconciliation {
			r := lost(w)
			w.put(&kind.Node, "node-1", 13, leaving)
			return r
		}, "superseded at 13s by watch"},
		"removal": {"the Node is gone", 20, func(w *world) *change.Reconciliation {
			r := lost(w)
			w.gone(r.Timeline, 14)
			return r
		}, "superseded at 14s by watch"},
		"back before removal": {"the loss had ended before", 20, func(w *world) *change.Reconciliation {
			r := back(w)
			w.gone(r.Timeline, 17)
			return r
		}, "converged at 15s by watch"},
	})
}
