// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"time"
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
	for id, at := range e.taken {
		if now.Sub(at) > e.opts.Patience {
			delete(e.taken, id)
			delete(e.runs, id)
		}
	}
}

// fold replaces the versions, requests and Events of t by the newest version
// and its last reconciliation.
func (t *timeline) fold(last *reconciliation, d *derivation) {
	rec := reconciliation{
		t: t, evidence: last.evidence, verb: last.verb, activity: last.activity, spanID: last.id(),
		line: &lineage{id: last.line.id}, ended: last.ended, done: true,
	}
	first := *last.first()
	first.v, first.prev, first.req = nil, nil, nil
	rec.writes = []write{first}
	t.past = &past{rec: rec}
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
	r := t.past.rec
	d.recs[t.ref.UID] = append(d.recs[t.ref.UID], &r)
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
