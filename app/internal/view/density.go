// SPDX-License-Identifier: Apache-2.0

package view

import (
	"context"

	"github.com/kube-lifeline/lifeline/app/internal/store"
)

// Density implements store.Reader. A trace that is archived at this moment may count twice. Of an archived
// trace, the objects of late spans count once these are in the archive.
func (v *View) Density(ctx context.Context, q store.DensityQuery) (*store.Density, error) {
	if err := q.Validate(); err != nil {
		return nil, err
	}
	m, err := v.now()
	if err != nil {
		return nil, err
	}
	out := &store.Density{Buckets: make([]store.Bucket, q.Buckets)}
	archive, err := v.archive()
	if err == nil {
		var stored *store.Density
		if stored, err = archive.Density(ctx, q); err == nil {
			out = stored
		}
	}
	if away(err) {
		out.Incomplete = err.Error()
	} else if err != nil {
		return nil, err
	}
	return out, v.liveSummaries(ctx, m, &q.Query, func(s store.Summary) { out.Add(&q, &s) })
}
