// SPDX-License-Identifier: Apache-2.0

package view

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sort"
	"strings"
	"time"

	"go.opentelemetry.io/otel/trace"

	"github.com/kube-lifeline/lifeline/app/internal/span"
	"github.com/kube-lifeline/lifeline/app/internal/store"
)

var _ store.Spanner = (*View)(nil)

// Services implements store.Spanner.
func (v *View) Services(ctx context.Context, scope store.Scope) ([]string, error) {
	q := store.SpanQuery{Scope: scope}
	return v.names(
		ctx,
		&q,
		func(s *span.Span) string { return s.Service },
		func(archive store.Stored, scope store.Scope) ([]string, error) {
			return archive.Services(ctx, scope)
		},
	)
}

// Operations implements store.Spanner.
func (v *View) Operations(ctx context.Context, scope store.Scope, service string) ([]string, error) {
	q := store.SpanQuery{Scope: scope, Service: service}
	return v.names(
		ctx,
		&q,
		func(s *span.Span) string { return s.Name },
		func(archive store.Stored, scope store.Scope) ([]string, error) {
			return archive.Operations(ctx, scope, service)
		},
	)
}

// names returns the names of the archive and those of the matching spans in memory, sorted.
func (v *View) names(
	ctx context.Context, q *store.SpanQuery, of func(*span.Span) string,
	stored func(store.Stored, store.Scope) ([]string, error),
) ([]string, error) {
	from, err := v.begin(ctx, q.Scope)
	if err != nil {
		return nil, err
	}
	archive, err := from.archive()
	if err != nil {
		return nil, err
	}
	scope := from.scope
	scope.Except = slices.Concat(scope.Except, from.unarchived())
	out, err := stored(archive, scope)
	if err != nil {
		return nil, lost(err)
	}
	shared, err := from.shared(ctx, archive, store.SharedQuery{})
	if err != nil {
		return nil, lost(err)
	}
	found := map[string]bool{}
	if err := from.eachOf(ctx, append(from.entries(), shared...), func(t *span.Trace) {
		for _, s := range t.Spans {
			if q.Fits(s) {
				found[of(s)] = true
			}
		}
	}); err != nil {
		return nil, err
	}
	for name := range found {
		out = append(out, strings.ToValidUTF8(name, "\uFFFD"))
	}
	slices.Sort(out)
	return slices.Compact(out), nil
}

// lost returns the error of an archive that was lost just now as unavailability.
func lost(err error) error {
	if errors.Is(err, store.ErrClosed) {
		return fmt.Errorf("%w: it was lost just now, ask again in a moment", store.ErrUnavailable)
	}
	return err
}

// match is a trace of a search, and the start of its first span.
type match struct {
	id    trace.TraceID
	start time.Time
}

// newest orders matches as store.Spanner does.
func newest(a, b match) int {
	return cmp.Or(b.start.Compare(a.start), bytes.Compare(b.id[:], a.id[:]))
}

// Search implements store.Spanner.
func (v *View) Search(ctx context.Context, q store.SpanQuery) ([]trace.TraceID, error) {
	from, err := v.begin(ctx, q.Scope)
	if err != nil {
		return nil, err
	}
	q.Scope = from.scope
	found := search{from, &q}
	live, err := found.inMemory(ctx)
	if err != nil {
		return nil, err
	}
	archive, err := from.archive()
	if err != nil {
		return nil, err
	}
	late, err := found.late(ctx, archive)
	if err != nil {
		return nil, lost(err)
	}
	shared, err := from.shared(ctx, archive, store.SharedQuery{Since: q.Since, Until: q.Until})
	if err != nil {
		return nil, lost(err)
	}
	ofShared, err := found.among(ctx, shared)
	if err != nil {
		return nil, err
	}
	limit := store.PageLength(q.Limit)
	live = slices.Concat(live, late, ofShared)
	slices.SortFunc(live, newest)
	q.Limit = min(limit+len(live), store.MaxPage) // a trace may be in both
	q.Scope.Except = slices.Concat(q.Scope.Except, from.unarchived())
	stored, err := archive.Search(ctx, q)
	if err != nil {
		return nil, lost(err)
	}
	here := make(map[trace.TraceID]bool, len(live))
	for _, l := range live {
		here[l.id] = true
	}
	stored = slices.DeleteFunc(stored, func(id trace.TraceID) bool { return here[id] })
	out, err := insert(ctx, archive, stored, live[:min(limit, len(live))])
	if err != nil {
		return nil, lost(err)
	}
	return out[:min(limit, len(out))], nil
}

