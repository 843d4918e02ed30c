// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.opentelemetry.io/otel/trace"

	"github.com/kube-lifeline/lifeline/app/internal/object"
	"github.com/kube-lifeline/lifeline/app/internal/observation"
)

const (
	// seriesBegins is the number of alike changes with a trace each. Later ones are counted in the
	// first one's trace (rule N4).
	seriesBegins = 4
	// seriesGap is the longest time between two changes of a series.
	seriesGap = 10 * time.Minute
	// seriesReport is how often the count of a series is reported while it goes on.
	seriesReport = time.Hour
	// maxSeries bounds the series of one object at a time.
	maxSeries = 8
)

// series are changes of the same fields of one object by one author, such as a heartbeat in an
// annotation.
type series struct {
	author, fields string
	// line and span are those of the first change.
	line trace.TraceID
	span trace.SpanID
	// writes is their number, reported the number that was reported.
	writes, reported int64
	// rv is the resourceVersion of the last one, last its time.
	rv               uint64
	last, reportedAt time.Time
}

// seriesKey identifies the series of w among those of its object. It is empty if w can be in none:
// only labels, annotations and the content of a ConfigMap or Secret are heartbeats. A client's
// change of content never is.
func (w *write) seriesKey() (author, fields string) {
	switch {
	case w.verb != updated, w.manager == "", len(w.changed.paths) == 0, w.req != nil, w.originates():
		return "", ""
	case !w.changed.spec():
	case isClient(w.manager), len(w.changed.paths) != 1, w.changed.paths[0] != observation.PathData:
		return "", ""
	}
	return w.manager, strings.Join(w.changed.paths, " ")
}

// beat is a change that may belong to a series.
type beat struct {
	author, fields string
	rv             uint64
	at             time.Time
	line           trace.TraceID
	span           trace.SpanID
}

// seriesList holds the series of one object.
type seriesList struct {
	ref object.Ref
	all []series
}

func (l *seriesList) find(author, fields string) *series {
	i := slices.IndexFunc(l.all, func(s series) bool { return s.author == author && s.fields == fields })
	if i < 0 {
		return nil
	}
	return &l.all[i]
}

// add adds a change to the series that it continues, or begins one.
func (l *seriesList) add(b *beat) {
	s := l.find(b.author, b.fields)
	if s == nil {
		if len(l.all) == maxSeries {
			l.all = slices.Delete(l.all, 0, 1)
		}
		l.all = append(l.all, series{})
		s = &l.all[len(l.all)-1]
	}
	if s.writes == 0 || !s.continues(b.at) {
		*s = series{author: b.author, fields: b.fields, line: b.line, span: b.span}
	}
	s.writes, s.rv, s.last = s.writes+1, b.rv, later(s.last, b.at)
}

func (s *series) continues(at time.Time) bool { return at.Sub(s.last) <= seriesGap }

// heartbeat is what a derivation knows of the series of one object: those of forgotten versions,
// continued by the changes that are known.
type heartbeat struct {
	seriesList
	beats []beat
}

func (d *derivation) heartbeatOf(t *timeline) *heartbeat {
	h := d.heartbeats[t]
	if h == nil {
		h = &heartbeat{}
		if l := d.engine.series[t.ref.UID]; l != nil {
			h.all = slices.Clone(l.all)
		}
		d.heartbeats[t] = h
	}
	return h
}

// inSeries reports whether w belongs to a series that has begun, and adds it.
func (d *derivation) inSeries(w *write) bool {
	author, fields := w.seriesKey()
	if author == "" {
		return false
	}
	h, at := d.heartbeatOf(w.t), w.at.at().Time
	s := h.find(author, fields)
	if s == nil || s.writes < seriesBegins || !s.continues(at) {
		return false
	}
	h.beat(beat{author: author, fields: fields, rv: w.rv, at: at})
	return true
}

// beginSeries notes the change r. It may be one of the first of a series if nothing caused it.
func (d *derivation) beginSeries(r *reconciliation) {
	w := r.first()
	author, fields := w.seriesKey()
	if author == "" || r.parent != nil || r.evidence != "" {
		return
	}
	d.heartbeatOf(w.t).beat(beat{
		author: author, fields: fields, rv: w.rv, at: w.at.at().Time, line: r.line.id, span: r.id(),
	})
}

func (h *heartbeat) beat(b beat) {
	h.beats = append(h.beats, b)
	h.add(&b)
}

// foldSeries adds to the series of t the changes up to the resourceVersion rv, whose versions are
// forgotten.
func (e *Engine) foldSeries(d *derivation, t *timeline, rv uint64) {
	h := d.heartbeats[t]
	if h == nil {
		return
	}
	for i := range h.beats {
		if h.beats[i].rv > rv {
			break
		}
		if e.series[t.ref.UID] == nil {
			e.series[t.ref.UID] = &seriesList{ref: t.ref}
		}
		e.series[t.ref.UID].add(&h.beats[i])
	}
}

// reportSeries reports the count of each series at its end, and each hour.
func (e *Engine) reportSeries(now time.Time) {
	for _, uid := range slices.Sorted(maps.Keys(e.series)) {
		l := e.series[uid]
		kept := l.all[:0]
		for i := range l.all {
			s := &l.all[i]
			over := now.Sub(s.last) > seriesGap
			if s.reportedAt.IsZero() {
				s.reportedAt = s.last
			}
			counted := s.writes - seriesBegins
			if counted > s.reported && (over || now.Sub(s.reportedAt) >= seriesReport) {
				e.late = append(e.late, s.amendment(l.ref, counted-s.reported))
				s.reported, s.reportedAt = counted, now
			}
			if !over {
				kept = append(kept, *s)
			}
		}
		if l.all = kept; len(kept) == 0 {
			delete(e.series, uid)
		}
	}
}

// amendment adds n further writes of the series to the trace of its first.
func (s *series) amendment(ref object.Ref, n int64) amendment {
	return amendment{
		ref: ref, service: component(s.author), past: past{line: s.line, span: s.span},
		key: "series/" + strconv.FormatUint(s.rv, 10), at: s.last, rv: s.rv, repeats: n,
	}
}
