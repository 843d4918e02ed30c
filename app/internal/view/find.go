// SPDX-License-Identifier: Apache-2.0

package view

import (
	"context"

	"go.opentelemetry.io/otel/trace"

	"github.com/kube-lifeline/lifeline/app/internal/store"
)

// Find implements store.Finder. It has the lifecycles of the archive only.
func (v *View) Find(ctx context.Context, q store.FindQuery) (*store.FindPage, error) {
	archive, err := v.archive()
	if err != nil {
		return nil, err
	}
	return archive.Find(ctx, q)
}

// Group implements store.Finder.
func (v *View) Group(ctx context.Context, q store.GroupQuery) (*store.GroupPage, error) {
	archive, err := v.archive()
	if err != nil {
		return nil, err
	}
	return archive.Group(ctx, q)
}

// Services implements store.Spanner. It has the spans of the archive only.
func (v *View) Services(ctx context.Context, scope store.Scope) ([]string, error) {
	archive, err := v.archive()
	if err != nil {
		return nil, err
	}
	return archive.Services(ctx, scope)
}

// Operations implements store.Spanner.
func (v *View) Operations(ctx context.Context, scope store.Scope, service string) ([]string, error) {
	archive, err := v.archive()
	if err != nil {
		return nil, err
	}
	return archive.Operations(ctx, scope, service)
}

// Search implements store.Spanner.
func (v *View) Search(ctx context.Context, q store.SpanQuery) ([]trace.TraceID, error) {
	archive, err := v.archive()
	if err != nil {
		return nil, err
	}
	return archive.Search(ctx, q)
}
