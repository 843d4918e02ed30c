// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"slices"
	"strconv"
	"time"

	"go.opentelemetry.io/otel/trace"

	"github.com/kube-lifeline/lifeline/app/internal/kind"
	"github.com/kube-lifeline/lifeline/app/internal/observation"
	"github.com/kube-lifeline/lifeline/app/internal/span"
)

// lineage is a trace in the making: what one change caused.
type lineage struct {
	id  trace.TraceID
	run *observation.Run
	// first orders lineages: the resourceVersion of the first write.
	first uint64
	recs  []*reconciliation
	// loose are writes that belong to the trace and to no reconciliation:
	// those to objects that nobody reconciles, and refused ones.
	loose []*observation.Write
	// refused are refused writes that belong to no reconciliation; vain says
	// that there is nothing else: somebody asked for a change in vain.
	refused []refused
	vain    bool
	// follows are the lineages that this one heals after.
	follows []*lineage
	// old: only folded timelines remember it.
	old bool
	// latest is when its last write happened or was heard of.
	latest time.Time
}

// reconciliation is one object on its way to one desired state, within one
// trace.
type reconciliation struct {
	t    *timeline
	line *lineage

	parent *reconciliation
	// above is the span that is the parent where no reconciliation is: a
	// run's root, or a context from outside (then remote is set).
	above    trace.SpanID
	remote   bool
	evidence span.Evidence
	links    []span.Link

	verb verb
	// took are the parts of the desired state that its writes changed; parts are those that no later
	// write of another trace has changed.
	took, parts kind.Part
	writes      []*write // to desired state, in order
	notes       []*write // to observed state and bookkeeping, own or of owners
	heals       *timeline
	// refused are writes to the object, or to one that it was to own, that the
	// API server refused meanwhile.
	refused []refused
	// start is when it began, as it is told.
	start *moment

	// arrived is the first version after the write arrivedFrom in which the
	// object had converged; see convergedBy.
	arrived      *version
	arrivedFrom  *write
	arrivedParts kind.Part
	// superseded is the write of another trace that replaced this one.
	superseded *write
	// next is the write that began the object's next reconciliation, if there
	// was one, superseded or not.
	next *write
	// activity is when the reconciliation, or one that it caused, last wrote.
	activity time.Time
	// progressed is when it, or one that it caused, last got further; see progresses.
	progressed time.Time
	spanID     trace.SpanID
	// admitted says that spanID was given at admission, and is not derived.
	admitted bool
	children []*reconciliation
	// folded: it stands for a reconciliation of which only the name is remembered.
	folded bool
	// instant means that it changed metadata alone, which holds as soon as it is stored.
	instant bool
	// ended and done are the conclusion: how it ended, if it has.
	ended     end
	done      bool
	concluded bool
}

func (r *reconciliation) first() *write { return r.writes[0] }
func (r *reconciliation) last() *write  { return r.writes[len(r.writes)-1] }

// wrote adds a write to desired state.
func (r *reconciliation) wrote(w *write) {
	w.fate, w.rec = traced, r
	r.writes = append(r.writes, w)
}

// note adds another write.
func (r *reconciliation) note(w *write) {
	w.fate, w.rec = step, r
	r.notes = append(r.notes, w)
}

// openAt reports whether the reconciliation was still under way just before
// the write w of somebody else.
func (r *reconciliation) openAt(w *write, quiet time.Duration) bool {
	switch {
	case r.superseded != nil, r.instant:
		return false
	case r.verb == deleted:
		return true // its dependants are part of it
	case r.convergedBy(w.rv) == nil:
		return true
	}
	return opaque(r.t) && w.at.at().Sub(r.activity) <= quiet
}

// id derives the ID of the reconciliation's span.
func (r *reconciliation) id() trace.SpanID {
	if !r.spanID.IsValid() {
		r.spanID = span.DeriveID(r.line.id, string(r.t.ref.UID), "reconcile", string(r.verb), r.first().which())
	}
	return r.spanID
}

// which distinguishes the writes of one verb to one object, for every observer alike (rules I2 to
// I4): an update by the generation that it raised, or else by its resourceVersion.
func (w *write) which() string {
	switch w.verb {
	case deleted:
		return ""
	case created:
		return "1"
	}
	if g := w.raised(); g > 0 {
		return strconv.FormatInt(g, 10)
	}
	return "@" + strconv.FormatUint(w.rv, 10)
}

// raised returns the generation that an update raised, or 0. A first version that is listed raised
// its generation at some time.
func (w *write) raised() int64 {
	var generation, before int64
	switch {
	case w.v != nil:
		generation = w.v.Generation
	case w.req != nil:
		generation = w.req.Generation
	case w.audit != nil:
		generation = w.audit.Generation
	}
	if w.prev != nil {
		before = w.prev.Generation
	} else if i, _ := w.t.position(w.rv); i > 0 {
		before = w.t.versions[i-1].Generation
	}
	if generation <= before {
		return 0
	}
	return generation
}

// settled reports whether the trace has ended and been quiet for the window.
func (d *derivation) settled(l *lineage, now time.Time) bool {
	if l.run != nil && l.run.End.IsZero() {
		return false
	}
	// A change of metadata waits for the audit log alone, unless its request was seen.
	waits := l.vain || slices.ContainsFunc(l.recs, func(r *reconciliation) bool {
		return !r.instant || r.first().req == nil
	})
	if waits && now.Sub(l.latest) < d.opts.Settle {
		return false
	}
	for _, r := range l.recs {
		if !r.done || d.behind(r, now) {
			return false
		}
	}
	return true
}
