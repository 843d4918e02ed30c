// SPDX-License-Identifier: Apache-2.0

package ending

import (
	"slices"

	"github.com/kube-lifeline/lifeline/app/internal/change"
	"github.com/kube-lifeline/lifeline/app/internal/history"
	"github.com/kube-lifeline/lifeline/app/internal/kind"
	"github.com/kube-lifeline/lifeline/app/internal/kind/judge"
	"github.com/kube-lifeline/lifeline/app/internal/observation"
)

// A version counts only if it lasts. The confirmation delays the end of a reconciliation, not its time.

// confirmed reports whether v, the version in which an object arrived, has lasted for long enough.
func (e *Endings) confirmed(v *history.Version) bool {
	switch {
	case v.Pod != nil:
		return !needsProof(v) || e.clock.Passed(v.Seen, judge.Steady)
	case v.Workload != nil, kind.Job.Is(v.Kind), v.ObservedGeneration < 0 && len(v.Conditions) == 0:
		return true
	}
	return e.clock.Passed(v.Seen, change.Lasting)
}

// needsProof reports whether v is a Pod that is ready as soon as its containers run, or that has crashed just before.
func needsProof(v *history.Version) bool {
	if v.Pod.Phase == "Succeeded" {
		return false
	}
	return change.Crashed(v) || slices.ContainsFunc(v.Pod.Containers, func(c *observation.Container) bool {
		return !c.ReadinessProbe
	})
}

// lasting returns the first version of a workload, from v on, at which all ready Pods below r stayed ready; nil
// without one. The state is open if a Pod has yet to prove that.
func (e *Endings) lasting(r *change.Reconciliation, v *history.Version) (*history.Version, state) {
	if v.Workload == nil || kind.Job.Is(v.Kind) {
		return v, ended
	}
	pods := podsBelow(nil, r)
	for ; v != nil; v = r.ConvergedAfter(v, until(r)) {
		s := ended
		for _, p := range pods {
			if at := e.stays(p, v); at != ended {
				s = at
				if s == undecided {
					break
				}
			}
		}
		if s != undecided {
			return v, s
		}
	}
	return nil, undecided
}

// stays tells whether a Pod that was ready at the version v of its workload stayed ready: ended if it did, or was not
// ready; open if that is not known yet; undecided if it crashed.
func (e *Endings) stays(t *change.Timeline, v *history.Version) state {
	i, _ := t.Position(v.ResourceVersion + 1)
	if i--; i < 0 || t.Versions[i].Pod == nil || !judge.Converged(t.Versions[i]) || !needsProof(t.Versions[i]) {
		return ended
	}
	for i > 0 && judge.Converged(t.Versions[i-1]) {
		i--
	}
	switch ready := t.Versions[i]; {
	case !change.Lasts(ready, t.Versions[i+1:]):
		return undecided
	case t.Removal == nil && t.Last().Deleting.IsZero() && !e.clock.Passed(ready.Seen, judge.Steady):
		return open
	}
	return ended
}

// podsBelow appends the created Pods below r to out.
func podsBelow(out []*change.Timeline, r *change.Reconciliation) []*change.Timeline {
	for _, c := range r.Children {
		if kind.Pod.Is(c.Timeline.Ref.Kind) && c.Verb == history.Created {
			out = append(out, c.Timeline)
		}
		out = podsBelow(out, c)
	}
	return out
}
