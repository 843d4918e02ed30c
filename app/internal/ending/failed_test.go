// SPDX-License-Identifier: Apache-2.0

package ending

import (
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kube-lifeline/lifeline/app/internal/change"
	"github.com/kube-lifeline/lifeline/app/internal/history"
	"github.com/kube-lifeline/lifeline/app/internal/kind"
	"github.com/kube-lifeline/lifeline/app/internal/object"
	"github.com/kube-lifeline/lifeline/app/internal/observation"
	"github.com/kube-lifeline/lifeline/app/internal/span"
)

// deadline is the failure of a Deployment.
var deadline = condition("Progressing", "False", "ProgressDeadlineExceeded", "")

// observing means that the controller has observed the change.
func observing(s *observation.State) { s.ObservedGeneration = s.Generation }

// stuck returns the creation of a Deployment at 10. It fails at 12, and fails still at 13.
func stuck(w *world) *change.Reconciliation {
	w.put(&kind.Deployment, "web", 10, replicas(1))
	w.put(&kind.Deployment, "web", 12, observing, deadline)
	return begin(w.put(&kind.Deployment, "web", 13, condition("Available", "False", "", "")), 10)
}

// TestByFailure: a reported failure ends the reconciliation with the first version that shows it.
func TestByFailure(t *testing.T) {
	testRule(t, byFailure, map[string]ruling{
		"failed": {"the controller gave up", 20, stuck, "failed at 12s by watch: exceeded its progress deadline"},
		"progressing": {"the controller goes on", 20, func(w *world) *change.Reconciliation {
			w.put(&kind.Deployment, "web", 10, replicas(1))
			return begin(w.put(&kind.Deployment, "web", 12, observing,
				condition("Progressing", "False", "Other", "")), 10)
		}, "undecided"},
		"recovered": {"the newest version counts", 20, func(w *world) *change.Reconciliation {
			r := stuck(w)
			w.put(&kind.Deployment, "web", 14, condition("Progressing", "True", "", ""))
			return r
		}, "undecided"},
		"failed again": {"only the last failure counts", 20, func(w *world) *change.Reconciliation {
			r := stuck(w)
			w.put(&kind.Deployment, "web", 14, condition("Progressing", "True", "", ""))
			w.put(&kind.Deployment, "web", 15, deadline)
			return r
		}, "failed at 15s by watch: exceeded its progress deadline"},
		"older failure": {"the failure is from before the last write", 20, func(w *world) *change.Reconciliation {
			r := stuck(w)
			w.put(&kind.Deployment, "web", 14, replicas(2))
			return r
		}, "undecided"},
		"found": {"the object itself says when it failed", 20, func(w *world) *change.Reconciliation {
			r := stuck(w)
			r.Last().Arrived = at(5)
			return r
		}, "failed at 5s by object: exceeded its progress deadline"},
		"Pod": {"a failed Pod has its exit", 20, func(w *world) *change.Reconciliation {
			w.put(&kind.Pod, "web-a", 10, pod)
			return begin(w.put(&kind.Pod, "web-a", 12, phase("Failed"), container(0, exited(11), nil)), 10)
		}, "failed at 12s by watch: failed: container app exited with code 1"},
		"resize": {"the kubelet refuses the new resources", 20, func(w *world) *change.Reconciliation {
			return resized(w, "spec.containers[name=app].resources.limits.cpu")
		}, "failed at 13s by watch: cannot be resized: too large"},
		"other change": {"the refused resources are of another change", 20, func(w *world) *change.Reconciliation {
			return resized(w, "spec.activeDeadlineSeconds")
		}, "undecided"},
	})
}

// phase sets the phase of a Pod.
func phase(p string) edit { return func(s *observation.State) { s.Pod.Phase = p } }

