// SPDX-License-Identifier: Apache-2.0

package ending

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

// rolledOut returns the creation of a Deployment at 10. It has its desired state at 12.
func rolledOut(w *world) *change.Reconciliation {
	w.put(&kind.Deployment, "web", 10, replicas(1))
	return begin(w.put(&kind.Deployment, "web", 12, current), 10)
}

// TestByConvergence: a reconciliation ends with the first version with the desired state.
func TestByConvergence(t *testing.T) {
	// found is a Pod in its desired state at the start of the observer.
	found := func(w *world) *change.Reconciliation {
		r := begin(w.put(&kind.Pod, "web-a", 10, pod, ready), 10)
		r.Last().Arrived = at(5)
		return r
	}
	// recovered is a Pod that is ready at 14, one second after its restart.
	recovered := func(w *world) *change.Reconciliation {
		w.put(&kind.Pod, "web-a", 10, pod)
		w.put(&kind.Pod, "web-a", 12, container(0, exited(12), nil))
		return begin(w.put(&kind.Pod, "web-a", 14, ready, container(1, running(13), exited(12))), 10)
	}
	testRule(t, byConvergence, map[string]ruling{
		"converged": {"all replicas are available", 20, rolledOut, "converged at 12s by watch"},
		"later": {"the first such version counts", 20, func(w *world) *change.Reconciliation {
			r := rolledOut(w)
			w.put(&kind.Deployment, "web", 14, condition("Available", "True", "", ""))
			return r
		}, "converged at 12s by watch"},
		"not yet": {"no replica is available", 20, func(w *world) *change.Reconciliation {
			w.put(&kind.Deployment, "web", 10, replicas(1))
			return begin(w.put(&kind.Deployment, "web", 12, func(s *observation.State) { s.ObservedGeneration = 1 }),
				10)
		}, "undecided"},
		"superseded before": {"the other change came first", 20, func(w *world) *change.Reconciliation {
			r := rolledOut(w)
			r.Superseded = &change.Write{RV: 12}
			return r
		}, "undecided"},
		"superseded after": {"the other change came later", 20, func(w *world) *change.Reconciliation {
			r := rolledOut(w)
			r.Superseded = &change.Write{RV: 13}
			return r
		}, "converged at 12s by watch"},
		"found": {"the object itself says when it converged", 20, found, "converged at 5s by object"},
		"found, written": {"a later write converged later", 26, func(w *world) *change.Reconciliation {
			r := found(w)
			w.put(&kind.Pod, "web-a", 11, condition("Ready", "False", "", ""))
			w.put(&kind.Pod, "web-a", 13, ready)
			r.Writes = append(r.Writes, &change.Write{
				Timeline: r.Timeline, RV: 11, Arrived: at(5), Version: r.Timeline.At(11),
				At: history.Arrival(r.Timeline.At(11)),
			})
			return r
		}, "converged at 13s by watch"},
		"recovering": {"the Pod may crash again", 24, recovered, "open"},
		"recovered":  {"the Pod is stable", 24.001, recovered, "converged at 14s by watch"},
		"recovering, superseded": {"the rest belongs to the other change", 20, func(w *world) *change.Reconciliation {
			r := recovered(w)
			r.Superseded = &change.Write{RV: 15}
			return r
		}, "converged at 14s by watch"},
		"no probe": {"a container without a probe may still crash", 24, unprobed, "open"},
		"steady":   {"it has run for more than 10 s", 25, unprobed, "converged at 14s by watch"},
		"probe": {"the probe is the proof", 14, func(w *world) *change.Reconciliation {
			w.put(&kind.Pod, "web-a", 10, pod)
			return begin(w.put(&kind.Pod, "web-a", 14, ready, container(0, running(13), nil), probed), 10)
		}, "converged at 14s by watch"},
	})
}

