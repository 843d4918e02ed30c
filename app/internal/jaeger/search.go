// SPDX-License-Identifier: Apache-2.0

package jaeger

import (
	"context"
	"errors"
	"fmt"

	"go.opentelemetry.io/otel/trace"

	"github.com/kube-lifeline/lifeline/app/internal/store"
)

// begin waits for the permission to search. The caller calls end at the end of the search.
func (s *server) begin(ctx context.Context) (end func(), err error) {
	select {
	case s.searches <- struct{}{}:
		return func() { <-s.searches }, nil
	case <-ctx.Done():
		return nil, fmt.Errorf("cannot search beside %d other searches: %w", maxSearches, ctx.Err())
	}
}

// each calls f with the traces that match q, the newest first. Traces that retention has removed
// meanwhile are left out.
func (s *server) each(r asked, q store.SpanQuery, f func(*store.Excerpt)) error {
	ctx, access := r.Context(), r.access
	end, err := s.begin(ctx)
	if err != nil {
		return err
	}
	defer end()
	ids, err := access.Search(ctx, q)
	if err != nil {
		return err
	}
	for _, id := range ids {
		e, err := access.Trace(ctx, id)
		if errors.Is(err, store.ErrNotFound) {
			continue
		}
		if err != nil {
			return err
		}
		f(e)
	}
	return nil
}

// bounded are the traces of one answer, with at most most spans together.
type bounded struct {
	most     int
	spans    int
	excerpts []*store.Excerpt
	// left are the traces that the answer has no place for.
	left []tooLarge
}

type tooLarge struct {
	id    trace.TraceID
	spans int
}

func (b *bounded) add(e *store.Excerpt) {
	n := len(e.Trace().Spans)
	if b.spans+n > b.most {
		b.left = append(b.left, tooLarge{e.Trace().ID, n})
		return
	}
	b.spans += n
	b.excerpts = append(b.excerpts, e)
}