// resized returns the change of a field at 12, with a refused resize at 13.
func resized(w *world, path string) *change.Reconciliation {
	w.put(&kind.Pod, "web-a", 10, by("kubectl"), pod, ready, field("metadata.name", 1))
	w.put(&kind.Pod, "web-a", 12, field(path, 1), func(s *observation.State) { s.Generation++ })
	return begin(w.put(&kind.Pod, "web-a", 13, observing,
		condition("PodResizePending", "True", "Infeasible", "too large")), 12)
}

// TestWithParent: a reconciliation ends with its parent, if that has not reached its desired state.
func TestWithParent(t *testing.T) {
	under := func(up *change.Reconciliation, edits ...edit) func(w *world) *change.Reconciliation {
		return func(w *world) *change.Reconciliation {
			r := begin(w.put(&kind.ReplicaSet, "web-1", 11, append(edits, replicas(1))...), 11)
			if up != nil {
				below(up, r)
			}
			return r
		}
	}
	applied := func(s *observation.State) {
		s.Relations = []object.Relation{{Type: object.Applied, To: object.Name{Kind: "Application", Name: "web"}}}
	}
	waits := ": has 0 of 1 replicas available"
	testRule(t, withParent, map[string]ruling{
		"alone": {"it has no parent", 20, under(nil), "undecided"},
		"open":  {"the parent goes on", 20, under(concluded(history.Created, "", 0)), "undecided"},
		"failed": {"the parent gave up", 20, under(concluded(history.Created, span.Failed, 15)),
			"unfinished at 15s by watch" + waits},
		"unfinished": {"the parent made no progress", 20, under(concluded(history.Created, span.Unfinished, 16)),
			"unfinished at 16s by watch" + waits},
		"converged": {"the parent has reached its desired state", 20,
			under(concluded(history.Created, span.Converged, 15)), "undecided"},
		"superseded": {"another change goes on", 20, under(concluded(history.Created, span.Superseded, 15)),
			"undecided"},
		"deletion": {"the change undoes a deletion", 20, under(concluded(history.Deleted, span.Failed, 15)),
			"undecided"},
		"applied": {"its own controller goes on", 20, under(concluded(history.Created, span.Failed, 15), applied),
			"undecided"},
		"concludes": {"the parent has no conclusion yet", 20, func(w *world) *change.Reconciliation {
			r := begin(w.put(&kind.ReplicaSet, "web-1", 11, replicas(1)), 11)
			return below(stuck(w), r)
		}, "unfinished at 12s by watch" + waits},
	})
}

// crashed returns the creation of a Pod at 10. It is in a crash loop from 13 on.
func crashed(w *world) *change.Reconciliation {
	w.put(&kind.Pod, "web-a", 10, pod)
	w.put(&kind.Pod, "web-a", 12, container(0, exited(12), nil))
	return begin(w.put(&kind.Pod, "web-a", 13, container(1, backOff, exited(12))), 10)
}

// TestByHopelessPod: a Pod in a crash loop has failed, unless a controller may report more.
func TestByHopelessPod(t *testing.T) {
	failed := "failed at 13s by watch: is in a crash loop: container app exited with code 1, restarted once"
	testRule(t, byHopelessPod, map[string]ruling{
		"alone": {"no controller reports its failure", 20, crashed, failed},
		"parent ended": {"the controller reports nothing more", 20, func(w *world) *change.Reconciliation {
			return below(concluded(history.Created, span.Converged, 12), crashed(w))
		}, failed},
		"parent open": {"the controller may report its failure", 20, func(w *world) *change.Reconciliation {
			return below(concluded(history.Created, "", 0), crashed(w))
		}, "undecided"},
		"once": {"one crash may be an accident", 20, func(w *world) *change.Reconciliation {
			w.put(&kind.Pod, "web-a", 10, pod)
			return begin(w.put(&kind.Pod, "web-a", 12, container(0, exited(12), nil)), 10)
		}, "undecided"},
		"no Pod": {"only Pods crash", 20, stuck, "undecided"},
	})
}

