// SPDX-License-Identifier: Apache-2.0

package api

import (
	"context"
	"fmt"

	"github.com/kube-lifeline/lifeline/app/internal/object"
	problems "github.com/kube-lifeline/lifeline/app/internal/problem"
	"github.com/kube-lifeline/lifeline/app/internal/store"
)

// broken answers about problems.
type broken struct {
	from    *ProblemHub
	cluster string
	causes  causes
}

// selection is what a request selects of the problems.
type selection struct {
	of    object.Ref
	limit int
}

func selectionOf(p *params) selection {
	return selection{of: objectOf(p), limit: store.PageLength(p.limit())}
}

func (b *broken) list(r *request) (any, error) {
	of := selectionOf(r.params)
	if err := r.params.done(); err != nil {
		return nil, err
	}
	return b.selected(r, of)
}

// selected returns the problems that the sender may see.
func (b *broken) selected(r *request, of selection) (problems.List, error) {
	now := b.from.Now()
	if now.AsOf.IsZero() {
		return problems.List{}, fmt.Errorf("%w: the server has just started, ask again in a moment",
			store.ErrUnavailable)
	}
	l := now.Select(b.selectionFor(r.access, of))
	b.causes.complete(r.ctx(), r.access, &l)
	l.AsOf = l.AsOf.UTC()
	return l, nil
}

// CompleteCause returns the cause of a problem as its trace shows it by now, for a reader with that access.
func (s *Server) CompleteCause(ctx context.Context, access store.Access, c problems.Cause) problems.Cause {
	one := problems.List{AsOf: s.opts.Clock(), Problems: []problems.Problem{{Cause: &c}}}
	if s.broken.causes.complete(ctx, access, &one); one.Problems[0].Cause == nil {
		return problems.Cause{}
	}
	return *one.Problems[0].Cause
}

func (b *broken) selectionFor(access store.Access, of selection) problems.Selection {
	s := problems.Selection{Exists: existing(access, b.cluster), Limit: of.limit}
	if want := of.of; want != (object.Ref{}) {
		s.Matches = func(o object.Ref) bool { return store.Matches(o, want) }
	}
	return s
}

// existing returns which objects exist for an access; nil means all.
func existing(access store.Access, cluster string) func(object.Ref) bool {
	if access = access.In(cluster); access.All() {
		return nil
	}
	return access.Permits
}
