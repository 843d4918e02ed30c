// SPDX-License-Identifier: Apache-2.0

package view

import (
	"context"
	"errors"

	"go.opentelemetry.io/otel/trace"

	"github.com/kube-lifeline/lifeline/app/internal/span"
	"github.com/kube-lifeline/lifeline/app/internal/store"
)

// Density implements store.Reader. A trace that is archived at this moment may count twice. Of an archived
// trace, the objects of late spans count once these are in the archive.
func (v *View) Density(ctx context.Context, q store.DensityQuery) (*store.Density, error) {
	if err := q.Validate(); err != nil {
		return nil, err
	}
	m, hidden, err := v.begin(ctx, &q.Scope)
	if err != nil {
		return nil, err
	}
	out := &store.Density{Buckets: make([]store.Bucket, q.Buckets)}
	archive, err := v.archive()
	if err == nil {
		var stored *store.Density
		if stored, err = archive.Density(ctx, q); err == nil {
			out = stored
			err = without(ctx, archive, &q, hidden, out)
		}
	}
	if away(err) {
		out.Incomplete = err.Error()
	} else if err != nil {
		return nil, err
	}
	return out, v.liveSummaries(ctx, m, &q.Query, hidden, func(s store.Summary) { out.Add(&q, &s) })
}

// without removes the archived traces that the scope hides by a part in the log.
func without(
	ctx context.Context,
	archive store.Reader,
	q *store.DensityQuery,
	hidden map[trace.TraceID]bool,
	from *store.Density,
) error {
	for id := range hidden {
		r, err := archive.Trace(ctx, q.Scope, id)
		if errors.Is(err, store.ErrNotFound) {
			continue
		}
		if err != nil {
			return err
		}
		if !q.Open && q.Fits(&r.Summary) && store.Touches(r.Trace, q.Object) {
			b := &from.Buckets[r.Start.Sub(q.Since)/q.Width()]
			if b.Count--; r.Outcome == span.Failed {
				b.Failed--
			}
		}
	}
	return nil
}
