// SPDX-License-Identifier: Apache-2.0

package store

import (
	"slices"
	"sync"
	"time"

	"go.opentelemetry.io/otel/trace"

	"github.com/kube-lifeline/lifeline/app/internal/span"
)

// Excerpt is what one caller may see of a trace: the visible spans and their summary. Only Access makes
// one. Callers may share it, and must not change it.
type Excerpt struct {
	trace *span.Trace
	whole bool

	// once guards summary, unless that is known from the beginning.
	once      sync.Once
	summary   *Summary
	summarize func() *Summary
}

// Trace returns the visible spans.
func (e *Excerpt) Trace() *span.Trace { return e.trace }

// Whole reports whether these are all spans of the trace. Such an excerpt is the same for all its callers.
func (e *Excerpt) Whole() bool { return e.whole }

// Summary returns the summary of the visible spans.
func (e *Excerpt) Summary() *Summary {
	e.once.Do(func() {
		if e.summary == nil {
			e.summary = e.summarize()
		}
	})
	return e.summary
}

// Narrow returns an excerpt of the spans for which keep is true. It has the summary of e.
func (e *Excerpt) Narrow(keep func(*span.Span) bool) *Excerpt {
	t := *e.trace
	t.Spans = slices.DeleteFunc(slices.Clone(t.Spans), func(s *span.Span) bool { return !keep(s) })
	return &Excerpt{trace: &t, summarize: e.Summary}
}

// Sealed is a version of a trace that is not stored. Only Access opens it, as an Excerpt.
type Sealed struct {
	open bool
	asOf time.Time
	// excerpt is that of callers with the whole trace.
	excerpt Excerpt

	// mu guards parts, the excerpts of other callers by the Key of their scope.
	mu    sync.Mutex
	parts map[string]*Excerpt
}

// maxParts bounds the excerpts of one version.
const maxParts = 32

// part returns the remembered excerpt of callers with a scope, or that of project. It is nil if they see nothing.
func (s *Sealed) part(scope string, project func() *Excerpt) *Excerpt {
	s.mu.Lock()
	found, known := s.parts[scope]
	s.mu.Unlock()
	if known {
		return found
	}
	found = project()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.parts == nil || len(s.parts) >= maxParts {
		s.parts = map[string]*Excerpt{}
	}
	s.parts[scope] = found
	return found
}

// Seal returns the version of t at the time asOf. The trace must not change afterwards.
func Seal(t *span.Trace, open bool, asOf time.Time) *Sealed {
	s := &Sealed{open: open, asOf: asOf, excerpt: Excerpt{trace: t, whole: true}}
	s.excerpt.summarize = func() *Summary {
		sum := Summarize(t, asOf)
		sum.Open, sum.AsOf = open, asOf
		return &sum
	}
	return s
}

// ID returns the ID of the trace.
func (s *Sealed) ID() trace.TraceID { return s.excerpt.trace.ID }

// Spans returns the number of all spans.
func (s *Sealed) Spans() int { return len(s.excerpt.trace.Spans) }

// Open reports whether the trace is unfinished.
func (s *Sealed) Open() bool { return s.open }

// Projection returns the part of a trace that a scope permits; nil means none. It is a pure function. It
// returns the trace itself if all of it is permitted, and never changes it.
type Projection func(s Scope, t *span.Trace) *span.Trace

// Whole is the projection of a trace to all of it or nothing, as Scope defines.
func Whole(s Scope, t *span.Trace) *span.Trace {
	if !s.PermitsTrace(t) {
		return nil
	}
	return t
}
