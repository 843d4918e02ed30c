// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"time"

	"go.opentelemetry.io/otel/trace"
)

// retention is how long an object is remembered after it is gone: its
// replacement may come later.
const retention = 2 * time.Minute

// compact forgets what only traces needed that were taken: of an object that
// has arrived, its newest version and the name of its last reconciliation are
// kept.
func (e *Engine) compact(d *derivation, now time.Time) {
	for uid, t := range e.objects {
		recs := d.recs[uid]
		open := false
		for _, r := range recs {
			if _, taken := e.taken[r.line.id]; !taken {
				open = true
			}
		}
		if open {
			continue
		}
		if t.removal != nil {
			if now.Sub(t.removal.seen) > retention {
				delete(e.objects, uid)
			}
			continue
		}
		if len(recs) > 0 {
			t.fold(recs[len(recs)-1], d)
		}
	}
	e.shared = newShared() // what it knows is of what was forgotten
	for id, at := range e.taken {
		if now.Sub(at) > e.opts.Patience {
			delete(e.taken, id)
			delete(e.runs, id)
		}
	}
}

// past is what a compacted timeline still knows of its last reconciliation.
type past struct {
	line     trace.TraceID
	span     trace.SpanID
	verb     verb
	rv       uint64
	activity time.Time
	// replaced: it was lost, and its controller has made another.
	replaced bool
}

// fold replaces the versions, requests and Events of t by the newest version
// and the name of its last reconciliation.
func (t *timeline) fold(last *reconciliation, d *derivation) {
	t.past = &past{line: last.line.id, span: last.id(), verb: last.verb, rv: last.first().rv, activity: last.activity}
	if o := d.departedOf(t); o != nil {
		t.past.replaced = o.replaced
	}
	if n := len(t.versions); n > 1 {
		t.versions = []*version{t.versions[n-1]}
	}
	if len(t.versions) == 1 {
		t.versions[0].baseline = true
	}
	t.events, t.requests = nil, nil
}

// remember puts the last reconciliation of a compacted timeline back in its
// place, so that what follows is told from it.
func (d *derivation) remember(t *timeline) {
	p := t.past
	r := &reconciliation{
		t: t, line: &lineage{id: p.line}, spanID: p.span, verb: p.verb, activity: p.activity, done: true,
		writes: []*write{{t: t, rv: p.rv, verb: p.verb, part: desired}},
	}
	d.recs[t.ref.UID] = append(d.recs[t.ref.UID], r)
}

func (d *derivation) departedOf(t *timeline) *departure {
	for _, list := range d.departed {
		for _, dep := range list {
			if dep.t == t {
				return dep
			}
		}
	}
	return nil
}
