// SPDX-License-Identifier: Apache-2.0

package change

import (
	"slices"
	"time"

	"github.com/kube-lifeline/lifeline/app/internal/history"
	"github.com/kube-lifeline/lifeline/app/internal/kind"
	"github.com/kube-lifeline/lifeline/app/internal/kind/judge"
	"github.com/kube-lifeline/lifeline/app/internal/observation"
)

// Rebuilt is a write concluded from its effects: its verb, and the start and end of its
// reconciliation, in whole seconds. A zero end means that the reconciliation is under way.
type Rebuilt struct {
	Verb       history.Verb
	Start, End time.Time
}

// reconstructs reports whether the baseline version v is shown as a reconciliation.
func (t *Timeline) reconstructs(v *history.Version, rebuild bool) bool {
	return v.Reconciled && (Found(v) || rebuild)
}

// Found reports whether the baseline version v is in the middle of a reconciliation: in deletion,
// or neither converged nor failed, or a lost Node. The controller of a Deployment goes on after its deadline.
func Found(v *history.Version) bool {
	failed := judge.Failure(v) != "" && !kind.Deployment.Is(v.Kind)
	return !v.Deleting.IsZero() || !judge.Converged(v) && !failed || judge.Lost(v)
}

// reconstruct returns the write before the baseline version v (rule L7). v has not converged, or
// how is that write.
func reconstruct(t *Timeline, v *history.Version, how *Rebuilt) Write {
	w := Write{
		Timeline:      t,
		RV:            v.ResourceVersion,
		Verb:          history.Updated,
		Part:          Desired,
		Version:       v,
		Reconstructed: true,
	}
	w.Manager = Writer(nil, v, true)
	switch {
	case how != nil:
		w.Verb, w.At, w.Arrived = how.Verb, history.Whole(how.Start), how.End
	case !v.Deleting.IsZero():
		w.Verb = history.Deleted
		w.At = history.Whole(v.Deleting.Add(-time.Duration(v.GraceSeconds) * time.Second))
	case judge.Lost(v):
		w.Manager, w.Changed.Paths = Manager, judge.LossTaints(v)
		w.At = history.Whole(v.Created)
		if c := v.Condition("Ready"); c != nil {
			w.At = history.Whole(c.Since)
		}
	case v.Generation <= 1:
		w.Verb = history.Created
		w.At = history.Whole(v.Created)
	default:
		w.At = history.Whole(v.Created)
		for _, m := range v.Managers {
			if m.Subresource == "" && m.Time.After(w.At.Lo) {
				w.At = history.Whole(m.Time)
			}
		}
		if slices.ContainsFunc(v.Managers, func(m *observation.Manager) bool {
			return m.Subresource == "scale" && m.Time.IsZero()
		}) {
			w.At = history.Between(w.At.Lo, v.Seen) // a later scaling has no time
		}
	}
	return w
}
