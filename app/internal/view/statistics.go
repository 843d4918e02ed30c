// SPDX-License-Identifier: Apache-2.0

package view

import (
	"bytes"
	"context"
	"maps"
	"slices"

	"go.opentelemetry.io/otel/trace"

	"github.com/kube-lifeline/lifeline/app/internal/span"
	"github.com/kube-lifeline/lifeline/app/internal/store"
)

// Between implements store.Reader.
func (v *View) Between(
	ctx context.Context, s store.Scope, low, high trace.TraceID, limit int,
) ([]trace.TraceID, error) {
	from, err := v.beginTrace(s)
	if err != nil {
		return nil, err
	}
	out, err := from.between(ctx, low, high, limit)
	if len(out) == 0 && err != nil {
		return nil, err
	}
	if len(out) == 0 && from.behind != "" {
		return nil, unavailable(from.behind)
	}
	return out, nil
}

// between returns the IDs. With an error, they are those in memory.
func (r *reading) between(ctx context.Context, low, high trace.TraceID, limit int) ([]trace.TraceID, error) {
	var out []trace.TraceID
	for _, id := range r.ids() {
		if bytes.Compare(id[:], low[:]) < 0 || bytes.Compare(id[:], high[:]) > 0 {
			continue
		}
		there := r.live(id) != nil
		if r.all != nil {
			h, err := r.ofMemory(ctx, id, r.partsOf(id))
			if err != nil {
				return nil, err
			}
			there = h != nil
		}
		if there {
			out = append(out, id)
		}
	}
	archive, err := r.archive()
	for err == nil {
		var some []trace.TraceID
		if some, err = archive.Between(ctx, r.scope, low, high, limit); err != nil {
			break
		}
		n := len(out)
		for _, id := range some {
			is := true
			if r.all != nil {
				if is, err = r.exists(ctx, id); err != nil {
					return nil, err
				}
			}
			if is {
				out = append(out, id)
			}
		}
		if len(out)-n == len(some) || len(some) < limit {
			break
		}
		low = after(some[len(some)-1]) // of some, no span is visible
	}
	slices.SortFunc(out, func(a, b trace.TraceID) int { return bytes.Compare(a[:], b[:]) })
	out = slices.Compact(out)
	return out[:min(limit, len(out))], err
}

// after returns the ID after one.
func after(id trace.TraceID) trace.TraceID {
	for i := len(id) - 1; i >= 0; i-- {
		if id[i]++; id[i] != 0 {
			break
		}
	}
	return id
}

// Stats implements store.Reader. Without the archive it counts what is in memory.
func (v *View) Stats(ctx context.Context, s store.Scope) (store.Stats, error) {
	from, err := v.begin(ctx, s)
	if err != nil {
		return store.Stats{}, err
	}
	var out store.Stats
	among := from.traces()
	if archive, err := from.archive(); err == nil {
		of := from.scope
		of.Except = slices.Concat(of.Except, from.unarchived())
		if out, err = archive.Stats(ctx, of); err != nil {
			return out, err
		}
		shared, err := from.shared(ctx, archive, store.SharedQuery{})
		if err != nil {
			return out, err
		}
		among = append(among, shared...)
	}
	for _, h := range among {
		out.Traces++
		if h.open {
			out.Open++
		}
		out.Spans += int64(h.Spans)
		if h.trace == nil {
			continue
		}
		if from.all != nil {
			for _, of := range h.trace.Spans {
				out.Writes += int64(len(store.WritesOf(of)))
			}
		}
		if start := store.Start(h.trace); out.Oldest.IsZero() || start.Before(out.Oldest) {
			out.Oldest = start
		}
	}
	return out, nil
}

// Causes implements store.Reader. Without the archive it has the edges in memory, if the trace is.
func (v *View) Causes(ctx context.Context, s store.Scope, id trace.TraceID) ([]store.Cause, error) {
	from, err := v.begin(ctx, s)
	if err != nil {
		return nil, err
	}
	if from.all != nil {
		return from.visibleCauses(ctx, id)
	}
	seen := map[store.Cause]bool{}
	var out []store.Cause
	add := func(c store.Cause) {
		if (c.TraceID == id || c.OfTrace == id) && !seen[c] {
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

// visibleCauses returns the edges of a projection, and those of other projections to it.
func (r *reading) visibleCauses(ctx context.Context, id trace.TraceID) ([]store.Cause, error) {
	of := r.live(id)
	if of == nil {
		var err error
		if of, err = r.one(ctx, id); of == nil || err != nil {
			return nil, err
		}
	}
	var out []store.Cause
	add := func(t *span.Trace) {
		for _, s := range t.Spans {
			for _, c := range store.CausesOf(s) {
				if t.ID == id || c.OfTrace == id {
					out = append(out, c)
				}
			}
		}
	}
	add(of.trace)
	among := r.traces()
	archive, err := r.archive()
	var stored []store.Cause
	if err == nil {
		stored, err = archive.Causes(ctx, r.scope, id)
	}
	if err != nil && !away(err) {
		return nil, err
	}
	seen := map[trace.TraceID]bool{id: true}
	for _, c := range stored {
		if seen[c.TraceID] || r.live(c.TraceID) != nil {
			continue
		}
		seen[c.TraceID] = true
		h, err := r.one(ctx, c.TraceID)
		if err != nil {
			return nil, err
		}
		if h != nil {
			among = append(among, h)
		}
	}
	for _, h := range among {
		if h.TraceID != id {
			add(h.trace)
		}
	}
	known := map[trace.TraceID]bool{id: true}
	out = slices.DeleteFunc(out, func(c store.Cause) bool {
		is, there := known[c.OfTrace]
		if !there {
			var h *held
			if h = r.live(c.OfTrace); h == nil {
				h, err = r.one(ctx, c.OfTrace)
			}
			is = h != nil
			known[c.OfTrace] = is
		}
		return !is
	})
	if err != nil && !away(err) {
		return nil, err
	}
	store.SortCauses(id, out)
	return slices.Compact(out), nil
}

// Namespaces returns the namespaces that have data, sorted; "" stands for objects without one. Without the archive they
// are those in memory.
func (v *View) Namespaces(ctx context.Context) ([]string, error) {
	r, err := v.beginTrace(store.Scope{})
	if err != nil {
		return nil, err
	}
	var out []string
	archive, err := r.archive()
	if err == nil {
		out, err = archive.Namespaces(ctx)
	}
	if err != nil && !away(err) {
		return nil, err
	}
	found := map[string]bool{}
	for _, h := range r.entries() {
		if h.trace == nil {
			continue // it is in the archive soon
		}
		for o := range store.Objects(h.trace) {
			found[o.Namespace] = true
		}
	}
	out = slices.AppendSeq(out, maps.Keys(found))
	slices.Sort(out)
	return slices.Compact(out), nil
}