// search finds the traces with a matching span.
type search struct {
	*reading
	q *store.SpanQuery
}

// inMemory returns the matching traces in memory.
func (r search) inMemory(ctx context.Context) ([]match, error) { return r.among(ctx, r.traces()) }

// among returns the matching ones of some traces.
func (r search) among(ctx context.Context, all []*held) ([]match, error) {
	var out []match
	for _, h := range all {
		found, start, err := r.fits(ctx, slices.Concat([]*held{h}, r.repeated[h.TraceID], r.amended[h.TraceID]))
		if err != nil {
			return nil, err
		}
		if found {
			out = append(out, match{h.TraceID, start})
		}
	}
	return out, nil
}

// late returns the archived traces with spans in the log that match. The archive would put them
// into its order without these spans.
func (r search) late(ctx context.Context, archive store.Reader) ([]match, error) {
	var out []match
	for id, amendments := range r.amended {
		if r.live(id) != nil {
			continue // inMemory has it
		}
		stored, err := archive.Trace(ctx, r.scope, id)
		if errors.Is(err, store.ErrNotFound) {
			continue // it stays invisible until its trace is stored
		}
		if err != nil {
			return nil, err
		}
		found, start, err := r.fits(ctx, append(slices.Clone(amendments), &held{trace: stored.Trace}))
		if err != nil {
			return nil, err
		}
		if found {
			out = append(out, match{id, start})
		}
	}
	return out, nil
}

// fits reports whether a span of the parts of a trace matches, and returns the start of the first span.
func (r search) fits(ctx context.Context, parts []*held) (found bool, start time.Time, err error) {
	for _, h := range parts {
		t, err := r.load(ctx, h)
		if missing(err) {
			continue // the archive has it
		}
		if err != nil {
			return false, start, err
		}
		found = found || slices.ContainsFunc(t.Spans, r.q.Fits)
		start = earliest(start, t)
	}
	return found, start, nil
}

// earliest returns the start of the first span of a trace, or the given time if that is earlier.
func earliest(than time.Time, t *span.Trace) time.Time {
	for _, s := range t.Spans {
		if than.IsZero() || s.Start.Before(than) {
			than = s.Start.Time
		}
	}
	return than
}

// insert adds the traces in memory to those of the archive; both are in the order of newest. The
// archive's list has no times, so a few of its traces are read for each of the others.
func insert(ctx context.Context, archive store.Reader, stored []trace.TraceID, live []match) ([]trace.TraceID, error) {
	starts := make(map[trace.TraceID]time.Time)
	var failed error
	start := func(id trace.TraceID) time.Time {
		at, known := starts[id]
		if known || failed != nil {
			return at
		}
		r, err := archive.Trace(ctx, store.Scope{}, id)
		switch {
		case err == nil:
			at = earliest(time.Time{}, r.Trace)
		case !errors.Is(err, store.ErrNotFound): // retention takes the oldest traces
			failed = err
		}
		starts[id] = at
		return at
	}
	places := make([]int, len(live))
	for i, l := range live {
		places[i] = sort.Search(
			len(stored),
			func(j int) bool { return newest(l, match{stored[j], start(stored[j])}) < 0 },
		)
	}
	if failed != nil {
		return nil, failed
	}
	for i, l := range slices.Backward(live) {
		stored = slices.Insert(stored, places[i], l.id)
	}
	return stored, nil
}
