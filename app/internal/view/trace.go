// SPDX-License-Identifier: Apache-2.0

package view

import (
	"context"
	"errors"
	"slices"

	"go.opentelemetry.io/otel/trace"

	"github.com/kube-lifeline/lifeline/app/internal/span"
	"github.com/kube-lifeline/lifeline/app/internal/store"
)

// Trace implements store.Reader.
func (v *View) Trace(ctx context.Context, s store.Scope, id trace.TraceID) (*store.Record, error) {
	m, err := v.now()
	if err != nil {
		return nil, err
	}
	s, permitted := s.In(v.Cluster)
	if !permitted {
		return nil, store.ErrNotFound
	}
	from := whole{&reading{sources: v.sources, moment: m}}
	if s.Key() != "" {
		if there, err := from.permits(ctx, s, id); err != nil {
			return nil, err
		} else if !there && v.behind(m) != "" {
			return nil, unavailable(v.behind(m))
		} else if !there {
			return nil, store.ErrNotFound
		}
	}
	r, err := from.trace(ctx, id)
	if behind := v.behind(m); errors.Is(err, store.ErrNotFound) && behind != "" {
		return nil, unavailable(behind)
	}
	return r, err
}

// permits reports whether a scope permits a part of a trace. Of a hidden trace in memory, the archive is asked as of an
// absent one.
func (r whole) permits(ctx context.Context, s store.Scope, id trace.TraceID) (bool, error) {
	if slices.ContainsFunc(r.partsOf(id), func(h *held) bool {
		t, err := r.load(ctx, h)
		return err == nil && s.PermitsPart(t)
	}) {
		return true, nil
	}
	archive, err := r.archive()
	if err != nil {
		return false, err
	}
	there, err := archive.Between(ctx, s, id, id, 1)
	return len(there) > 0, lost(err)
}

// unavailable is a store.ErrUnavailable for another reason than the archive.
type unavailable string

// Error returns the reason.
func (u unavailable) Error() string { return string(u) }

// Unwrap returns store.ErrUnavailable.
func (unavailable) Unwrap() error { return store.ErrUnavailable }

// whole reads whole traces.
type whole struct{ *reading }

// trace returns a trace with all its parts.
func (r whole) trace(ctx context.Context, id trace.TraceID) (*store.Record, error) {
	if h := r.live(id); h != nil {
		out, err := r.record(ctx, h)
		if err == nil && !h.open {
			out, err = r.earlier(ctx, out)
		}
		if !missing(err) {
			return r.amend(ctx, out, err)
		}
	}
	archive, err := r.archive()
	if err != nil {
		return nil, err
	}
	out, err := archive.Trace(ctx, r.scope, id)
	return r.amend(ctx, out, lost(err))
}

func (r whole) record(ctx context.Context, h *held) (*store.Record, error) {
	t, err := r.load(ctx, h)
	if err != nil {
		return nil, err
	}
	sum, err := r.summarize(ctx, h)
	if err != nil {
		return nil, err
	}
	one := *t
	one.Spans = slices.Clone(t.Spans)
	return &store.Record{Summary: *sum, Trace: &one}, nil
}

// earlier adds the archive's version of a finished trace in the log. Every span of either is kept;
// the version of the lower revision is valid. After an error of the archive the log's version is the
// answer.
func (r whole) earlier(ctx context.Context, of *store.Record) (*store.Record, error) {
	archive, err := r.archive()
	if err != nil {
		return of, nil //nolint:nilerr // the log's version is there
	}
	other, err := archive.Trace(ctx, store.Scope{}, of.ID)
	if ended := context.Cause(ctx); err != nil && ended != nil {
		return nil, ended
	}
	if err != nil {
		return of, nil //nolint:nilerr // the log's version is there
	}
	if other.Revision <= of.Revision {
		of, other = other, of
	}
	join(of, other.Trace)
	return of, nil
}

// join adds the spans with new IDs to a record.
func join(r *store.Record, further ...*span.Trace) {
	known := make(map[trace.SpanID]bool, len(r.Trace.Spans))
	for _, s := range r.Trace.Spans {
		known[s.ID] = true
	}
	for _, t := range further {
		for _, s := range t.Spans {
			if !known[s.ID] {
				known[s.ID] = true
				r.Trace.Spans = append(r.Trace.Spans, s)
			}
		}
	}
	r.Spans = len(r.Trace.Spans)
}

// amend adds the spans of the log to a record.
func (r whole) amend(ctx context.Context, to *store.Record, err error) (*store.Record, error) {
	if err != nil {
		return to, err
	}
	var further []*span.Trace
	for _, h := range slices.Concat(r.repeated[to.ID], r.amended[to.ID]) {
		t, err := r.load(ctx, h)
		if missing(err) {
			continue // the archive has it, and had it or has it at the next question
		}
		if err != nil {
			return nil, err
		}
		further = append(further, t)
	}
	if len(further) > 0 {
		join(to, further...)
		revise(to)
	}
	return to, nil
}
