// SPDX-License-Identifier: Apache-2.0

package ending

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.opentelemetry.io/otel/trace"

	"github.com/kube-lifeline/lifeline/app/internal/change"
	"github.com/kube-lifeline/lifeline/app/internal/history"
	"github.com/kube-lifeline/lifeline/app/internal/kind"
	"github.com/kube-lifeline/lifeline/app/internal/observation"
	"github.com/kube-lifeline/lifeline/app/internal/span"
)

// TestConclude: the first rule in order decides.
func TestConclude(t *testing.T) {
	then := func(set func(*world) *change.Reconciliation,
		more ...func(*world, *change.Reconciliation)) func(*world) *change.Reconciliation {
		return func(w *world) *change.Reconciliation {
			r := set(w)
			for _, m := range more {
				m(w, r)
			}
			return r
		}
	}
	gone := func(w *world, r *change.Reconciliation) { w.gone(r.Timeline, 30) }
	replaced := func(_ *world, r *change.Reconciliation) {
		r.Superseded = &change.Write{Timeline: r.Timeline, RV: 25, At: history.Moment{Hi: at(25), Live: true}}
	}
	underFailed := func(_ *world, r *change.Reconciliation) { below(concluded(history.Created, span.Failed, 18), r) }
	cases := map[string]ruling{
		"waiting": {"no rule ends it", 20, func(w *world) *change.Reconciliation {
			return begin(w.put(&kind.Deployment, "web", 10, replicas(1)), 10)
		}, "open"},
		"deletion, replaced": {"a deletion ends with the removal", 40, then(func(w *world) *change.Reconciliation {
			w.put(&kind.Pod, "web-a", 10, pod)
			return begin(w.put(&kind.Pod, "web-a", 11, leaving), 11)
		}, replaced, gone), "deleted at 30s by watch"},
		"converged, replaced, gone": {"the object has reached its desired state before", 40,
			then(rolledOut, replaced, gone), "converged at 12s by watch"},
		"converged, parent failed": {"the object itself has not failed", 40, then(rolledOut, underFailed),
			"converged at 12s by watch"},
		"replaced, gone": {"the other change came first", 40, then(crashedOnce, replaced, gone),
			"superseded at 25s by watch"},
		"failed, gone": {"the removal hides a failure", 40, then(stuck, gone),
			"superseded at 30s by watch"},
		"failed, replaced": {"the failure came first", 40, then(stuck, replaced),
			"failed at 12s by watch: exceeded its progress deadline"},
		"failed, parent failed": {"the object has its own failure", 40, then(stuck, underFailed),
			"failed at 12s by watch: exceeded its progress deadline"},
		"hopeless, parent failed": {"the parent reported the failure", 40, then(crashed, underFailed),
			"unfinished at 18s by watch: is in a crash loop: container app exited with code 1, restarted once"},
		"hopeless": {"the failure needs no patience", 20, crashed,
			"failed at 13s by watch: is in a crash loop: container app exited with code 1, restarted once"},
		"unseen, failed": {"the failure is from before the last write", 1000,
			then(stuck, func(_ *world, r *change.Reconciliation) {
				request(r.Timeline, "patch", 200, 15)
				r.Wrote(begin(r.Timeline, 15).First())
			}), "open"},
		"instant, gone": {"an instant change needs no object", 40, then(cordoned, gone), "converged at 11s by watch"},
		"loss, gone": {"the loss of a Node lasts longer than its write", 40, then(lostNode, gone),
			"superseded at 30s by watch"},
		"patience": {"nothing else ends it", 80, crashedOnce,
			"unfinished at 12s by watch: has no running container: container app exited with code 1"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			w := newWorld(tc.now)
			r := tc.set(w)
			w.Conclude(r)
			if diff := cmp.Diff(tc.want, text(r.Ended, stateOf(r))); diff != "" {
				t.Errorf("%s: -want +got:\n%s", tc.reason, diff)
			}
		})
	}
}

// crashedOnce returns the creation of a Pod at 10. It crashes at 12.
func crashedOnce(w *world) *change.Reconciliation {
	w.put(&kind.Pod, "web-a", 10, pod)
	return begin(w.put(&kind.Pod, "web-a", 12, container(0, exited(12), nil)), 10)
}

// lostNode returns the loss of a Node at 11.
func lostNode(w *world) *change.Reconciliation {
	w.put(&kind.Node, "node-1", 10, by("kube-controller-manager"), field("metadata.name", 1))
	r := begin(w.put(&kind.Node, "node-1", 11, field(kind.LossTaints[0], 1)), 11)
	r.Instant = true
	return r
}

// TestConcludeOnce: a conclusion is final within a derivation.
func TestConcludeOnce(t *testing.T) {
	w := newWorld(20)
	r := begin(w.put(&kind.ConfigMap, "web", 10, status(observation.ProgressCurrent, "")), 10)
	r.Concluded = true
	if w.Conclude(r); r.Done {
		t.Error("a second conclusion changed the first one")
	}
}

// TestConcludeCircle: a parent and its child may ask for each other. Both orders give the same ends.
func TestConcludeCircle(t *testing.T) {
	cases := map[string]struct {
		reason string
		child  []edit
		want   []string // of the parent and of the child
	}{
		"ready": {"the parent ends with the Pod", []edit{ready},
			[]string{"converged at 16s by watch", "converged at 16s by watch"}},
		"waiting": {"the parent waits for the Pod", nil, []string{"open", "open"}},
		"failed": {"the parent has converged without the Pod", []edit{phase("Failed")},
			[]string{"converged at 16s by watch", "failed at 16s by watch: failed"}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			for _, parentFirst := range []bool{true, false} {
				w := newWorld(40)
				w.put(&kind.Deployment, "web", 10, by("kubectl"), replicas(1), current)
				w.put(&kind.Deployment, "web", 12, replicas(2))
				up := begin(w.put(&kind.Deployment, "web", 14, current), 12)
				w.put(&kind.Pod, "web-a", 13, pod)
				down := below(up, begin(w.put(&kind.Pod, "web-a", 16, tc.child...), 13))
				if parentFirst {
					w.Conclude(up)
				}
				w.Conclude(down)
				w.Conclude(up)
				got := []string{text(up.Ended, stateOf(up)), text(down.Ended, stateOf(down))}
				if diff := cmp.Diff(tc.want, got); diff != "" {
					t.Errorf("%s, parent first %t: -want +got:\n%s", tc.reason, parentFirst, diff)
				}
			}
		})
	}
}

// TestConcludeAll: every reconciliation of every trace has a conclusion.
func TestConcludeAll(t *testing.T) {
	w := newWorld(40)
	recs := []*change.Reconciliation{rolledOut(w), crashed(w), cordoned(w)}
	w.ConcludeAll(map[trace.TraceID]*change.Lineage{
		{1}: {Reconciliations: recs[:2]}, {2}: {Reconciliations: recs[2:]},
	})
	for _, r := range recs {
		if !r.Concluded || !r.Done {
			t.Errorf("%s: concluded %t, done %t, want both", r.Timeline.Ref, r.Concluded, r.Done)
		}
	}
}

// TestLastRule: the last rule always decides.
func TestLastRule(t *testing.T) {
	w := newWorld(20)
	r := begin(w.put(&kind.Deployment, "web", 10, replicas(1)), 10)
	if _, s := rules[len(rules)-1](w.Endings, r); s == undecided {
		t.Error("no rule decides")
	}
}
