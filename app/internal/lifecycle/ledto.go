// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/kube-lifeline/lifeline/app/internal/cause"
	"github.com/kube-lifeline/lifeline/app/internal/change"
	"github.com/kube-lifeline/lifeline/app/internal/history"
	"github.com/kube-lifeline/lifeline/app/internal/object"
	"github.com/kube-lifeline/lifeline/app/internal/problem"
	"github.com/kube-lifeline/lifeline/app/internal/reason"
)

// cause returns the change that led to the problem f of top: that of the fields in question, or one of the blamed
// object just before, or else the one since which top has not worked. It is nil without one.
func (p *problems) cause(top, blamed *off, f *problem.Failing) *problem.Cause {
	if c := p.byFields(blamed); c != nil {
		return c
	}
	if f.Shared && f.Blamed != nil {
		for _, t := range p.known.Named(object.NameOf(f.Blamed)) {
			d := p.derived(t)
			if d == nil {
				continue
			}
			r := newestChange(d, t)
			if r != nil && top.onset.At.Sub(r.Began()).Abs() <= problem.Lasting {
				return causeOf(d, r)
			}
		}
	}
	t := top.t
	if d := p.derived(t); d != nil {
		r := newestChange(d, t)
		late := r != nil && converged(t.Last()) && r.Began().Sub(top.onset.At) > problem.Lasting
		if r == nil || late || worked(r, top.onset.At, enough(blamed)) {
			return nil
		}
		return causeOf(d, r)
	}
	if past := t.Past; past != nil && past.Verb != history.Deleted && ledTo(past, top) {
		return &problem.Cause{TraceID: past.TraceID.String()} // the rest is forgotten
	}
	return nil
}

// ledTo reports whether the forgotten change of top led to its problem: top has not had its desired state since, or has
// it and did not work from the beginning.
func ledTo(past *change.Past, top *off) bool {
	if !converged(top.t.Last()) {
		return past.Arrived == 0
	}
	return top.onset.At.Sub(time.Unix(past.Began, 0)).Abs() <= problem.Lasting
}

// derived returns the derivation with t, or nil.
func (p *problems) derived(t *change.Timeline) *derivation {
	if g := p.groups.of[t]; g != nil {
		return g.derived
	}
	return nil
}

// newestChange returns the newest reconciliation of t that changed more than metadata, or nil.
func newestChange(d *derivation, t *change.Timeline) *change.Reconciliation {
	for _, r := range slices.Backward(d.placed.Of(t)) {
		if !r.Instant {
			return r
		}
	}
	return nil
}

// worked reports whether the object of r had its desired state after r for a time, before the onset of its problem.
func worked(r *change.Reconciliation, onset time.Time, enough time.Duration) bool {
	v := r.ConvergedBy(^uint64(0))
	return v != nil && onset.Sub(v.Seen) > enough
}

// enough returns the time with the desired state after which a change did not lead to the reason of o. A program may
// take a while to crash.
func enough(o *off) time.Duration {
	if o.lasting() > problem.Lasting {
		return stalled
	}
	return problem.Lasting
}

// byFields returns the newest change of the fields of the reason of o, or nil.
func (p *problems) byFields(o *off) *problem.Cause {
	var newest *change.Reconciliation
	var in *derivation
	for _, f := range o.reason.Fields {
		of := []*change.Timeline{o.t}
		if f.Of != (object.Ref{}) {
			of = p.known.Named(object.NameOf(&f.Of))
		}
		for _, t := range of {
			d := p.derived(t)
			if d == nil {
				continue
			}
			for _, r := range slices.Concat(d.placed.Of(t), d.placed.Instants(t.Ref.UID)) {
				if !r.Folded && wrote(r, f) && (newest == nil || r.First().RV > newest.First().RV) {
					newest, in = r, d
				}
			}
		}
	}
	if newest == nil {
		return nil
	}
	return causeOf(in, newest)
}

// listKey is the key of a list item in a path.
var listKey = regexp.MustCompile(`\[[^]]*=[^]]*\]`)

// wrote reports whether r created the object, or changed the field or one below it.
func wrote(r *change.Reconciliation, f reason.Field) bool {
	if r.Verb == history.Created {
		return !f.Changed
	}
	return slices.ContainsFunc(r.Edits().Paths(), func(path string) bool {
		rest, below := strings.CutPrefix(listKey.ReplaceAllString(path, ""), f.Path)
		return below && (rest == "" || rest[0] == '.' || rest[0] == '[')
	})
}

// causeOf returns the change of r: the first write of its trace, with its author.
func causeOf(d *derivation, r *change.Reconciliation) *problem.Cause {
	l := r.Lineage
	out := &problem.Cause{TraceID: l.ID.String()}
	if l.Run != nil {
		out.Command, out.Start = object.Bound(l.Run.Command), l.Run.Start
	}
	if len(l.Reconciliations) == 0 {
		return out
	}
	root := l.Reconciliations[0]
	if root.Folded {
		return out
	}
	w := root.First()
	if out.Start.IsZero() {
		out.Start = d.trail.Began(w).At().Time
	}
	ref := root.Timeline.Ref
	out.Object, out.Verb, out.Who = &ref, root.Verb.String(), object.Bound(cause.Author(d.scene, w))
	if q := d.trail.Audited(w); q != nil && q.User != "" && !q.Unauthenticated {
		out.Who = object.Bound(q.User)
	}
	edits := root.Edits()
	if len(edits) > 0 {
		out.Fields = edits.Paths()
	}
	if root.Verb == history.Updated {
		out.Edits = edits.Words()
	}
	return out
}
