// SPDX-License-Identifier: Apache-2.0

package storetest

import (
	"bytes"
	"cmp"
	"errors"
	"slices"
	"testing"

	"go.opentelemetry.io/otel/trace"

	"github.com/kube-lifeline/lifeline/app/internal/object"
	"github.com/kube-lifeline/lifeline/app/internal/span"
	"github.com/kube-lifeline/lifeline/app/internal/span/spantest"
	"github.com/kube-lifeline/lifeline/app/internal/store"
)

// ScopeTraces returns the traces of CheckScopes: 1 and 2 in namespace a, 3 in b, 4 in both, 5 in a and without
// a namespace, 6 without an object, 7 in a with a Secret, and 8 in a with a Node in a text. 3 and 4 link to 1, and 2
// links to 3.
func ScopeTraces() []*span.Trace {
	var out []*span.Trace
	for n, namespaces := range [][]string{{"a"}, {"a", "a"}, {"b"}, {"a", "b"}, {"a", ""}, {}, {"a", "a"}, {"a"}} {
		t := change(n+1, max(1, len(namespaces)))
		for i, s := range t.Spans {
			if len(namespaces) == 0 {
				s.Object, s.Events = object.Ref{}, nil
				continue
			}
			s.Object.Namespace = namespaces[i]
		}
		out = append(out, t)
	}
	out[6].Spans[1].Object.Kind = object.Kind{Version: "v1", Kind: "Secret"}
	root := out[7].Root()
	root.Attributes = append(root.Attributes, span.KeyReason.String("node"), span.KeyReasonObject.String("Node n-1"))
	for from, to := range map[int]int{2: 0, 3: 0, 1: 2} {
		root := out[from].Root()
		root.Links = append(root.Links, span.Link{TraceID: out[to].ID, SpanID: out[to].Root().ID})
	}
	return out
}

// scopes are scopes, and the numbers of the traces that they permit as a whole and in part.
var scopes = map[string]struct {
	reason      string
	scope       store.Scope
	whole, part []int
}{
	"all":     {"the zero scope permits everything", store.Scope{}, []int{1, 2, 3, 4, 5, 6, 7, 8}, nil},
	"a":       {"", store.Scope{Namespaces: []string{"a"}}, []int{1, 2, 7}, []int{4, 5, 8}},
	"b":       {"", store.Scope{Namespaces: []string{"b"}}, []int{3}, []int{4}},
	"a and b": {"", store.Scope{Namespaces: []string{"a", "b"}}, []int{1, 2, 3, 4, 7}, []int{5, 8}},
	"a and cluster": {
		"also work without objects", store.Scope{Namespaces: []string{"a", ""}}, []int{1, 2, 5, 6, 7}, []int{4, 8},
	},
	"other":      {"", store.Scope{Namespaces: []string{"c"}}, nil, nil},
	"none":       {"an empty list permits nothing", store.Scope{Namespaces: []string{}}, nil, nil},
	"no Secrets": {"", store.Scope{Without: noSecrets}, []int{1, 2, 3, 4, 5, 6}, []int{7, 8}},
	"none in a":  {"", store.Scope{Namespaces: []string{"a"}, Without: noSecrets}, []int{1, 2}, []int{4, 5, 7, 8}},
	"guarded": {
		"3 has a Deployment elsewhere", store.Scope{Without: guard("a", "")}, []int{1, 2, 4, 5, 6, 7}, []int{8},
	},
	"guarded in a": {"", store.Scope{Namespaces: []string{"a"}, Without: guard()}, nil, []int{2, 7}},
	"cluster":      {"not the cluster of the traces", store.Scope{Clusters: []string{"x"}}, nil, nil},
}

var noSecrets = []store.Guarded{{Kind: "Secret"}}

// guard hides the Deployments, except in some namespaces.
func guard(except ...string) []store.Guarded {
	return []store.Guarded{{Group: "apps", Kind: "Deployment", Except: except}}
}

