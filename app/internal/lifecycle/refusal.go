// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/kube-lifeline/lifeline/app/internal/audit"
	"github.com/kube-lifeline/lifeline/app/internal/change"
	"github.com/kube-lifeline/lifeline/app/internal/history"
	"github.com/kube-lifeline/lifeline/app/internal/observation"
	"github.com/kube-lifeline/lifeline/app/internal/span"
)

// Bounds of the stored refused writes: the objects, the kinds of refusal per object, and the
// requests per kind. Further requests of a kind are only counted.
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

// refusal holds the refused requests of one user for one reason: the first requests, in order, and
// the number of further ones. A loop of conflicts is one refusal.
type refusal struct {
	writes  []*observation.Write
	repeats int
	last    time.Time
	// handedOut means that the refusal was handed out as a separate trace. Its repeats are not handed
	// out.
	handedOut bool
}

// sameRefusal reports whether two refused requests are of the same kind.
func sameRefusal(a, b *observation.Write) bool {
	return a.Verb == b.Verb && a.Subresource == b.Subresource && a.Code == b.Code && a.Reason == b.Reason &&
		a.User == b.User && a.Manager == b.Manager
}

// refuse adds a refused request that was not observed before.
func (e *Engine) refuse(w *observation.Write) {
	id := identify(w)
	if t := e.object(id.UID); id.UID != "" && t != nil && e.lateRefusal(t, w) {
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
	defer e.changedRefusal(id)
	of.last = history.Later(of.last, w.End)
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
	r.last = history.Later(r.last, w.End)
	if r.handedOut {
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

// dropRefusals makes room. It drops one eighth of the refusals, the oldest ones.
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

func compareRefused(a, b change.Refused) int { return compareWrites(a.Write, b.Write) }

// placeRefusals adds each refused write to an open reconciliation: that of its object, or that of
// the owner for a refused creation. Any other change that was requested in vain becomes a separate
// trace.
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
				if e.contradicted(w) || seen[w.AuditID] || kind.handedOut {
					continue
				}
				repeats := 0
				if i == len(kind.writes)-1 {
					repeats = kind.repeats
				}
				if r := d.drainOf(id, w); r != nil {
					r.Refused = append(r.Refused, change.Refused{Write: w, Repeats: repeats})
					r.Lineage.Latest = history.Later(r.Lineage.Latest, kind.last.Add(evictionRetry))
					d.refusals[kind] = append(d.refusals[kind], r.Lineage)
				} else if r := d.openAt(id, w); r != nil {
					r.Refused = append(r.Refused, change.Refused{Write: w, Repeats: repeats})
					d.refusals[kind] = append(d.refusals[kind], r.Lineage)
				} else if !looksAgain(w) {
					d.standAlone(kind, w, repeats)
				}
			}
		}
	}
}

// requested returns the audit IDs of the requests that were observed outside the audit log.
func (d *derivation) requested() map[string]bool {
	out := map[string]bool{}
	for _, w := range d.engine.refused {
		out[w.AuditID] = true
	}
	for t := range d.group.members {
		for _, w := range t.Requests() {
			out[w.AuditID] = true
		}
	}
	delete(out, "")
	return out
}

// openAt returns the open reconciliation at the time of the refused request, or nil. It is the last
// that had begun by then and had not ended.
func (d *derivation) openAt(id subject, w *observation.Write) *change.Reconciliation {
	var timelines []*change.Timeline
	switch {
	case id.UID != "":
		timelines = append(timelines, d.Object(id.UID))
	case id.Owner != "":
		timelines = append(timelines, d.Object(id.Owner))
	default:
		timelines = d.engine.named(id)
	}
	var found *change.Reconciliation
	for _, t := range timelines {
		if t == nil {
			continue
		}
		for _, r := range d.historyOf(t) {
			if r.Timeline.Past != nil && r.First().Version == nil && r.ArrivedFrom == nil && r.Done {
				continue // remembered, and already handed out
			}
			if d.Start(r).At().After(w.End.Add(audit.Skew)) {
				continue
			}
			d.Conclude(r)
			if r.Done && r.Ended.At.At().Before(w.Start.Add(-audit.Skew)) {
				continue
			}
			if found != nil && found.Timeline != t {
				return nil // ambiguous: both objects are possible
			}
			found = r
		}
	}
	return found
}

