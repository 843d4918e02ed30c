// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"math"
	"slices"
	"time"

	"github.com/kube-lifeline/lifeline/app/internal/cause"
	"github.com/kube-lifeline/lifeline/app/internal/change"
	"github.com/kube-lifeline/lifeline/app/internal/history"
	"github.com/kube-lifeline/lifeline/app/internal/observation"
)

const (
	// maxVersions is the number of versions above which the oldest ones are forgotten, although an
	// open trace has newer versions of the object. Two controllers that fight write so many.
	maxVersions = 256
	// keptVersions is the number of the newest versions that are then kept, at least. Those of the last
	// maxLag are kept, too, because the watches of other kinds may be late.
	keptVersions = 128
)

// overgrown reports whether t has too many versions to wait for a pause without an open trace.
func overgrown(t *change.Timeline) bool { return len(t.Versions) > maxVersions && t.Removal == nil }

// shortenOvergrown forgets the oldest versions of an overgrown object, and the reconciliations that they began.
// All traces with these versions were handed out.
func (k *retention) shortenOvergrown(t *change.Timeline, recs []*change.Reconciliation, d *derivation, now time.Time) {
	old := len(t.Versions) - keptVersions
	for old > 0 && now.Sub(t.Versions[old].Seen) <= change.MaxLag {
		old--
	}
	cut, n := d.handedOutTo(t, t.Versions[old].ResourceVersion), 0
	for n < len(recs) && (recs[n].Folded || recs[n].Last().RV <= cut && d.complete(recs[n])) {
		n++
	}
	if n == 0 || recs[n-1].Folded {
		return
	}
	last := recs[n-1]
	i, found := t.Position(last.Last().RV)
	if !found || i == 0 {
		return
	}
	from := t.Versions[i]
	k.recall(d, t)
	k.trail.Trim(t, from.Seen)
	t.Past = d.past(t, recs[:n])
	if last.Superseded != nil && t.Past.Arrived == 0 {
		t.Past.Arrived = last.Superseded.RV // it has ended
	}
	t.Versions = slices.Clone(t.Versions[i:])
	t.Baseline()
	t.Events = slices.DeleteFunc(t.Events, func(ev *history.Event) bool { return ev.Seen.Before(from.Seen) })
	t.SetRequests(slices.DeleteFunc(t.Requests(), func(w *observation.Write) bool {
		return w.ResourceVersion > 0 && w.ResourceVersion <= from.ObjectVersion() || w.End.Before(from.Seen)
	}))
}

// handedOutTo returns the resourceVersion up to which all writes of t were handed out, at most limit.
func (d *derivation) handedOutTo(t *change.Timeline, limit uint64) uint64 {
	cut := uint64(0)
	for _, w := range d.placed.Written {
		switch r := w.Reconciliation; {
		case w.Timeline != t:
		case w.RV > limit, r != nil && !d.placed.HandedOut(r.Lineage):
			return cut
		default:
			cut = w.RV
		}
	}
	return cut
}

// complete reports whether r and all reconciliations below it were handed out.
func (d *derivation) complete(r *change.Reconciliation) bool {
	if some, _ := d.placed.Pending(r); some {
		return false
	}
	return !slices.ContainsFunc(r.Children, func(c *change.Reconciliation) bool { return !d.complete(c) })
}

// past returns the summary of recs, the handed-out reconciliations of t. At least one is not folded.
func (d *derivation) past(t *change.Timeline, recs []*change.Reconciliation) *change.Past {
	last, template := recs[len(recs)-1], uint64(0)
	if change.ReadsConfig(t) {
		for _, r := range recs {
			template = max(template, r.TemplateBefore(math.MaxUint64))
		}
	}
	p := &change.Past{
		TraceID: last.Lineage.ID, SpanID: last.ID(), Verb: last.Verb, RV: last.First().RV, From: last.First().From(),
		Activity: last.Activity, Gone: t.Removal != nil, Began: last.First().Second(), Template: template,
		Parts: last.Took,
	}
	unproven := t.Claimed(last.ID()) != nil // what it reached has not lasted
	if v := last.ConvergedBy(math.MaxUint64); v != nil && !unproven {
		p.Arrived = v.ResourceVersion
	}
	p.Follow(t.Past, recs)
	p.Lost, p.Replaced = cause.Departed(d.scene, t)
	return p
}