// testScope: each read has the traces of its scope and no others.
func testScope(t *testing.T, open Open) {
	s, b := open(t), batch(1)
	b.Finished = ScopeTraces()
	put(t, s, b)
	CheckScopes(t, s, b.Finished)
	// An object that comes later counts, too.
	late := amendment(b.Finished[0], "late")
	late.Spans[0].Object = spantest.Ref("apps", "Deployment", "late")
	late.Spans[0].Object.Namespace = "b"
	put(t, s, &store.Batch{Revision: 2, AsOf: asOf, Amendments: []*span.Trace{late}})
	a := store.Scope{Namespaces: []string{"a"}}
	CheckScope(t, s, a, b.Finished, []int{2, 7}, []int{1, 4, 5, 8})
	// Without the finished trace, its other objects are not known.
	early := amendment(change(9, 1), "early")
	early.Spans[0].Object.Namespace = "a"
	early.Spans[0].Events[0].Name = span.EventWrite
	put(t, s, &store.Batch{Revision: 3, AsOf: asOf, Amendments: []*span.Trace{early}})
	CheckScope(t, s, a, b.Finished, []int{2, 7}, []int{1, 4, 5, 8})
	names, err := s.Namespaces(t.Context())
	must(t, err)
	if want := []string{"", "a", "b"}; !slices.Equal(names, want) {
		t.Errorf("namespaces %q, want %q", names, want)
	}
	testSharedOf(t, s, a)
}

// testSharedOf: the question for shared traces has bounds of time, an object and a limit.
func testSharedOf(t *testing.T, s store.Stored, a store.Scope) {
	t.Helper()
	for name, tc := range map[string]struct {
		query store.SharedQuery
		want  int
	}{
		"all":           {store.SharedQuery{Limit: 9}, 4},
		"a few":         {store.SharedQuery{Limit: 3}, 3},
		"since":         {store.SharedQuery{Limit: 9, Since: asOf.Add(1)}, 0},
		"until":         {store.SharedQuery{Limit: 9, Until: second(5)}, 2},
		"of an object":  {store.SharedQuery{Limit: 9, Object: object.Ref{Name: "change-" + number(4)}}, 1},
		"of no object":  {store.SharedQuery{Limit: 9, Object: object.Ref{Name: "none"}}, 0},
		"of everything": {store.SharedQuery{Limit: 9, Object: object.Ref{Kind: object.Kind{Kind: "Pod"}}}, 4},
	} {
		tc.query.Scope = a
		got, err := s.Shared(t.Context(), tc.query)
		must(t, err)
		if len(got) != tc.want || !slices.IsSortedFunc(got, func(a, b store.Shared) int {
			return cmp.Or(b.AsOf.Compare(a.AsOf), bytes.Compare(b.ID[:], a.ID[:]))
		}) {
			t.Errorf("%s: got %+v, want %d", name, got, tc.want)
		}
	}
}

// CheckScopes checks the reads of ScopeTraces with several scopes.
func CheckScopes(t *testing.T, s store.Reader, all []*span.Trace) {
	t.Helper()
	for name, tc := range scopes {
		t.Run(name, func(t *testing.T) {
			t.Log(tc.reason)
			CheckScope(t, s, tc.scope, all, tc.whole, tc.part)
		})
	}
}

