// SPDX-License-Identifier: Apache-2.0

package view

import (
	"context"

	"go.opentelemetry.io/otel/trace"

	"github.com/kube-lifeline/lifeline/app/internal/store"
)

// begin returns a reading of the present moment within a scope.
func (v *View) begin(ctx context.Context, s store.Scope) (*reading, error) {
	m, err := v.now()
	if err != nil {
		return nil, err
	}
	s, permitted := s.In(v.Cluster)
	if !permitted {
		s = store.Scope{Namespaces: []string{}}
	}
	r := &reading{sources: v.sources, moment: m, behind: v.behind(m), scope: s}
	if s.All() {
		return r, nil
	}
	r.hidden = map[trace.TraceID]bool{}
	for id, parts := range m.parts() {
		hides, err := r.hides(ctx, id, parts)
		if err != nil {
			return nil, err
		}
		if hides {
			r.hidden[id] = true
		}
	}
	return r, nil
}

// hides reports whether the scope hides a trace with parts in memory: one of them has an object outside,
// or the archive hides the rest.
func (r *reading) hides(ctx context.Context, id trace.TraceID, parts []*held) (bool, error) {
	some := false
	for _, h := range parts {
		t, err := r.load(ctx, h)
		if missing(err) {
			continue // the archive has it
		}
		if err != nil {
			return false, err
		}
		for o := range store.Objects(t) {
			if some = true; !r.scope.Permits(o) {
				return true, nil
			}
		}
	}
	bare := !some && !r.scope.PermitsNamespace("")
	if h := r.open[id]; h != nil && r.live(id) == h {
		return bare, nil
	}
	archive, err := r.archive()
	if err != nil {
		return bare, nil // nothing of the archive is returned
	}
	there, err := archive.Between(ctx, store.Scope{}, id, id, 1)
	if err == nil && len(there) == 1 {
		there, err = archive.Between(ctx, r.scope, id, id, 1)
		bare = len(there) == 0
	}
	if away(err) {
		return bare, nil
	}
	return bare, err
}
