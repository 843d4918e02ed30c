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
	pods, crashed := e.podsOf(r), (*history.Version)(nil)
	for ; v != nil; v = r.ConvergedAfter(v, until(r)) {
		s := e.stayed(pods, v.ResourceVersion, e.stays)
		if s != undecided {
			return v, s
		}
		crashed = v
	}
	if crashed != r.Timeline.Last() || r.Superseded != nil {
		return nil, undecided
	}
	return crashed, e.stayed(pods, 0, e.returned) // the status does not show a short crash
}

// podsOf returns the Pods whose crash shows that r has not converged. The children of a stand-in are not known.
func (e *Endings) podsOf(r *change.Reconciliation) []*change.Timeline {
	if r.Folded {
		return e.living(nil, r.Timeline)
	}
	return podsBelow(nil, r)
}

// living appends the present Pods below t to out.
func (e *Endings) living(out []*change.Timeline, t *change.Timeline) []*change.Timeline {
	for _, below := range e.known.Dependants(t.Ref.UID) {
		switch last := below.Last(); {
		case last == nil, below.Removal != nil:
		case last.Pod != nil:
			out = append(out, below)
		case last.Workload != nil:
			out = e.living(out, below)
		}
	}
	return out
}

// stayed returns the state of all Pods at the resourceVersion rv: undecided before open before ended.
func (e *Endings) stayed(pods []*change.Timeline, rv uint64, of func(*change.Timeline, uint64) state) state {
	s := ended
	for _, p := range pods {
		s = min(s, of(p, rv))
	}
	return s
}

// returned is like stays, for a Pod that may have crashed before: it is open until the Pod is ready again.
func (e *Endings) returned(t *change.Timeline, _ uint64) state {
	last := t.Last()
	if last == nil || last.Pod == nil || t.Removal != nil || !last.Deleting.IsZero() {
		return ended
	}
	i := len(t.Versions) - 1
	for i > 0 && judge.Converged(t.Versions[i-1]) && change.Lasts(t.Versions[i-1], t.Versions[i:]) {
		i--
	}
	if !judge.Converged(last) || needsProof(last) && !e.clock.Passed(t.Versions[i].Seen, judge.Steady) {
		return open
	}
	return ended
}

// stays tells whether a Pod that was ready at the resourceVersion rv stayed ready: ended if it did, or was not
// ready; open if that is not known yet; undecided if it crashed.
func (e *Endings) stays(t *change.Timeline, rv uint64) state {
	i, _ := t.Position(rv + 1)
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
