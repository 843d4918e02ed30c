// SPDX-License-Identifier: Apache-2.0

package phase

import (
	"testing"

	"github.com/kube-lifeline/lifeline/app/internal/change"
	"github.com/kube-lifeline/lifeline/app/internal/history"
	"github.com/kube-lifeline/lifeline/app/internal/kind"
	"github.com/kube-lifeline/lifeline/app/internal/object"
	"github.com/kube-lifeline/lifeline/app/internal/observation"
	"github.com/kube-lifeline/lifeline/app/internal/span"
)

// widget is a kind that is not known.
var widget = kind.Kind{Kind: object.Kind{Group: "example.com", Version: "v1", Kind: "Widget"}}

// current means that the object has its desired state.
func current(s *observation.State) {
	s.Progress, s.ObservedGeneration = observation.ProgressCurrent, s.Generation
}

// by makes the name the manager of the status.
func by(manager string) edit {
	return func(s *observation.State) {
		s.Managers = []observation.Manager{{Name: manager, Operation: "Update", Subresource: "status", Time: second(1)}}
	}
}

// TestConditions: an object waits for each condition from its begin, or from the loss of it.
func TestConditions(t *testing.T) {
	waits := explained("Ready", "False", "Waiting", "no peer", 12)
	testPhases(t, map[string]phased{
		"waiting": {"the condition is False", func(w *world) *change.Reconciliation {
			return w.object(&widget, "web").put(10).put(12, waits).begin(10)
		}, []string{"condition Ready 10-: no peer"}},
		"reached": {"the condition became True", func(w *world) *change.Reconciliation {
			return w.object(&widget, "web").put(10).put(12, waits).put(15, condition("Ready", "True", 15)).begin(10)
		}, []string{"condition Ready 10-15"}},
		"late": {"the condition has its second", func(w *world) *change.Reconciliation {
			return w.object(&widget, "web").put(10).put(12, waits).put(19, condition("Ready", "True", 15)).begin(10)
		}, []string{"condition Ready 10-15"}},
		"at once": {"a condition that was never missing has no step", func(w *world) *change.Reconciliation {
			return w.object(&widget, "web").put(10).put(12, condition("Ready", "True", 12)).begin(10)
		}, nil},
		"message": {"the newest message counts", func(w *world) *change.Reconciliation {
			return w.object(&widget, "web").put(10).put(12, waits).
				put(13, explained("Ready", "False", "Waiting", "no disk", 12)).begin(10)
		}, []string{"condition Ready 10-: no disk"}},
		"Unknown": {"only True counts", func(w *world) *change.Reconciliation {
			return w.object(&widget, "web").put(10).put(12, explained("Ready", "Unknown", "", "", 12)).begin(10)
		}, []string{"condition Ready 10-"}},
		"lost again": {"the second wait begins with the loss", func(w *world) *change.Reconciliation {
			return w.object(&widget, "web").put(10).put(12, waits).put(15, condition("Ready", "True", 15)).
				put(17, explained("Ready", "False", "Waiting", "no peer", 17)).begin(10)
		}, []string{"condition Ready 10-15", "condition Ready #2 17-: no peer"}},
		"lost first": {"the condition was there at the begin", func(w *world) *change.Reconciliation {
			return w.object(&widget, "web").put(10, condition("Ready", "True", 10)).
				put(19, explained("Ready", "False", "", "no peer", 16)).
				put(21, condition("Ready", "True", 21)).begin(10)
		}, []string{"condition Ready 16-21"}},
		"lost before": {"the condition is from before the change", func(w *world) *change.Reconciliation {
			none := func(s *observation.State) { s.Generation, s.Conditions = 2, nil }
			return w.object(&widget, "web").put(8, condition("Ready", "True", 8)).put(10, none).
				put(19, condition("Ready", "False", 16)).begin(10)
		}, []string{"condition Ready 10-"}},
		"wrong second": {"a wait begins no earlier than its change", func(w *world) *change.Reconciliation {
			return w.object(&widget, "web").put(10, condition("Ready", "True", 10)).
				put(12, condition("Ready", "False", 8)).begin(10)
		}, []string{"condition Ready 10-"}},
		"several": {"each condition has its step, in order of its end", func(w *world) *change.Reconciliation {
			return w.object(&widget, "web").put(10).
				put(12, condition("Ready", "False", 12), condition("Synced", "False", 12)).
				put(14, condition("Synced", "True", 14)).put(15, condition("Ready", "True", 15)).begin(10)
		}, []string{"condition Synced 10-14", "condition Ready 10-15"}},
		"no goal": {"a condition that need not be True is no open wait", func(w *world) *change.Reconciliation {
			return w.object(&widget, "web").put(10).put(12, condition("Stalled", "False", 12)).begin(10)
		}, nil},
		"no goal, reached": {"a condition that became True had a wait", func(w *world) *change.Reconciliation {
			return w.object(&widget, "web").put(10).put(12, condition("Rotated", "False", 12)).
				put(14, condition("Rotated", "True", 14)).begin(10)
		}, []string{"condition Rotated 10-14"}},
		"ended": {"an ended change has no open wait", func(w *world) *change.Reconciliation {
			return done(w.object(&widget, "web").put(10).put(12, waits).begin(10), 14)
		}, nil},
		"converged": {"a later loss belongs to another change", func(w *world) *change.Reconciliation {
			return w.object(&widget, "web").put(10).put(12, waits).put(15, current, condition("Ready", "True", 15)).
				put(30, waits).put(35, condition("Ready", "True", 35)).begin(10)
		}, []string{"condition Ready 10-15"}},
		"replaced": {"the other change has the later waits", func(w *world) *change.Reconciliation {
			r := w.object(&widget, "web").put(10).put(12, waits).put(15, condition("Ready", "True", 15)).begin(10)
			r.Superseded = &change.Write{RV: 14}
			return done(r, 14)
		}, nil},
		"earlier": {"versions before the change add nothing", func(w *world) *change.Reconciliation {
			s := w.object(&widget, "web").put(8, waits).put(10, condition("Ready", "True", 10),
				func(s *observation.State) { s.Generation++ })
			return s.begin(10)
		}, nil},
		"deletion": {"a deletion waits for no condition", func(w *world) *change.Reconciliation {
			r := w.object(&widget, "web").put(10).put(12, waits).begin(10)
			r.Verb = history.Deleted
			return r
		}, nil},
		"Deployment": {"it waits for its dependants", func(w *world) *change.Reconciliation {
			return w.object(&kind.Deployment, "web").put(10).put(12, condition("Available", "False", 12)).begin(10)
		}, nil},
		"ReplicaSet": {"it waits for its dependants", func(w *world) *change.Reconciliation {
			return w.object(&kind.ReplicaSet, "web").put(10).put(12, condition("Ready", "False", 12)).begin(10)
		}, nil},
	})
}

// TestSetter: the writer of the status has the wait.
func TestSetter(t *testing.T) {
	cases := map[string]struct {
		reason string
		kind   *kind.Kind
		edit   edit
		want   string
	}{
		"controller": {"the manager names it", &widget, by("widget-operator"), "widget-operator"},
		"kube-controller-manager": {"one manager of many controllers", &kind.Job, by("kube-controller-manager"),
			"job-controller"},
		"no writer": {"the kind has its controller", &kind.Job, func(*observation.State) {},
			"job-controller"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			w := newWorld()
			s := w.object(tc.kind, "web").put(10).put(12, condition("Ready", "False", 12), tc.edit)
			p := step(t, w.Of(s.begin(10)), span.NameCondition)
			if p.service != tc.want || p.attribute(string(span.KeyCondition)) != "Ready" {
				t.Errorf("%s: got %s of %s, want Ready of %s",
					tc.reason, p.attribute(string(span.KeyCondition)), p.service, tc.want)
			}
		})
	}
}
