// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"go.opentelemetry.io/otel/attribute"

	"github.com/kube-lifeline/lifeline/app/internal/kind"
	"github.com/kube-lifeline/lifeline/app/internal/observation"
	"github.com/kube-lifeline/lifeline/app/internal/span"
	"github.com/kube-lifeline/lifeline/internal/message"
)

// conditionPhases are the waits of any kind that tells its progress by
// conditions: each condition that was not True, and became so.
func (d *derivation) conditionPhases(r *reconciliation) []phase {
	if r.verb == deleted {
		return nil
	}
	var out []phase
	waiting := map[string]*phase{}
	until := ^uint64(0)
	if r.superseded != nil {
		until = r.superseded.rv
	}
	if v := r.convergedBy(until); v != nil {
		until = v.ResourceVersion
	}
	for i := range r.t.versions {
		v := r.t.versions[i]
		if v.ResourceVersion < r.first().rv || v.ResourceVersion > until {
			continue
		}
		for j := range v.Conditions {
			c := v.Conditions[j]
			p := waiting[c.Type]
			switch {
			case c.Status == "True" && p != nil:
				p.end, p.message = d.storedIn(r.t, v, c.Since), ""
				out = append(out, *p)
				delete(waiting, c.Type)
			case c.Status != "True" && p == nil:
				waiting[c.Type] = &phase{
					name:    span.NameCondition,
					service: setter(r.t, v),
					key:     c.Type,
					start:   d.since(r, v, c),
					message: conditionText(c),
					attrs:   []attribute.KeyValue{span.KeyCondition.String(span.Bound(c.Type))},
				}
			case p != nil:
				p.message = conditionText(c)
			}
		}
	}
	if !r.done {
		if last := r.t.last(); last != nil {
			for _, c := range last.Conditions {
				if p := waiting[c.Type]; p != nil && kind.IsGoal(c.Type) {
					out = append(out, *p)
				}
			}
		}
	}
	return out
}

// conditionText is a condition's message. Where that is withheld, its reason says more.
func conditionText(c *observation.Condition) string {
	if c.Message == message.Withheld {
		return message.WithReason(c.Reason, c.Message)
	}
	return c.Message
}

// since is when the wait for a condition began: when the reconciliation did, or
// when the condition was lost.
func (d *derivation) since(r *reconciliation, v *version, c *observation.Condition) moment {
	if v.ResourceVersion > r.first().rv && c.Since.After(r.first().at.at().Time) {
		first := true
		for i := range r.t.versions {
			u := r.t.versions[i]
			if u.ResourceVersion >= v.ResourceVersion {
				break
			}
			if u.ResourceVersion >= r.first().rv && u.Condition(c.Type) != nil {
				first = false
			}
		}
		if !first {
			return d.storedIn(r.t, v, c.Since)
		}
	}
	return d.start(r)
}

// setter names who set a condition: the writer of that version's status.
func setter(t *timeline, v *version) string {
	if m := writer(nil, v, false); m != "" {
		if m == manager {
			return reconciler(t)
		}
		return component(m)
	}
	return reconciler(t)
}
