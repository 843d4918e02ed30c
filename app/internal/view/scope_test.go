// SPDX-License-Identifier: Apache-2.0

package view_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"

	"go.opentelemetry.io/otel/trace"

	"github.com/kube-lifeline/lifeline/app/internal/journal"
	"github.com/kube-lifeline/lifeline/app/internal/span"
	"github.com/kube-lifeline/lifeline/app/internal/store"
	"github.com/kube-lifeline/lifeline/app/internal/store/storetest"
	"github.com/kube-lifeline/lifeline/app/internal/view"
)

// TestScope: a view has the traces of a scope and no others, while they are open, in the log, and in
// the archive.
func TestScope(t *testing.T) {
	for at := open; at <= archived; at++ {
		t.Run(fmt.Sprint(at), func(t *testing.T) {
			r := newRoom(t)
			for _, tr := range storetest.ScopeTraces() {
				r.add(tr)
				for r.at[len(r.at)-1] < at {
					r.move(len(r.at) - 1)
				}
			}
			storetest.CheckScopes(t, r.view, r.traces)
			if at == open {
				return
			}
			// An amendment in the log brings an object of another namespace.
			outside := late(r.traces[1], 1, r.traces[0])
			outside.Object.Namespace = "b"
			r.publish([]*journal.Entry{{
				Item:  journal.Item{For: journal.Archive, Amends: true},
				Trace: &span.Trace{ID: outside.TraceID, Spans: []*span.Span{outside}},
			}})
			storetest.CheckScope(
				t, r.view, store.Scope{Namespaces: []string{"a"}}, r.traces, []int{1, 2, 7}, []int{4, 5, 8},
			)
			storetest.CheckScope(
				t, r.view, store.Scope{Namespaces: []string{"a", "b"}}, r.traces, []int{1, 2, 3, 4, 7}, []int{5, 8},
			)
		})
	}
}

// TestScopeOfClusters: a view has the traces of one cluster.
func TestScopeOfClusters(t *testing.T) {
	r := newRoom(t)
	for _, tr := range storetest.ScopeTraces() {
		r.add(tr)
		r.move(len(r.at) - 1)
	}
	for cluster, want := range map[string][]int{"c": {1, 2, 4, 5, 7, 8}, "d": nil} {
		scope := store.Scope{Clusters: []string{"b", cluster}, Namespaces: []string{"a"}}
		storetest.CheckScope(t, r.view, scope, r.traces, want, nil)
	}
	storetest.CheckScope(t, r.view, store.Scope{Clusters: []string{"c"}}, r.traces, []int{1, 2, 3, 4, 5, 6, 7, 8}, nil)
	if linked := r.traces[1]; r.view.Project(store.Scope{Clusters: []string{"c"}}, linked) != linked {
		t.Error("a trace of the cluster is not whole")
	}
	part := r.view.Project(store.Scope{Clusters: []string{"c"}, Namespaces: []string{"a"}}, r.traces[1])
	if len(part.Root().Links) != 0 || len(r.traces[1].Root().Links) != 1 {
		t.Error("a link leads to a hidden trace")
	}
	if part = r.view.Project(store.Scope{Namespaces: []string{"b"}}, r.traces[3]); len(part.Spans) != 2 {
		t.Errorf("got %+v", part)
	}
	_, err := r.view.Trace(t.Context(), store.Scope{Clusters: []string{}}, r.traces[0].ID)
	if !errors.Is(err, store.ErrNotFound) {
		t.Errorf("without a permitted cluster: %v", err)
	}
}

// TestProjecting: projections wait for their turn, since each reads a whole trace. What a caller sees wholly does not.
func TestProjecting(t *testing.T) {
	r := newRoom(t)
	for _, tr := range storetest.ScopeTraces() {
		r.add(tr)
		r.move(len(r.at) - 1)
	}
	r.away = store.ErrUnavailable
	r.view.OccupyProjections()
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := r.view.List(gone, store.Query{Scope: store.Scope{Namespaces: []string{"a"}}})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("without a turn: %v", err)
	}
	if page, err := r.view.List(t.Context(), store.Query{}); err != nil || len(page.Traces) != len(r.traces) {
		t.Errorf("everything: %v, %v", page, err)
	}
}

// reads counts the traces that are read from an archive.
type reads struct {
	store.Stored
	n int
}

func (r *reads) Trace(ctx context.Context, s store.Scope, id trace.TraceID) (*store.Record, error) {
	r.n++
	return r.Stored.Trace(ctx, s, id)
}

// TestLinksRemembered: a stream projects each version of a trace. What a user sees of the traces that it links to is
// remembered.
func TestLinksRemembered(t *testing.T) {
	r := newRoom(t)
	for _, tr := range storetest.ScopeTraces() {
		r.add(tr)
		for r.at[len(r.at)-1] < archived {
			r.move(len(r.at) - 1)
		}
	}
	archive := &reads{Stored: r.archive}
	v := view.New(r.journal.Read, func() (store.Stored, error) { return archive, nil })
	v.Publish(asOf, 1, nil, nil)
	of := *r.traces[1]
	of.Spans = slices.Clone(of.Spans)
	root, whole, shared := *of.Root(), r.traces[0], r.traces[3]
	root.Links = []span.Link{
		{TraceID: whole.ID, SpanID: whole.Root().ID}, {TraceID: shared.ID, SpanID: shared.Root().ID},
		{TraceID: r.traces[2].ID, SpanID: r.traces[2].Root().ID}, // a hidden one
	}
	of.Spans[0] = &root
	for range 3 {
		if part := v.Project(store.Scope{Namespaces: []string{"a"}}, &of); len(part.Root().Links) != 2 {
			t.Fatalf("got %+v", part.Root())
		}
	}
	if archive.n != 1 {
		t.Errorf("%d traces were read, want the shared one once", archive.n)
	}
}
