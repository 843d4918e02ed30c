// SPDX-License-Identifier: Apache-2.0

package store

import (
	"bytes"
	"cmp"
	"slices"
	"time"

	"go.opentelemetry.io/otel/trace"
)

// lifecycleKey is the length of the key in the cursor of a FindPage: a trace ID and a span ID.
const lifecycleKey = len(trace.TraceID{}) + len(trace.SpanID{})

// Key identifies a lifecycle: its trace and its span.
func (l *Lifecycle) Key() []byte { return slices.Concat(l.Trace[:], l.Span[:]) }

// Cursor is the place of a lifecycle in a FindPage.
func (l *Lifecycle) Cursor() Cursor { return NewCursor(l.Start.UnixNano(), l.Key()) }

// LifecyclePosition returns the place that the cursor of a FindPage names: a start in nanoseconds, and the
// Key. They are empty for the empty cursor. The error is ErrCursor.
func LifecyclePosition(c Cursor) (at int64, key []byte, err error) {
	if c == "" {
		return 0, nil, nil
	}
	return c.Position(lifecycleKey)
}

// Behind returns a function that reports whether a lifecycle is behind the cursor. All are behind the
// empty one. The error is ErrCursor.
func Behind(c Cursor) (func(*Lifecycle) bool, error) {
	if c == "" {
		return func(*Lifecycle) bool { return true }, nil
	}
	at, key, err := LifecyclePosition(c)
	if err != nil {
		return nil, err
	}
	return func(l *Lifecycle) bool {
		return cmp.Or(cmp.Compare(l.Start.UnixNano(), at), bytes.Compare(l.Key(), key)) < 0
	}, nil
}

// CompareLifecycles is the order of a FindPage: negative if a comes before b.
func CompareLifecycles(a, b *Lifecycle) int {
	return cmp.Or(b.Start.Compare(a.Start), bytes.Compare(b.Trace[:], a.Trace[:]), bytes.Compare(b.Span[:], a.Span[:]))
}

// Earliest is the earliest start that q asks for; zero without a bound.
func (q *FindQuery) Earliest() time.Time {
	if !q.Open && q.Since.IsZero() && q.Until.IsZero() && (q.Where == nil || !q.Where.Uses("start")) {
		return q.Now.Add(-DefaultRange)
	}
	return q.Since
}

// Fits reports whether a lifecycle matches q, apart from Scope, Limit and After.
func (q *FindQuery) Fits(l *Lifecycle) bool {
	since := q.Earliest()
	return (q.Namespace == "" || l.Object.Namespace == q.Namespace) && (since.IsZero() || !l.Start.Before(since)) &&
		(q.Until.IsZero() || l.Start.Before(q.Until)) &&
		(q.Where == nil || q.Where.Matches(&l.Lifecycle, q.Now))
}
