// SPDX-License-Identifier: Apache-2.0

package store

import (
	"context"

	"go.opentelemetry.io/otel/trace"

	"github.com/kube-lifeline/lifeline/app/internal/object"
)

// Gate is the way from a Reader to callers with rights. Each caller gets an Access.
type Gate struct {
	from    Reader
	project Projection
	parts   *Parts
}

// NewGate returns a Gate to a Reader. All excerpts come from the projection. Without a Reader, an Access
// can only unseal. The Reader may have Parts of its own: the summaries of its lists come from these.
func NewGate(from Reader, project Projection) *Gate {
	if own, is := from.(interface{ Parts() *Parts }); is {
		return &Gate{from, project, own.Parts()}
	}
	return &Gate{from, project, NewParts()}
}

// For returns the access of a caller with this scope.
func (g *Gate) For(s Scope) Access { return Access{g, s, s.Key()} }

// Access is the access of one caller. It answers the questions of a Reader, always within the caller's
// scope: the scope of a query does not count. Traces come as excerpts. The entries of lists and their
// counts come from the Reader, which projects before filters, orders and cursors.
type Access struct {
	gate  *Gate
	scope Scope
	// key is the Key of scope.
	key string
}

// All reports whether the caller may see everything.
func (a Access) All() bool { return a.scope.All() }

// Permits is Scope.Permits.
func (a Access) Permits(o object.Ref) bool { return a.scope.Permits(o) }

// Trace returns what the caller may see of a trace, or ErrNotFound.
func (a Access) Trace(ctx context.Context, id trace.TraceID) (*Excerpt, error) {
	r, err := a.gate.from.Trace(ctx, a.scope, id)
	if err != nil {
		return nil, err
	}
	visible := a.gate.project(a.scope, r.Trace)
	switch visible {
	case nil:
		return nil, ErrNotFound
	case r.Trace:
		return &Excerpt{trace: r.Trace, whole: true, summary: &r.Summary}, nil
	}
	sum := a.gate.parts.Summarize(a.key, visible, &r.Summary)
	return &Excerpt{trace: visible, summary: &sum}, nil
}

// In returns the access to one cluster.
func (a Access) In(cluster string) Access {
	scope, permitted := a.scope.In(cluster)
	if !permitted {
		return a.gate.For(Scope{Namespaces: []string{}})
	}
	return Access{a.gate, scope, a.key}
}

// Unseal returns what the caller may see of a version; nil means nothing. An access to several clusters
// unseals nothing: In comes first.
func (a Access) Unseal(of *Sealed) *Excerpt {
	if a.scope.Clusters != nil {
		return nil
	}
	project := func() *Excerpt {
		visible := a.gate.project(a.scope, of.excerpt.trace)
		switch visible {
		case nil:
			return nil
		case of.excerpt.trace:
			return &of.excerpt
		}
		return &Excerpt{trace: visible, summarize: func() *Summary {
			sum := a.gate.parts.Summarize(a.key, visible, &Summary{Open: of.open, AsOf: of.asOf})
			return &sum
		}}
	}
	if a.key == "" {
		return project()
	}
	return of.part(a.key, project)
}

// List is Reader.List.
func (a Access) List(ctx context.Context, q Query) (*Page, error) {
	q.Scope = a.scope
	return a.gate.from.List(ctx, q)
}

// Density is Reader.Density.
func (a Access) Density(ctx context.Context, q DensityQuery) (*Density, error) {
	q.Scope = a.scope
	return a.gate.from.Density(ctx, q)
}

// Writes is Reader.Writes.
func (a Access) Writes(ctx context.Context, q WriteQuery) (*WritePage, error) {
	q.Scope = a.scope
	return a.gate.from.Writes(ctx, q)
}

// Find is Reader.Find.
func (a Access) Find(ctx context.Context, q FindQuery) (*FindPage, error) {
	q.Scope = a.scope
	return a.gate.from.Find(ctx, q)
}

// Group is Reader.Group.
func (a Access) Group(ctx context.Context, q GroupQuery) (*GroupPage, error) {
	q.Scope = a.scope
	return a.gate.from.Group(ctx, q)
}

// Search is Reader.Search.
func (a Access) Search(ctx context.Context, q SpanQuery) ([]trace.TraceID, error) {
	q.Scope = a.scope
	return a.gate.from.Search(ctx, q)
}

// Services is Reader.Services.
func (a Access) Services(ctx context.Context) ([]string, error) {
	return a.gate.from.Services(ctx, a.scope)
}

// Operations is Reader.Operations.
func (a Access) Operations(ctx context.Context, service string) ([]string, error) {
	return a.gate.from.Operations(ctx, a.scope, service)
}

// Causes is Reader.Causes.
func (a Access) Causes(ctx context.Context, id trace.TraceID) ([]Cause, error) {
	return a.gate.from.Causes(ctx, a.scope, id)
}

// Between is Reader.Between.
func (a Access) Between(ctx context.Context, low, high trace.TraceID, limit int) ([]trace.TraceID, error) {
	return a.gate.from.Between(ctx, a.scope, low, high, limit)
}

// Stats is Reader.Stats.
func (a Access) Stats(ctx context.Context) (Stats, error) { return a.gate.from.Stats(ctx, a.scope) }
