// SPDX-License-Identifier: Apache-2.0

package change

import (
	"slices"
	"time"

	"go.opentelemetry.io/otel/trace"

	"github.com/kube-lifeline/lifeline/app/internal/history"
	"github.com/kube-lifeline/lifeline/app/internal/object"
)

const (
	// SeriesBegins is the number of similar changes with a trace each. Later changes are counted in
	// the trace of the first change (rule N4).
	SeriesBegins = 4
	// SeriesGap is the maximum time between two changes of a series.
	SeriesGap = 10 * time.Minute
	// maxSeries is the maximum number of series of one object at a time.
	maxSeries = 8
)

// Series is a sequence of changes of the same fields of one object by one author, for example of a
// heartbeat in an annotation.
type Series struct {
	Author, Fields string
	// Line and Span are the trace ID and the span ID of the first change.
	Line trace.TraceID
	Span trace.SpanID
	// Writes is the number of changes. Reported is the number of reported changes.
	Writes, Reported int64
	// RV is the resourceVersion of the last change. Last is its time.
	RV               uint64
	Last, ReportedAt time.Time
}

// Beat is a change that may belong to a series.
type Beat struct {
	Author, Fields string
	RV             uint64
	At             time.Time
	Line           trace.TraceID
	Span           trace.SpanID
}

// SeriesList holds the series of one object.
type SeriesList struct {
	Ref object.Ref
	All []Series
}

// Find returns the series of the author and the fields, or nil.
func (l *SeriesList) Find(author, fields string) *Series {
	i := slices.IndexFunc(l.All, func(s Series) bool { return s.Author == author && s.Fields == fields })
	if i < 0 {
		return nil
	}
	return &l.All[i]
}

// Add adds a change to the series that it continues, or begins a series. A change counts once: one without a
// cause that is the oldest kept version is derived again after it was folded.
func (l *SeriesList) Add(b *Beat) {
	s := l.Find(b.Author, b.Fields)
	if s == nil {
		if len(l.All) == maxSeries {
			l.All = slices.Delete(l.All, 0, 1)
		}
		l.All = append(l.All, Series{})
		s = &l.All[len(l.All)-1]
	}
	if s.Writes > 0 && b.RV <= s.RV {
		return
	}
	if s.Writes == 0 || !s.Continues(b.At) {
		*s = Series{Author: b.Author, Fields: b.Fields, Line: b.Line, Span: b.Span}
	}
	s.Writes, s.RV, s.Last = s.Writes+1, b.RV, history.Later(s.Last, b.At)
}

// Continues reports whether a change at that time continues the series.
func (s *Series) Continues(at time.Time) bool { return at.Sub(s.Last) <= SeriesGap }

// Heartbeat holds the series of one object in a derivation: the series of forgotten versions,
// continued by the known changes.
type Heartbeat struct {
	SeriesList
	Beats []Beat
}

// Beat adds a change.
func (h *Heartbeat) Beat(b Beat) {
	h.Beats = append(h.Beats, b)
	h.Add(&b)
}
