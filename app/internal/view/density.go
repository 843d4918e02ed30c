// SPDX-License-Identifier: Apache-2.0

package view

import (
	"cmp"
	"context"
	"slices"

	"go.opentelemetry.io/otel/trace"

	"github.com/kube-lifeline/lifeline/app/internal/store"
)

// Density implements store.Reader. A trace that is archived at this moment may count twice. Of an archived
// trace, the objects of late spans count once these are in the archive.
func (v *View) Density(ctx context.Context, q store.DensityQuery) (*store.Density, error) {
	if err := q.Validate(); err != nil {
		return nil, err
	}
	from, err := v.begin(ctx, q.Scope)
	if err != nil {
		return nil, err
	}
	if err := from.withheld(q.Where); err != nil {
		return nil, err
	}
	q.Scope = from.scope
	var out *store.Density
	do := func(ctx context.Context) (err error) {
		out, err = count(ctx, from, q)
		return err
	}
	if q.Where != nil {
		err = v.limits.Do(ctx, do)
	} else {
		err = v.limits.search(ctx, true, do)
	}
	return out, err
}

// count counts the traces of the archive and those in memory.
func count(ctx context.Context, r *reading, q store.DensityQuery) (*store.Density, error) {
	out := &store.Density{Buckets: make([]store.Bucket, q.Buckets)}
	var claimed []*store.Record
	var ids []trace.TraceID
	among := r.traces()
	archive, err := r.archive()
	if err == nil {
		claimed, ids, err = r.claimed(ctx, archive)
	}
	if err == nil {
		var shared []*held
		shared, err = r.shared(ctx, archive, store.SharedQuery{Since: q.Since, Until: q.Until, Object: q.Object})
		among = append(among, shared...)
	}
	if err == nil {
		of := q
		of.Scope.Except = slices.Concat(q.Scope.Except, ids, r.unarchived())
		var stored *store.Density
		if stored, err = archive.Density(ctx, of); err == nil {
			out = stored
		}
	}
	out.Incomplete = cmp.Or(out.Incomplete, r.behind, r.partial)
	if away(err) {
		out.Incomplete = err.Error()
	} else if err != nil {
		return nil, err
	}
	add := func(s store.Summary) { out.Add(&q, &s) }
	find := q.Lifecycles()
	find.Traces = true
	for _, of := range claimed {
		matches := q.Where == nil
		addFitting(&find, finishedLifecycles(of.Trace, of.AsOf), func(store.Lifecycle) { matches = true })
		if matches && q.Fits(&of.Summary) && store.Touches(of.Trace, q.Object) {
			add(of.Summary)
		}
	}
	if q.Where == nil {
		return out, r.summaries(ctx, among, &q.Query, add)
	}
	matching := map[trace.TraceID]bool{}
	if err := r.lifecycles(ctx, among, &find, func(l store.Lifecycle) { matching[l.Trace] = true }); err != nil {
		return nil, err
	}
	return out, r.summaries(ctx, among, &q.Query, func(s store.Summary) {
		if matching[s.ID] {
			add(s)
		}
	})
}
