// SPDX-License-Identifier: Apache-2.0

package view

import (
	"bytes"
	"context"
	"errors"
	"slices"

	"go.opentelemetry.io/otel/trace"

	"github.com/kube-lifeline/lifeline/app/internal/span"
	"github.com/kube-lifeline/lifeline/app/internal/store"
)

// Between implements store.Reader.
func (v *View) Between(
	ctx context.Context, s store.Scope, low, high trace.TraceID, limit int,
) ([]trace.TraceID, error) {
	from, err := v.begin(ctx, s)
	if err != nil {
		return nil, err
	}
	archive, err := from.archive()
	if err != nil {
		archive = nil // what is in memory can still be found
	}
	var out []trace.TraceID
	if archive != nil {
		if out, err = archive.Between(ctx, from.scope, low, high, limit+len(from.hidden)); err != nil {
			return nil, err
		}
	}
	for _, h := range from.traces() {
		if bytes.Compare(h.TraceID[:], low[:]) >= 0 && bytes.Compare(h.TraceID[:], high[:]) <= 0 {
			out = append(out, h.TraceID)
		}
	}
	if len(out) == 0 && archive == nil {
		return nil, err
	}
	if len(out) == 0 && from.behind != "" {
		return nil, unavailable(from.behind)
	}
	out = slices.DeleteFunc(out, func(id trace.TraceID) bool { return from.hidden[id] })
	slices.SortFunc(out, func(a, b trace.TraceID) int { return bytes.Compare(a[:], b[:]) })
	out = slices.Compact(out)
	return out[:min(limit, len(out))], nil
}

// Stats implements store.Reader. Without the archive it counts what is in memory.
func (v *View) Stats(ctx context.Context, s store.Scope) (store.Stats, error) {
	from, err := v.begin(ctx, s)
	if err != nil {
		return store.Stats{}, err
	}
	var out store.Stats
	if archive, err := from.archive(); err == nil {
		if out, err = archive.Stats(ctx, from.scope); err != nil {
			return out, err
		}
		for id := range from.hidden { // the archive may permit what the log adds to
			if r, err := archive.Trace(ctx, from.scope, id); err == nil {
				out.Traces, out.Spans = out.Traces-1, out.Spans-int64(r.Spans)
				for _, of := range r.Trace.Spans {
					out.Writes -= int64(len(store.WritesOf(of)))
				}
			}
		}
	}
	for _, h := range from.traces() {
		if from.hidden[h.TraceID] {
			continue
		}
		out.Traces++
		if h.open {
			out.Open++
		}
		out.Spans += int64(h.Spans)
		if h.trace == nil {
			continue
		}
		if start := store.Start(h.trace); out.Oldest.IsZero() || start.Before(out.Oldest) {
			out.Oldest = start
		}
	}
	return out, nil
}

// Causes implements store.Reader. Without the archive it has the edges in memory, if the trace is.
func (v *View) Causes(ctx context.Context, s store.Scope, id trace.TraceID) ([]store.Cause, error) {
	if !s.All() {
		switch _, err := v.Trace(ctx, s, id); {
		case errors.Is(err, store.ErrNotFound):
			return nil, nil
		case err != nil:
			return nil, err
		}
	}
	from, err := v.begin(ctx, s)
	if err != nil {
		return nil, err
	}
	seen := map[store.Cause]bool{}
	var out []store.Cause
	add := func(c store.Cause) {
		if (c.TraceID == id || c.OfTrace == id) && !seen[c] && !from.hidden[c.TraceID] {
			seen[c] = true
			out = append(out, c)
		}
	}
	if err := from.each(ctx, func(t *span.Trace) {
		for _, s := range t.Spans {
			for _, c := range store.CausesOf(s) {
				add(c)
			}
		}
	}); err != nil {
		return nil, err
	}
	archive, err := from.archive()
	if err == nil {
		var more []store.Cause
		more, err = archive.Causes(ctx, from.scope, id)
		for _, c := range more {
			add(c)
		}
	}
	if err != nil && from.live(id) == nil {
		return nil, err
	}
	store.SortCauses(id, out)
	return out, nil
}