// CheckScope checks that each read with a scope has the traces that it permits, by their numbers from 1, and no
// others: as a whole, and in part.
func CheckScope(t *testing.T, s store.Reader, scope store.Scope, all []*span.Trace, whole, part []int) {
	t.Helper()
	want, exist := whole, slices.Concat(whole, part)
	stored, isStored := s.(store.Stored)
	if !isStored {
		want = exist
	} else {
		shared, err := stored.Shared(t.Context(), store.SharedQuery{Scope: scope, Limit: 99})
		must(t, err)
		for _, of := range shared {
			n := slices.IndexFunc(all, func(t *span.Trace) bool { return t.ID == of.ID })
			if !slices.Contains(part, n+1) {
				t.Errorf("trace %d is shared", n+1)
			}
		}
		if len(shared) != len(part) {
			t.Errorf("%d traces are shared, want %v", len(shared), part)
		}
	}
	page, err := s.List(t.Context(), store.Query{Scope: scope, Limit: 2})
	must(t, err)
	listed := page.Traces
	for page.Next != "" {
		if page, err = s.List(t.Context(), store.Query{Scope: scope, Limit: 2, After: page.Next}); err != nil {
			t.Fatal(err)
		}
		listed = append(listed, page.Traces...)
	}
	writes, err := s.Writes(t.Context(), store.WriteQuery{Scope: scope})
	must(t, err)
	between, err := s.Between(t.Context(), scope, trace.TraceID{}, trace.TraceID(slices.Repeat([]byte{0xff}, 16)), 99)
	must(t, err)
	counted, err := s.Stats(t.Context(), scope)
	must(t, err)
	if int(counted.Traces) != len(want) || scope.Key() != "" && counted.Bytes != 0 {
		t.Errorf("counted %+v, want %d traces", counted, len(want))
	}
	if len(listed) != len(want) || len(between) != len(exist) {
		t.Errorf("got %d traces in the list and %d IDs, want %v", len(listed), len(between), want)
	}
	dense, err := s.Density(t.Context(), store.DensityQuery{
		Query: store.Query{Scope: scope, Since: second(0), Until: second(60)}, Buckets: 3,
	})
	must(t, err)
	total := 0
	for _, b := range dense.Buckets {
		total += int(b.Count)
	}
	if total != len(want) {
		t.Errorf("the density has %d traces, want %d", total, len(want))
	}
	visible := map[trace.TraceID]bool{}
	for n, of := range all {
		visible[of.ID] = slices.Contains(exist, n+1)
	}
	for _, w := range writes.Writes {
		if !visible[w.TraceID] || !scope.Permits(w.Object) {
			t.Errorf("got a write of %s in namespace %q", w.TraceID, w.Object.Namespace)
		}
	}
	for n, of := range all {
		wanted := slices.Contains(want, n+1)
		if got := slices.ContainsFunc(listed, func(s store.Summary) bool { return s.ID == of.ID }); got != wanted {
			t.Errorf("trace %d in the list: %t", n+1, got)
		}
		if got := slices.Contains(between, of.ID); got != visible[of.ID] {
			t.Errorf("trace %d between IDs: %t", n+1, got)
		}
		if _, err := s.Trace(t.Context(), scope, of.ID); (err == nil) != visible[of.ID] ||
			err != nil && !errors.Is(err, store.ErrNotFound) {
			t.Errorf("trace %d: %v", n+1, err)
		}
		checkCauses(t, s, scope, of, visible)
		if len(store.WritesOf(of.Root())) == 0 || !scope.Permits(of.Root().Object) {
			continue
		}
		if wanted != slices.ContainsFunc(writes.Writes, func(w store.Write) bool { return w.TraceID == of.ID }) {
			t.Errorf("writes of trace %d: %t", n+1, !wanted)
		}
	}
}

// checkCauses: a visible trace has its own edges and those of visible traces, another one has none.
func checkCauses(t *testing.T, s store.Reader, scope store.Scope, of *span.Trace, visible map[trace.TraceID]bool) {
	t.Helper()
	causes, err := s.Causes(t.Context(), scope, of.ID)
	must(t, err)
	own := 0
	for _, c := range causes {
		if !visible[of.ID] || !visible[c.TraceID] {
			t.Errorf("trace %s has the edge %+v", of.ID, c)
		}
		if c.TraceID == of.ID {
			own++
		}
	}
	want := 0
	for _, each := range of.Spans {
		for _, edge := range store.CausesOf(each) {
			if scope.Permits(each.Object) && (edge.Parent || visible[edge.OfTrace]) {
				want++
			}
		}
	}
	if visible[of.ID] && own < want {
		t.Errorf("trace %s has %d of its %d edges", of.ID, own, want)
	}
}