// TestConvergedAt: the most precise known time of a convergence counts.
func TestConvergedAt(t *testing.T) {
	stored := func(w *world) *change.Reconciliation {
		return begin(w.put(&kind.ConfigMap, "web", 10, status(observation.ProgressCurrent, "")), 10)
	}
	// late is a Pod that was ready at 12, as seen at 15.
	late := func(w *world) *change.Timeline {
		w.put(&kind.Pod, "web-a", 10, pod)
		return w.put(&kind.Pod, "web-a", 15, ready, func(s *observation.State) { s.Conditions[0].Since = at(12) })
	}
	testRule(t, byConvergence, map[string]ruling{
		"own write": {"the write itself has the desired state", 20, stored, "converged at 10s by watch"},
		"own request": {"the response says when it was stored", 20, func(w *world) *change.Reconciliation {
			r := stored(w)
			request(r.Timeline, "create", 201, 10)
			return begin(r.Timeline, 10)
		}, "converged at 9.8s by request"},
		"own audit log": {"the audit log has the time of the write", 20, func(w *world) *change.Reconciliation {
			r := stored(w)
			w.trail.Attach(r.Timeline, &observation.Write{
				Ref: r.Timeline.Ref, Verb: "create", Code: 201, ResourceVersion: 10, Start: at(9.6), End: at(9.9),
			})
			return r
		}, "converged at 9.9s by audit"},
		"later request": {"the request is not that of the convergence", 20, func(w *world) *change.Reconciliation {
			r := rolledOut(w)
			request(r.Timeline, "create", 201, 10)
			return begin(r.Timeline, 10)
		}, "converged at 12s by watch"},
		"audit log": {"the audit log has the time of the status update", 20, func(w *world) *change.Reconciliation {
			r := rolledOut(w)
			w.trail.Attach(r.Timeline, &observation.Write{
				Ref: r.Timeline.Ref, Verb: "patch", Subresource: "status", Code: 200, ResourceVersion: 12,
				Start: at(11.5), End: at(11.6),
			})
			return r
		}, "converged at 11.6s by audit"},
		"Ready": {"a late version of a new Pod has the time of its condition", 26,
			func(w *world) *change.Reconciliation {
				return begin(late(w), 10)
			}, "converged at 12s by object"},
		"Ready again": {"the condition of an older Pod is from before the change", 26,
			func(w *world) *change.Reconciliation {
				r := begin(late(w), 10)
				r.Verb = history.Updated
				return r
			}, "converged at 15s by watch"},
	})
}

// TestOpaque: without observedGeneration, the end is the last activity after a quiet time.
func TestOpaque(t *testing.T) {
	active := func(second float64) func(w *world) *change.Reconciliation {
		return func(w *world) *change.Reconciliation {
			r := begin(w.put(&widget, "web", 10, opaque), 10)
			r.Activity = at(second)
			return r
		}
	}
	testRule(t, byConvergence, map[string]ruling{
		"busy":         {"the controller may write more", 15, active(12), "open"},
		"quiet":        {"the controller has been quiet", 15.001, active(12), "converged at 12s by watch"},
		"no activity":  {"the version is later", 15, active(8), "converged at 10s by watch"},
		"not current":  {"the status shows no success", 15, inProgress, "undecided"},
		"superseded":   {"no wait for a replaced change", 12, replacedAt(12, active(12)), "converged at 10s by watch"},
		"not opaque":   {"observedGeneration shows the end", 14, observed, "converged at 11s by watch"},
		"no condition": {"later conditions show that it was no success", 15, conditional, "converged at 11s by watch"},
	})
}

func inProgress(w *world) *change.Reconciliation {
	return begin(w.put(&widget, "web", 10, opaque, status(observation.ProgressInProgress, "")), 10)
}

func observed(w *world) *change.Reconciliation {
	w.put(&widget, "web", 10)
	r := begin(w.put(&widget, "web", 11, current), 10)
	r.Activity = at(12)
	return r
}

func conditional(w *world) *change.Reconciliation {
	w.put(&widget, "web", 10, opaque)
	return begin(w.put(&widget, "web", 11, condition("Ready", "True", "", "")), 10)
}

