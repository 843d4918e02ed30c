// SPDX-License-Identifier: Apache-2.0

package sqlite

import (
	"context"

	"go.opentelemetry.io/otel/trace"

	"github.com/kube-lifeline/lifeline/app/internal/database"
	"github.com/kube-lifeline/lifeline/app/internal/store"
)

// Between returns the IDs of stored traces from low to high, both included, in order and at most
// limit of them. It completes the beginning of an ID.
func (s *Store) Between(
	ctx context.Context, scope store.Scope, low, high trace.TraceID, limit int,
) ([]trace.TraceID, error) {
	f := &filter{}
	f.add("id BETWEEN ? AND ? AND phase > 0", low[:], high[:])
	f.touching(scope, "traces")
	var out []trace.TraceID
	var id []byte
	err := s.db.Read(ctx, func(q database.Querier) error {
		return database.Scan(ctx, q, "SELECT id FROM traces"+f.String()+" ORDER BY id LIMIT ?",
			append(f.args, limit), []any{&id}, func() error { out = append(out, traceID(id)); return nil })
	})
	if err != nil {
		return nil, s.db.Failed(ctx, "find traces of", err)
	}
	return out, nil
}
