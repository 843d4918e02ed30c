// SPDX-License-Identifier: Apache-2.0

package change

import (
	"slices"
	"strings"
	"time"

	"go.opentelemetry.io/otel/trace"

	"github.com/kube-lifeline/lifeline/app/internal/history"
	"github.com/kube-lifeline/lifeline/app/internal/kind"
)

// Past is the summary of the last reconciliation of a compacted timeline.
type Past struct {
	TraceID trace.TraceID
	SpanID  trace.SpanID
	// RV is the resourceVersion of its first write. From is the lowest possible one: more than that of
	// the version before.
	RV, From uint64
	// Arrived is the resourceVersion of the version in which it had converged; 0 if it had not.
	Arrived uint64
	// Activity is the time of the last write by it, or by one below it.
	Activity time.Time
	Verb     history.Verb
	// Gone means that the object was removed, and that a trace with the removal was handed out.
	Gone bool
	// Lost means that the object went, and that its controller did not cause this. Replaced means
	// that the controller has made another one.
	Lost, Replaced bool
	// Parts are those that it changed. They count only beside other reconciliations that may be revised.
	Parts kind.Part
	// Began is the second of its first write, in Unix seconds; 0 if unknown.
	Began int64
	// Template is the resourceVersion of the last change of the object's Pod template. It is kept for
	// a template that refers to a ConfigMap or Secret; otherwise it is 0.
	Template uint64
	// Before holds the reconciliations shortly before it; nil if there are none, as for most
	// objects.
	Before *Before
}

// Before holds reconciliations that were followed by another one, the oldest first. Late Kubernetes
// Events may belong to them.
type Before struct{ Recs []Earlier }

// Earlier is the summary of one of these reconciliations. Its fields are those of Past.
type Earlier struct {
	TraceID  trace.TraceID
	SpanID   trace.SpanID
	RV, From uint64
	Began    int64
	Activity time.Time
}

// Instant is the summary of an instant change. Later changes of other objects may follow from it.
type Instant struct {
	TraceID trace.TraceID
	SpanID  trace.SpanID
	// RV is the resourceVersion of its first write, and At is its time.
	RV uint64
	At time.Time
	// User is the user from an authenticated audit log, and Manager is the field manager. Both may be
	// empty.
	User, Manager string
	// Paths are the changed fields.
	Paths []string
	// Revision is the ID of a published revision, or "".
	Revision string
}

// Recent holds instant changes, the oldest first. They are kept for the kinds with Kind.Recalled.
type Recent struct{ List []Instant }

const (
	// maxRecent is the maximum number of remembered instant changes of one object.
	maxRecent = 4
	// lateness is the maximum delay of an Event that is still shown, in seconds.
	lateness = 60
	// MaxEarlier is the maximum number of remembered earlier reconciliations.
	MaxEarlier = 4
)

// Follow remembers the reconciliations shortly before p: those known from was, and all of recs but
// the last, p itself. was is the Past before p, or nil. The first of recs may be was itself.
func (p *Past) Follow(was *Past, recs []*Reconciliation) {
	var all []Earlier
	if was != nil {
		if was.Before != nil {
			all = slices.Clone(was.Before.Recs)
		}
		if was.TraceID == p.TraceID && was.SpanID == p.SpanID {
			p.Began, p.From = was.Began, was.From
		} else {
			all = append(all, Earlier{was.TraceID, was.SpanID, was.RV, was.From, was.Began, was.Activity})
		}
	}
	for _, r := range recs[:len(recs)-1] {
		if was == nil || r.ID() != was.SpanID {
			w := r.First()
			all = append(all, Earlier{r.Lineage.ID, r.ID(), w.RV, w.From(), w.Second(), r.Activity})
		}
	}
	all = slices.DeleteFunc(all, func(e Earlier) bool { return p.Began-e.Activity.Unix() > lateness })
	if len(all) > 0 {
		p.Before = &Before{slices.Clone(all[max(0, len(all)-MaxEarlier):])}
	}
}

// TemplateBefore returns the resourceVersion of the last write of r before rv that may have changed a
// Pod template; 0 without one. A folded r stands for all earlier ones.
func (r *Reconciliation) TemplateBefore(rv uint64) uint64 {
	if past := r.Timeline.Past; r.Folded && past != nil {
		return past.Template
	}
	for _, w := range slices.Backward(r.Writes) {
		if w.RV < rv && (w.Parts() == kind.Everything || slices.ContainsFunc(w.Changed.Paths, inTemplate)) {
			return w.RV
		}
	}
	return 0
}

func inTemplate(path string) bool { return strings.HasPrefix(path, "spec.template.") }

// Of returns the reconciliation of the Event ev: p, or one before it. It is nil if the Event is
// older than all of these.
func (p *Past) Of(ev *history.Event) *Past {
	recs := p.before()
	second, found := ev.Stamp.Unix(), p
	for i := len(recs); ; i-- {
		switch {
		case found.Began == 0, second > found.Began, second == found.Began && ev.ResourceVersion > found.RV:
			return found
		case i == 0 && second == found.Began:
			return found // Events may have a storage of their own
		case i == 0:
			return nil
		}
		found = recs[i-1].past()
	}
}

// At returns the reconciliation of a write with the resourceVersion rv: p, or one before it. It is nil
// if the write is older than all of these.
func (p *Past) At(rv uint64) *Past {
	if rv >= p.From {
		return p
	}
	for _, e := range slices.Backward(p.before()) {
		if rv >= e.From {
			return e.past()
		}
	}
	return nil
}

func (p *Past) before() []Earlier {
	if p.Before == nil {
		return nil
	}
	return p.Before.Recs
}

func (e *Earlier) past() *Past {
	return &Past{TraceID: e.TraceID, SpanID: e.SpanID, RV: e.RV, From: e.From, Began: e.Began, Activity: e.Activity}
}

// Revision returns the ID of the revision that r publishes, or "".
func (r *Reconciliation) Revision() string {
	if r.Published != "" {
		return r.Published
	}
	return r.First().Revision()
}

// Remember adds an instant change to the remembered ones. A newer change of the same fields replaces an
// older one.
func (t *Timeline) Remember(i Instant) {
	var kept []Instant
	if t.Recent != nil {
		kept = slices.DeleteFunc(
			slices.Clone(t.Recent.List),
			func(r Instant) bool { return slices.Equal(r.Paths, i.Paths) && r.Revision == i.Revision },
		)
	}
	kept = append(kept, i)
	t.Recent = &Recent{slices.Clone(kept[max(0, len(kept)-maxRecent):])}
}