// TestHopeless: repeated crashes of one container are hopeless.
func TestHopeless(t *testing.T) {
	done := &observation.ContainerState{Started: at(1), Finished: at(2)}
	cases := map[string]struct {
		reason string
		edit   edit
		want   bool
	}{
		"new":           {"the container has not started", container(0, nil, nil), false},
		"back-off":      {"the kubelet waits after a crash", container(1, backOff, exited(2)), true},
		"crashed twice": {"the state may be the last crash", container(1, exited(4), exited(2)), true},
		"first crash":   {"the container may recover", container(0, exited(2), nil), false},
		"no restart":    {"no restart was counted", container(0, exited(4), exited(2)), false},
		"first backoff": {"the back-off is that of another container", container(0, backOff, nil), false},
		"running":       {"the container runs again", container(3, running(4), exited(2)), false},
		"completed":     {"the container completed after a crash", container(1, done, exited(2)), false},
		"crashed after": {"the container crashed after a completion", container(1, exited(4), done), false},
		"image": {"the wait is for an image",
			container(1, &observation.ContainerState{Waiting: true, Reason: "ImagePullBackOff"}, exited(2)), false},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			v := newWorld(20).put(&kind.Pod, "web-a", 10, pod, tc.edit).Last()
			if got := hopeless(v); got != tc.want {
				t.Errorf("%s: got %t", tc.reason, got)
			}
		})
	}
	if hopeless(newWorld(20).put(&kind.ConfigMap, "web", 10).Last()) {
		t.Error("a ConfigMap is hopeless")
	}
}

// TestFailedBefore: a failure counts up to a resourceVersion.
func TestFailedBefore(t *testing.T) {
	under := func(up *change.Reconciliation) func(w *world) *change.Reconciliation {
		return func(w *world) *change.Reconciliation { return below(up, crashed(w)) }
	}
	cases := map[string]struct {
		reason string
		set    func(w *world) *change.Reconciliation
		before uint64
		want   uint64 // 0 means none
	}{
		"reported":         {"the first of the failing versions counts", stuck, math.MaxUint64, 12},
		"reported, early":  {"the failure was later", stuck, 12, 0},
		"hopeless":         {"a crash loop is a failure", crashed, math.MaxUint64, 13},
		"hopeless, early":  {"the crash loop was later", crashed, 13, 0},
		"parent open":      {"the controller may report its failure", under(concluded(history.Created, "", 0)), 20, 0},
		"parent converged": {"the controller is done", under(concluded(history.Created, span.Converged, 11)), 20, 13},
		"parent replaced": {"the controller went on to another change",
			under(concluded(history.Created, span.Superseded, 11)), 20, 0},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			w, got := newWorld(20), uint64(0)
			if v := w.FailedBefore(tc.set(w), tc.before); v != nil {
				got = v.ResourceVersion
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s: -want +got:\n%s", tc.reason, diff)
			}
		})
	}
}

// TestByPatience: a reconciliation without progress ends after the patience.
func TestByPatience(t *testing.T) {
	waiting := func(w *world) *change.Reconciliation {
		w.put(&kind.Deployment, "web", 10, replicas(1))
		return begin(w.put(&kind.Deployment, "web", 12, observing), 10)
	}
	testRule(t, byPatience, map[string]ruling{
		"waiting": {"there is time left", 70, waiting, "open"},
		"too long": {"the last version is the last sign of life", 70.001, waiting,
			"unfinished at 12s by watch: has 0 of 1 replicas available"},
		"progress": {"progress renews the patience", 70.001, func(w *world) *change.Reconciliation {
			r := waiting(w)
			r.Progressed = at(12)
			return r
		}, "open"},
		"no version": {"nothing is known of the object", 1000, func(*world) *change.Reconciliation {
			return &change.Reconciliation{Timeline: &change.Timeline{}}
		}, "open"},
	})
}