// TestScaled: a scaling ends with the last Pod that it created or deleted.
func TestScaled(t *testing.T) {
	// scaled is a Deployment scaled at 12, with the desired state at 14.
	scaled := func(children ...*change.Reconciliation) func(w *world) *change.Reconciliation {
		return func(w *world) *change.Reconciliation {
			w.put(&kind.Deployment, "web", 10, by("kubectl"), replicas(1), current)
			w.put(&kind.Deployment, "web", 12, replicas(2))
			r := begin(w.put(&kind.Deployment, "web", 14, current), 12)
			for _, c := range children {
				below(r, c)
			}
			return r
		}
	}
	child := func(verb history.Verb, took kind.Part, second float64) *change.Reconciliation {
		r := concluded(verb, span.Converged, second)
		r.Took = took
		return r
	}
	testRule(t, byConvergence, map[string]ruling{
		"no Pods": {"no Pod follows", 20, scaled(), "converged at 14s by watch"},
		"creation": {"a new Pod is ready later", 20, scaled(child(history.Created, kind.Everything, 16)),
			"converged at 16s by watch"},
		"earlier": {"the new Pod was ready before", 20, scaled(child(history.Created, kind.Everything, 13)),
			"converged at 14s by watch"},
		"deletion": {"a Pod is gone later", 20, scaled(child(history.Deleted, kind.Everything, 17)),
			"converged at 17s by watch"},
		"ReplicaSet": {"the ReplicaSet has the new number later", 20, scaled(child(history.Updated, kind.Scale, 18)),
			"converged at 18s by watch"},
		"update": {"another update below is no Pod", 20, scaled(child(history.Updated, kind.Template, 18)),
			"converged at 14s by watch"},
		"open": {"a Pod is not ready", 20, scaled(child(history.Created, kind.Everything, 0)), "open"},
		"open, replaced": {
			"no wait for the Pods of a replaced change", 20,
			replacedAt(15,
				scaled(child(history.Created, kind.Everything, 0), child(history.Deleted, kind.Everything, 16))),
			"converged at 16s by watch",
		},
		"rollout": {"a change of the template has converged with the object", 20,
			func(w *world) *change.Reconciliation {
				r := rolledOut(w)
				below(r, child(history.Created, kind.Everything, 0))
				return r
			}, "converged at 12s by watch"},
	})
}

func replacedAt(rv uint64, by func(*world) *change.Reconciliation) func(*world) *change.Reconciliation {
	return func(w *world) *change.Reconciliation {
		r := by(w)
		r.Superseded = &change.Write{RV: rv}
		return r
	}
}

// TestHeld: a paused rollout holds a new template back.
func TestHeld(t *testing.T) {
	paused := func(path string) func(w *world) *change.Reconciliation {
		return func(w *world) *change.Reconciliation {
			pause := func(s *observation.State) { s.Workload.Paused = true }
			w.put(&kind.Deployment, "web", 10, by("kubectl"), replicas(1), pause, current)
			w.put(&kind.Deployment, "web", 12, field(path, 7), func(s *observation.State) { s.Generation++ })
			return begin(w.put(&kind.Deployment, "web", 14, current), 12)
		}
	}
	testRule(t, byConvergence, map[string]ruling{
		"template": {"the new template is held", 20, paused("spec.template.spec.dnsPolicy"),
			"converged at 14s by watch: held: the rollout is paused"},
		"other field": {"the rest takes effect", 20, paused("spec.minReadySeconds"), "converged at 14s by watch"},
		"not paused":  {"the template takes effect", 20, rolledOut, "converged at 12s by watch"},
	})
}

func unprobed(w *world) *change.Reconciliation {
	w.put(&kind.Pod, "web-a", 10, pod)
	return begin(w.put(&kind.Pod, "web-a", 14, ready, container(0, running(13), nil)), 10)
}

// probed gives all containers a readiness probe.
func probed(s *observation.State) {
	for i := range s.Pod.Containers {
		s.Pod.Containers[i].ReadinessProbe = true
	}
}
