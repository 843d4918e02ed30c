// SPDX-License-Identifier: Apache-2.0

package phase

import (
	"testing"

	"github.com/kube-lifeline/lifeline/app/internal/change"
	"github.com/kube-lifeline/lifeline/app/internal/kind"
)

// TestRetryPauses: a Job pauses between a failed Pod and the next one.
func TestRetryPauses(t *testing.T) {
	// tried returns a Job whose Pods were created at these seconds. A Pod fails at the second after its creation
	// in fails, if there is one.
	tried := func(fails map[uint64]uint64, created ...uint64) func(w *world) *change.Reconciliation {
		return func(w *world) *change.Reconciliation {
			r := w.object(&kind.Job, "load").put(10).begin(10)
			for _, rv := range created {
				s := w.object(&kind.Pod, "load-a").put(rv)
				failed := fails[rv]
				if failed > 0 {
					s.put(failed, phase("Failed"))
				}
				pod := s.begin(rv)
				if failed > 0 {
					done(pod, float64(failed))
				}
				r.Children = append(r.Children, pod)
			}
			return r
		}
	}
	testPhases(t, map[string]phased{
		"none":    {"no Pod failed", tried(nil, 11), nil},
		"waiting": {"the next Pod is not there", tried(map[uint64]uint64{11: 13}, 11), []string{"retry pause #1 13-"}},
		"retried": {"the next Pod is there", tried(map[uint64]uint64{11: 13}, 11, 20),
			[]string{"retry pause #1 13-20"}},
		"twice": {"each failure has its pause", tried(map[uint64]uint64{11: 13, 20: 22}, 11, 20, 40),
			[]string{"retry pause #1 13-20", "retry pause #2 22-40"}},
		"any order": {"the creations order the Pods", tried(map[uint64]uint64{11: 13, 20: 22}, 40, 20, 11),
			[]string{"retry pause #1 13-20", "retry pause #2 22-40"}},
		"beside": {"a Pod from before the failure is no retry", tried(map[uint64]uint64{11: 13}, 11, 12),
			[]string{"retry pause #1 13-"}},
		"at once": {"the next Pod was there at once", shortly(tried(map[uint64]uint64{11: 13}, 11, 14), 13.5), nil},
		"a second": {"a second is a pause", shortly(tried(map[uint64]uint64{11: 13}, 11, 14), 14),
			[]string{"retry pause #1 13-14"}},
		"ended": {"an ended Job waits no more", func(w *world) *change.Reconciliation {
			return done(tried(map[uint64]uint64{11: 13, 20: 22}, 11, 20)(w), 25)
		}, []string{"retry pause #1 13-20"}},
		"not concluded": {"the failure is not final", func(w *world) *change.Reconciliation {
			r := tried(map[uint64]uint64{11: 13}, 11)(w)
			r.Children[0].Done = false
			return r
		}, nil},
		"no Pod": {"only Pods are attempts", func(w *world) *change.Reconciliation {
			r := tried(map[uint64]uint64{11: 13}, 11)(w)
			r.Children = append(r.Children, w.object(&kind.ConfigMap, "load").put(20).begin(20))
			return r
		}, []string{"retry pause #1 13-"}},
	})

	w := newWorld()
	r := tried(nil, 11, 12)(w)
	w.Of(r)
	if w.concluded != 2 {
		t.Errorf("%d Pods were concluded first, want 2", w.concluded)
	}
}

// shortly moves the creation of the last Pod.
func shortly(set func(*world) *change.Reconciliation, n float64) func(*world) *change.Reconciliation {
	return func(w *world) *change.Reconciliation {
		r := set(w)
		r.Children[len(r.Children)-1].First().At.Hi = second(n)
		return r
	}
}