// evictionRetry is the time after which kubectl drain repeats a refused eviction.
const evictionRetry = 5 * time.Second

// drainOf returns the cordon of the drain to which a refused eviction belongs, or nil.
func (d *derivation) drainOf(id subject, w *observation.Write) *change.Reconciliation {
	if node := d.engine.evictedFrom(id, w); node != "" && !w.Unauthenticated {
		return d.Drain(node, w.User, w.End)
	}
	return nil
}

// evictedFrom returns the Node of the Pod of a refused eviction, or "".
func (e *Engine) evictedFrom(id subject, w *observation.Write) string {
	if w.Subresource != "eviction" || id.Owner != "" {
		return ""
	}
	pods := []*change.Timeline{e.object(id.UID)}
	if id.UID == "" {
		pods = e.named(id)
	}
	for _, t := range pods {
		if t == nil {
			continue
		}
		if v := t.Last(); v != nil && v.Pod != nil && v.Pod.Node != "" {
			return v.Pod.Node
		}
	}
	return ""
}

// looksAgain reports whether a refused request only makes a controller read the object again. Such
// a request is not an intended change.
func looksAgain(w *observation.Write) bool {
	switch {
	case w.Controller != "", w.Subresource == "status", w.Subresource == "finalize":
		return true
	case w.Code == 404 && history.RequestVerb(w) == history.Deleted:
		return true // the object is already gone, as requested
	case strings.HasPrefix(w.User, "system:node:"), strings.HasPrefix(w.User, "system:kube-"),
		strings.HasPrefix(w.User, "system:serviceaccount:kube-system:"), w.User == "system:apiserver":
		return true
	case strings.HasPrefix(w.User, "system:serviceaccount:"):
		return w.Code == 409
	}
	return false
}

// standAlone makes a refused change a separate trace. The trace ID is derived from the first
// request of its kind.
func (d *derivation) standAlone(kind *refusal, w *observation.Write, repeats int) {
	first := kind.writes[0]
	id := span.DeriveTraceID(d.opts.Cluster, "refused", first.AuditID, first.Start.UTC().Format(time.RFC3339Nano))
	l := d.Lines[id]
	if l == nil {
		l = &change.Lineage{ID: id, First: ^uint64(0), Vain: true}
		d.Lines[id] = l
	}
	l.Refused = append(l.Refused, change.Refused{Write: w, Repeats: repeats})
	l.Latest = history.Later(l.Latest, kind.last)
	d.refusals[kind] = append(d.refusals[kind], l)
}

// refusalText returns the reason of a refused write. A webhook may omit the reason.
func refusalText(w *observation.Write) string {
	switch {
	case w.Reason == "":
		return w.Message
	case w.Message == "":
		return w.Reason
	}
	return w.Reason + ": " + w.Message
}

// refusedSpan returns the span of a refused write.
func refusedSpan(r change.Refused, l *change.Lineage) *span.Span {
	s := auditSpan(l, r.Write)
	s.Status, s.Outcome = span.StatusError, span.Failed
	if r.Repeats > 0 {
		s.Attributes = append(s.Attributes, span.KeyRepeats.Int(r.Repeats))
	}
	return s
}

// forgetRefusals forgets the refusals that were handed out, and the old ones without a trace. It
// reports whether anything changed.
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
			lines, out, was := d.refusals[kind], 0, kind.handedOut
			for _, l := range lines {
				if _, taken := e.taken[l.ID]; taken {
					out++
					kind.handedOut = kind.handedOut || l.Vain
				}
			}
			changed = changed || kind.handedOut != was
			old := now.Sub(kind.last) > retention
			switch {
			case kind.handedOut:
				return old
			case len(lines) > 0:
				return out == len(lines)
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
