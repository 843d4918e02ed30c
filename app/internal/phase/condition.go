// SPDX-License-Identifier: Apache-2.0

package phase

import (
	"go.opentelemetry.io/otel/attribute"

	"github.com/kube-lifeline/lifeline/app/internal/change"
	"github.com/kube-lifeline/lifeline/app/internal/history"
	"github.com/kube-lifeline/lifeline/app/internal/kind"
	"github.com/kube-lifeline/lifeline/app/internal/kind/judge"
	"github.com/kube-lifeline/lifeline/app/internal/observation"
	"github.com/kube-lifeline/lifeline/app/internal/span"
)

// conditionPhases returns the waits of a kind with conditions: from a condition that is not True
// until it is True.
func (s *Steps) conditionPhases(r *change.Reconciliation) []Step {
	if r.Verb == history.Deleted {
		return nil
	}
	var out []Step
	waiting, waits := map[string]*Step{}, map[string]int{}
	until := ^uint64(0)
	if r.Superseded != nil {
		until = r.Superseded.RV
	}
	if v := r.ConvergedBy(until); v != nil {
		until = v.ResourceVersion
	}
	for i := range r.Timeline.Versions {
		v := r.Timeline.Versions[i]
		if v.ResourceVersion < r.First().RV || v.ResourceVersion > until {
			continue
		}
		for j := range v.Conditions {
			c := v.Conditions[j]
			p, attempt := waiting[c.Type], 0
			switch {
			case c.Status == "True" && p != nil:
				p.end, p.message = s.from.Times.StoredIn(r.Timeline, v, c.Since), ""
				out = append(out, *p)
				delete(waiting, c.Type)
			case c.Status != "True" && p == nil:
				if waits[c.Type]++; waits[c.Type] > 1 {
					attempt = waits[c.Type]
				}
				waiting[c.Type] = &Step{
					name:    span.NameCondition,
					service: setter(r.Timeline, v),
					key:     c.Type,
					attempt: attempt,
					start:   s.since(r, v, c),
					message: judge.ConditionText(c),
					attrs:   []attribute.KeyValue{span.KeyCondition.String(span.Bound(c.Type))},
				}
			case p != nil:
				p.message = judge.ConditionText(c)
			}
		}
	}
	if !r.Done {
		if last := r.Timeline.Last(); last != nil {
			for _, c := range last.Conditions {
				if p := waiting[c.Type]; p != nil && kind.IsGoal(c.Type) {
					out = append(out, *p)
				}
			}
		}
	}
	return out
}

// since returns the start of the wait for a condition: the start of the reconciliation, or the loss
// of the condition.
func (s *Steps) since(r *change.Reconciliation, v *history.Version, c *observation.Condition) history.Moment {
	if v.ResourceVersion > r.First().RV && c.Since.After(r.First().At.At().Time) {
		first := true
		for i := range r.Timeline.Versions {
			u := r.Timeline.Versions[i]
			if u.ResourceVersion >= v.ResourceVersion {
				break
			}
			if u.ResourceVersion >= r.First().RV && u.Condition(c.Type) != nil {
				first = false
			}
		}
		if !first {
			return s.from.Times.StoredIn(r.Timeline, v, c.Since)
		}
	}
	return s.from.Times.Start(r)
}

// setter returns the component that set a condition: the writer of the status of that version.
func setter(t *change.Timeline, v *history.Version) string {
	if m := change.Writer(nil, v, false); m != "" {
		if m == change.Manager {
			return change.Reconciler(t)
		}
		return change.Component(m)
	}
	return change.Reconciler(t)
}
