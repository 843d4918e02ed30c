// SPDX-License-Identifier: Apache-2.0

package view

import (
	"context"
	"slices"

	"go.opentelemetry.io/otel/trace"

	"github.com/kube-lifeline/lifeline/app/internal/span"
	"github.com/kube-lifeline/lifeline/app/internal/store"
)

// A new claim about the outcome of an archived trace, or an aftermath, may wait in the log. Filters of the archive
// would not apply to it. So these traces are read whole, and the archive is asked for the others.

// late returns the amendments of a trace in the log.
func (r *reading) late(ctx context.Context, id trace.TraceID) ([]*span.Trace, error) {
	var out []*span.Trace
	for _, h := range r.amended[id] {
		t, err := r.load(ctx, h)
		if err != nil && !missing(err) {
			return nil, err
		}
		if err == nil {
			out = append(out, t)
		}
	}
	return out, nil
}

// claims reports whether an amendment has new claims, or an aftermath.
func claims(t *span.Trace) bool { return slices.ContainsFunc(t.Spans, (*span.Span).Revises) }

// claimed returns the archived traces with claims in the log, and their IDs.
func (r *reading) claimed(ctx context.Context, archive store.Stored) ([]*store.Record, []trace.TraceID, error) {
	var out []*store.Record
	var ids []trace.TraceID
	for id := range r.amended {
		if r.live(id) != nil {
			continue
		}
		late, err := r.late(ctx, id)
		if err != nil {
			return nil, nil, err
		}
		if !slices.ContainsFunc(late, claims) {
			continue
		}
		of, err := archive.Trace(ctx, r.scope, id)
		if missing(err) {
			continue
		}
		if err != nil {
			return nil, nil, err
		}
		ids = append(ids, id)
		join(of, late...)
		revise(of)
		out = append(out, of)
	}
	return out, ids, nil
}

// revised returns the summary of a trace in memory with the claims of the log.
func (r *reading) revised(ctx context.Context, h *held, sum store.Summary) (store.Summary, error) {
	late, err := r.late(ctx, h.TraceID)
	if err != nil || !slices.ContainsFunc(late, claims) {
		return sum, err
	}
	t, err := r.load(ctx, h)
	if missing(err) {
		return sum, nil
	}
	if err != nil {
		return sum, err
	}
	one := *t
	one.Spans = slices.Clone(t.Spans)
	out := &store.Record{Summary: sum, Trace: &one}
	join(out, late...)
	out.Spans = sum.Spans
	revise(out)
	return out.Summary, nil
}

// revise applies the claims in the trace of a record to it.
func revise(of *store.Record) {
	t := span.Revise(of.Trace)
	if t == of.Trace && !slices.ContainsFunc(t.Spans, (*span.Span).IsAftermath) {
		return
	}
	sum := store.Summarize(t, of.AsOf)
	sum.Open, sum.Pinned, sum.AsOf, sum.Revision, sum.Spans = of.Open, of.Pinned, of.AsOf, of.Revision, of.Spans
	of.Trace, of.Summary = t, sum
}
