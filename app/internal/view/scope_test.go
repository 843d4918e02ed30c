// SPDX-License-Identifier: Apache-2.0

package view_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/kube-lifeline/lifeline/app/internal/journal"
	"github.com/kube-lifeline/lifeline/app/internal/span"
	"github.com/kube-lifeline/lifeline/app/internal/store"
	"github.com/kube-lifeline/lifeline/app/internal/store/storetest"
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
	_, err := r.view.Trace(t.Context(), store.Scope{Clusters: []string{}}, r.traces[0].ID)
	if !errors.Is(err, store.ErrNotFound) {
		t.Errorf("without a permitted cluster: %v", err)
	}
}
