// SPDX-License-Identifier: Apache-2.0

package view

import (
	"context"

	"go.opentelemetry.io/otel/trace"

	"github.com/kube-lifeline/lifeline/app/internal/store"
)

// begin returns the present moment, and its traces that a scope hides. The scope becomes that for the
// archive.
func (v *View) begin(ctx context.Context, s *store.Scope) (*moment, map[trace.TraceID]bool, error) {
	m, err := v.now()
	if err != nil {
		return nil, nil, err
	}
	var hidden map[trace.TraceID]bool
	*s, hidden, err = v.hidden(ctx, m, *s)
	return m, hidden, err
}

// hidden returns the scope for the archive, and the traces with a part in memory that the scope hides.
func (v *View) hidden(
	ctx context.Context, m *moment, s store.Scope,
) (store.Scope, map[trace.TraceID]bool, error) {
	if s.All() {
		return s, nil, nil
	}
	s, permitted := s.In(v.Cluster)
	if !permitted {
		s = store.Scope{Namespaces: []string{}}
	}
	if s.All() {
		return s, nil, nil
	}
	out := map[trace.TraceID]bool{}
	for id, parts := range m.parts() {
		hides, err := v.hides(ctx, m, s, id, parts)
		if err != nil {
			return s, nil, err
		}
		if hides {
			out[id] = true
		}
	}
	return s, out, nil
}

// parts returns everything in memory, by trace.
func (m *moment) parts() map[trace.TraceID][]*held {
	out := map[trace.TraceID][]*held{}
	for _, h := range m.traces() {
		out[h.TraceID] = append(out[h.TraceID], h)
	}
	for _, further := range []map[trace.TraceID][]*held{m.repeated, m.amended} {
		for id, entries := range further {
			out[id] = append(out[id], entries...)
		}
	}
	return out
}

// hides reports whether a scope hides a trace with parts in memory: one of them has an object outside,
// or the archive hides the rest.
func (v *View) hides(
	ctx context.Context, m *moment, s store.Scope, id trace.TraceID, parts []*held,
) (bool, error) {
	some := false
	for _, h := range parts {
		t, err := v.load(ctx, h)
		if missing(err) {
			continue // the archive has it
		}
		if err != nil {
			return false, err
		}
		for o := range store.Objects(t) {
			if some = true; !s.PermitsNamespace(o.Namespace) {
				return true, nil
			}
		}
	}
	bare := !some && !s.PermitsNamespace("")
	if h := m.open[id]; h != nil && m.live(id) == h {
		return bare, nil
	}
	archive, err := v.archive()
	if err != nil {
		return bare, nil // nothing of the archive is returned
	}
	there, err := archive.Between(ctx, store.Scope{}, id, id, 1)
	if err == nil && len(there) == 1 {
		there, err = archive.Between(ctx, s, id, id, 1)
		bare = len(there) == 0
	}
	if away(err) {
		return bare, nil
	}
	return bare, err
}
