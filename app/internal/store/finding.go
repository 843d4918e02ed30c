// SPDX-License-Identifier: Apache-2.0

package store

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"errors"
	"slices"
	"time"

	"go.opentelemetry.io/otel/trace"
)

const (
	// lifecycleKey is the length of the key in the cursor of a FindPage: a trace ID and a span ID.
	lifecycleKey = len(trace.TraceID{}) + len(trace.SpanID{})
	// sortedKey is that of a sorted page: whether the value is known, the start, the time of the first page, and the IDs.
	sortedKey = 1 + 8 + 8 + lifecycleKey
)

// Key identifies a lifecycle: its trace and its span.
func (l *Lifecycle) Key() []byte { return slices.Concat(l.Trace[:], l.Span[:]) }

// Begin returns an error for a query that no engine can answer. It sets Now to that of the first page: a value of an
// open lifecycle would otherwise pass the place of the cursor. Each engine begins with it.
func (q *FindQuery) Begin() error {
	if q.Traces && q.Sort != nil {
		return errors.New("one lifecycle a trace has no other order")
	}
	if q.Sort == nil || q.After == "" {
		_, err := q.Place()
		return err
	}
	_, key, err := q.After.Position(sortedKey)
	if err == nil {
		q.Now = nanoTime(key[9:])
	}
	return err
}

// Cursor is the place of a lifecycle of a FindPage.
func (q *FindQuery) Cursor(l *Lifecycle) Cursor {
	if q.Sort == nil {
		return NewCursor(l.Start.UnixNano(), l.Key())
	}
	key := make([]byte, 1, sortedKey)
	if l.Rank.Known {
		key[0] = 1
	}
	for _, at := range []time.Time{l.Start, q.Now} {
		key = binary.BigEndian.AppendUint64(key, uint64(at.UnixNano())) //nolint:gosec // all 64 bits come back
	}
	return NewCursor(l.Rank.Value, append(key, l.Key()...))
}

// Place returns the lifecycle of After, as far as Compare needs it, or nil without a cursor. The error is ErrCursor.
func (q *FindQuery) Place() (*Lifecycle, error) {
	if q.After == "" {
		return nil, nil //nolint:nilnil // the beginning
	}
	length := lifecycleKey
	if q.Sort != nil {
		length = sortedKey
	}
	at, key, err := q.After.Position(length)
	if err != nil {
		return nil, err
	}
	out := &Lifecycle{}
	if q.Sort == nil {
		out.Start = time.Unix(0, at).UTC()
	} else {
		out.Rank, out.Start = Rank{at, key[0] == 1}, nanoTime(key[1:])
	}
	ids := key[len(key)-lifecycleKey:]
	out.Trace, out.Span = trace.TraceID(ids), trace.SpanID(ids[len(out.Trace):])
	return out, nil
}

// nanoTime reads a time in nanoseconds.
func nanoTime(from []byte) time.Time {
	return time.Unix(0, int64(binary.BigEndian.Uint64(from))).UTC() //nolint:gosec // all 64 bits come back
}

// Behind returns a function that reports whether a lifecycle is behind After. All are without a cursor. The error is
// ErrCursor.
func (q *FindQuery) Behind() (func(*Lifecycle) bool, error) {
	place, err := q.Place()
	if err != nil {
		return nil, err
	}
	return func(l *Lifecycle) bool { return place == nil || q.Compare(l, place) > 0 }, nil
}

// Compare is the order of a FindPage: negative if a comes before b. Both have their Rank. Of equal ones, the latest
// start is the first, then the highest trace ID and the highest span ID.
func (q *FindQuery) Compare(a, b *Lifecycle) int {
	if q.Sort != nil && a.Rank != b.Rank {
		switch {
		case !a.Rank.Known:
			return 1
		case !b.Rank.Known:
			return -1
		case q.Reverse:
			return cmp.Compare(a.Rank.Value, b.Rank.Value)
		}
		return cmp.Compare(b.Rank.Value, a.Rank.Value)
	}
	return cmp.Or(b.Start.Compare(a.Start), bytes.Compare(b.Trace[:], a.Trace[:]), bytes.Compare(b.Span[:], a.Span[:]))
}

// RankOf returns the value of Sort of a lifecycle with its steps.
func (q *FindQuery) RankOf(l *Lifecycle) (out Rank) {
	if q.Sort != nil {
		out.Value, out.Known = q.Sort.Of(&l.Lifecycle, q.Now)
	}
	if !out.Known {
		out.Value = 0
	}
	return out
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
