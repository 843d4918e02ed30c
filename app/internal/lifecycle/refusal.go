// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/kube-lifeline/lifeline/app/internal/observation"
	"github.com/kube-lifeline/lifeline/app/internal/span"
)

// Bounds of the refused writes that are kept: objects, kinds of refusal of one
// object, and requests of one kind. Whatever comes beyond the last is counted.
const (
	maxRefused  = 1 << 12
	maxRefusals = 16
	maxAlike    = 4
)

// refusals are the writes to one object that the API server refused, by kind.
type refusals struct {
	kinds []*refusal
	last  time.Time
}

// refusal is what was refused to one user for one reason: the first requests,
// in order, and how many more there were. A loop of conflicts is one.
type refusal struct {
	writes  []*observation.Write
	repeats int
	last    time.Time
	// told: it was handed out as a trace of its own; what repeats it is not.
	told bool
}

// sameRefusal reports whether two refused requests are of one kind.
func sameRefusal(a, b *observation.Write) bool {
	return a.Verb == b.Verb && a.Subresource == b.Subresource && a.Code == b.Code && a.Reason == b.Reason &&
		a.User == b.User && a.Manager == b.Manager
}

// refuse takes in a refused request that was not seen before.
func (e *Engine) refuse(w *observation.Write) {
	id := identify(w)
	if t := e.objects[id.uid]; id.uid != "" && t != nil && e.lateRefusal(t, w) {
		return
	}
	of := e.trail.refusals[id]
	if of == nil {
		if len(e.trail.refusals) >= maxRefused {
			e.dropRefusals()
		}
		of = &refusals{}
		e.trail.refusals[id] = of
	}
	e.changedRefusal(id)
	of.last = later(of.last, w.End)
	i := slices.IndexFunc(of.kinds, func(r *refusal) bool { return sameRefusal(r.writes[0], w) })
	if i < 0 {
		if len(of.kinds) >= maxRefusals {
			e.tally.Dropped++
			return
		}
		i = len(of.kinds)
		of.kinds = append(of.kinds, &refusal{})
		of.kinds[i].writes = []*observation.Write{w}
		of.kinds[i].last = w.End
		return
	}
	r := of.kinds[i]
	r.last = later(r.last, w.End)
	if r.told {
		r.repeats++
		e.tally.Repeated++
		return
	}
	r.writes = addWrite(r.writes, w)
	if len(r.writes) > maxAlike {
		r.writes = slices.Clone(r.writes[:maxAlike])
		r.repeats++
		e.tally.Repeated++
	}
}

// dropRefusals makes room: what was refused longest ago goes, an eighth at a
// time.
func (e *Engine) dropRefusals() {
	all := slices.SortedFunc(maps.Keys(e.trail.refusals), func(a, b subject) int {
		return cmp.Or(e.trail.refusals[a].last.Compare(e.trail.refusals[b].last), compareSubjects(a, b))
	})
	for _, id := range all[:maxRefused/8] {
		delete(e.trail.refusals, id)
		e.tally.Dropped++
	}
	e.groups.changeAll()
}

// refused is a refused write on the reconciliation that it belongs to.
type refused struct {
	*observation.Write
	// repeats is how many more there were like it.
	repeats int
}

func compareRefused(a, b refused) int { return compareWrites(a.Write, b.Write) }

// placeRefusals finds the reconciliation that each refused write belongs to: the
// one of its object, or of the owner of what was not created, that was open. A
// change that somebody asked for in vain is a trace of its own.
func (d *derivation) placeRefusals() {
	e := d.engine
	if len(d.group.refusals) == 0 {
		return
	}
	seen := d.requested()
	for id := range d.group.refusals {
		of := e.trail.refusals[id]
		if of == nil {
			continue
		}
		for _, kind := range of.kinds {
			for i, w := range kind.writes {
				if e.contradicted(w) || seen[w.AuditID] || kind.told {
					continue
				}
				repeats := 0
				if i == len(kind.writes)-1 {
					repeats = kind.repeats
				}
				if r := d.openAt(id, w); r != nil {
					r.refused = append(r.refused, refused{w, repeats})
					d.refusals[kind] = append(d.refusals[kind], r.line)
				} else if !looksAgain(w) {
					d.standAlone(kind, w, repeats)
				}
			}
		}
	}
}

