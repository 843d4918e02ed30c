// SPDX-License-Identifier: Apache-2.0

package view

import (
	"context"

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
