// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.opentelemetry.io/otel/trace"

	"github.com/kube-lifeline/lifeline/app/internal/change"
	"github.com/kube-lifeline/lifeline/app/internal/history"
	"github.com/kube-lifeline/lifeline/app/internal/object"
)

const (
	// seriesBegins is the number of similar changes with a trace each. Later changes are counted in
	// the trace of the first change (rule N4).
	seriesBegins = 4
	// seriesGap is the maximum time between two changes of a series.
	seriesGap = 10 * time.Minute
	// seriesReport is the interval between the reports of the count of an open series.
	seriesReport = time.Hour
	// maxSeries is the maximum number of series of one object at a time.
	maxSeries = 8
)

// series is a sequence of changes of the same fields of one object by one author, for example of a
// heartbeat in an annotation.
type series struct {
	author, fields string
	// line and span are the trace ID and the span ID of the first change.
	line trace.TraceID
	span trace.SpanID
	// writes is the number of changes. reported is the number of reported changes.
	writes, reported int64
	// rv is the resourceVersion of the last change. last is its time.
	rv               uint64
	last, reportedAt time.Time
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

// add adds a change to the series that it continues, or begins a series. A change counts once: one without a
// cause that is the oldest kept version is derived again after it was folded.
func (l *seriesList) add(b *beat) {
	s := l.find(b.author, b.fields)
	if s == nil {
		if len(l.all) == maxSeries {
			l.all = slices.Delete(l.all, 0, 1)
		}
		l.all = append(l.all, series{})
		s = &l.all[len(l.all)-1]
	}
	if s.writes > 0 && b.rv <= s.rv {
		return
	}
	if s.writes == 0 || !s.continues(b.at) {
		*s = series{author: b.author, fields: b.fields, line: b.line, span: b.span}
	}
	s.writes, s.rv, s.last = s.writes+1, b.rv, history.Later(s.last, b.at)
}

func (s *series) continues(at time.Time) bool { return at.Sub(s.last) <= seriesGap }

// heartbeat holds the series of one object in a derivation: the series of forgotten versions,
// continued by the known changes.
type heartbeat struct {
	seriesList
	beats []beat
}

func (d *derivation) heartbeatOf(t *change.Timeline) *heartbeat {
	h := d.heartbeats[t]
	if h == nil {
		h = &heartbeat{}
		if l := d.engine.series[t.Ref.UID]; l != nil {
			h.all = slices.Clone(l.all)
		}
		d.heartbeats[t] = h
	}
	return h
}

// inSeries reports whether w belongs to a series that has begun. It then adds w to that series.
func (d *derivation) inSeries(w *change.Write) bool {
	author, fields := w.SeriesKey()
	if author == "" {
		return false
	}
	h, at := d.heartbeatOf(w.Timeline), w.At.At().Time
	s := h.find(author, fields)
	if s == nil || s.writes < seriesBegins || !s.continues(at) {
		return false
	}
	h.beat(beat{author: author, fields: fields, rv: w.RV, at: at})
	return true
}

// beginSeries records the change r. Without a cause, it may be one of the first changes of a
// series.
func (d *derivation) beginSeries(r *change.Reconciliation) {
	w := r.First()
	author, fields := w.SeriesKey()
	if author == "" || r.Parent != nil || r.Evidence != "" {
		return
	}
	d.heartbeatOf(w.Timeline).beat(beat{
		author: author, fields: fields, rv: w.RV, at: w.At.At().Time, line: r.Lineage.ID, span: r.ID(),
	})
}

func (h *heartbeat) beat(b beat) {
	h.beats = append(h.beats, b)
	h.add(&b)
}

// foldSeries adds the forgotten changes of t, up to the resourceVersion rv, to its series.
func (e *Engine) foldSeries(d *derivation, t *change.Timeline, rv uint64) {
	h := d.heartbeats[t]
	if h == nil {
		return
	}
	for i := range h.beats {
		if h.beats[i].rv > rv {
			break
		}
		if e.series[t.Ref.UID] == nil {
			e.series[t.Ref.UID] = &seriesList{ref: t.Ref}
		}
		e.series[t.Ref.UID].add(&h.beats[i])
	}
}

// reportSeries reports the count of each series every hour and at its end.
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
				a := s.amendment(l.ref, counted-s.reported)
				a.fight = e.contests[uid].Against(
					change.Component(s.author),
					strings.Split(s.fields, change.FieldSeparator),
				)
				e.late = append(e.late, a)
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

// amendment returns an amendment with n further writes of the series, for the trace of its first
// write.
func (s *series) amendment(ref object.Ref, n int64) amendment {
	return amendment{
		ref: ref, service: change.Component(s.author), past: change.Past{TraceID: s.line, SpanID: s.span},
		key: "series/" + strconv.FormatUint(s.rv, 10), at: s.last, rv: s.rv, repeats: n,
	}
}