// requested are the audit IDs of the requests that were seen on their way.
func (d *derivation) requested() map[string]bool {
	out := map[string]bool{}
	for _, w := range d.engine.refused {
		out[w.AuditID] = true
	}
	for t := range d.group.members {
		for _, w := range t.requests {
			out[w.AuditID] = true
		}
	}
	delete(out, "")
	return out
}

// openAt is the reconciliation that was open when the request was refused, nil
// if there is none: the last that had begun by then, unless it had ended.
func (d *derivation) openAt(id subject, w *observation.Write) *reconciliation {
	var timelines []*timeline
	switch {
	case id.uid != "":
		timelines = append(timelines, d.engine.objects[id.uid])
	case id.owner != "":
		timelines = append(timelines, d.engine.objects[id.owner])
	default:
		timelines = d.engine.named(id)
	}
	var found *reconciliation
	for _, t := range timelines {
		if t == nil {
			continue
		}
		for _, r := range d.history(t.ref.UID) {
			if r.t.past != nil && r.first().v == nil && r.arrivedFrom == nil && r.done {
				continue // remembered, and told
			}
			if d.start(r).at().After(w.End.Add(skew)) {
				continue
			}
			d.conclude(r)
			if r.done && r.ended.at.at().Before(w.Start.Add(-skew)) {
				continue
			}
			if found != nil && found.t != t {
				return nil // either may be meant
			}
			found = r
		}
	}
	return found
}

// looksAgain reports whether a refused request is one of those by which
// controllers find out that they must look again: it is no change that
// somebody wanted.
func looksAgain(w *observation.Write) bool {
	switch {
	case w.Controller != "", w.Subresource == "status", w.Subresource == "finalize":
		return true
	case w.Code == 404 && requestVerb(w) == deleted:
		return true // it is gone, as was wanted
	case strings.HasPrefix(w.User, "system:node:"), strings.HasPrefix(w.User, "system:kube-"),
		strings.HasPrefix(w.User, "system:serviceaccount:kube-system:"), w.User == "system:apiserver":
		return true
	case strings.HasPrefix(w.User, "system:serviceaccount:"):
		return w.Code == 409
	}
	return false
}

// standAlone makes a refused change a trace of its own. Its ID is derived from
// the first request of its kind.
func (d *derivation) standAlone(kind *refusal, w *observation.Write, repeats int) {
	first := kind.writes[0]
	id := span.DeriveTraceID(d.opts.Cluster, "refused", first.AuditID, first.Start.UTC().Format(time.RFC3339Nano))
	l := d.lines[id]
	if l == nil {
		l = &lineage{id: id, first: ^uint64(0), vain: true}
		d.lines[id] = l
	}
	l.refused = append(l.refused, refused{w, repeats})
	l.latest = later(l.latest, kind.last)
	d.refusals[kind] = append(d.refusals[kind], l)
}

// refusalText is why a write was refused; a webhook need not give a reason.
func refusalText(w *observation.Write) string {
	switch {
	case w.Reason == "":
		return w.Message
	case w.Message == "":
		return w.Reason
	}
	return w.Reason + ": " + w.Message
}

// span is that of a refused write.
func (r refused) span(l *lineage) *span.Span {
	s := auditSpan(l, r.Write)
	s.Status, s.Outcome = span.StatusError, span.Failed
	if r.repeats > 0 {
		s.Attributes = append(s.Attributes, span.KeyRepeats.Int(r.repeats))
	}
	return s
}

// forgetRefusals forgets what was told, and what nobody will tell. It reports whether there was any.
func (e *Engine) forgetRefusals(d *derivation, now time.Time) bool {
	changed := false
	for id := range d.group.refusals {
		of := e.trail.refusals[id]
		if of == nil {
			delete(d.group.refusals, id)
			changed = true
			continue
		}
		n := len(of.kinds)
		of.kinds = slices.DeleteFunc(of.kinds, func(kind *refusal) bool {
			lines, told, was := d.refusals[kind], 0, kind.told
			for _, l := range lines {
				if _, taken := e.taken[l.id]; taken {
					told++
					kind.told = kind.told || l.vain
				}
			}
			changed = changed || kind.told != was
			old := now.Sub(kind.last) > retention
			switch {
			case kind.told:
				return old
			case len(lines) > 0:
				return told == len(lines)
			}
			if old {
				e.tally.Passed += uint64(len(kind.writes))
			}
			return old
		})
		changed = changed || len(of.kinds) < n
		if len(of.kinds) == 0 {
			delete(e.trail.refusals, id)
			delete(d.group.refusals, id)
		}
	}
	return changed
}
