// SPDX-License-Identifier: Apache-2.0

package shard

import (
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"

	"github.com/kube-lifeline/lifeline/app/internal/object"
	"github.com/kube-lifeline/lifeline/app/internal/span"
)

// ours returns a span of Lifeline on an object of a namespace, with its first write at rv. theirs
// returns another component's span of the same trace.
func ours(id, parent byte, namespace string, rv int64) *span.Span {
	s := &span.Span{ID: trace.SpanID{id}, Object: object.Ref{Namespace: namespace, Name: "x"}}
	if parent != 0 {
		s.Parent = trace.SpanID{parent}
	}
	if rv != 0 {
		s.Events = []span.Event{{Name: span.EventWrite, Attributes: []attribute.KeyValue{span.KeyRV.Int64(rv)}}}
	}
	return s
}

func theirs(id, parent byte) *span.Span {
	s := ours(id, parent, "", 0)
	s.Object, s.Origin = object.Ref{}, &span.Origin{}
	return s
}

func TestHomes(t *testing.T) {
	cases := map[string]struct {
		reason string
		spans  []*span.Span
		want   []string // by span
	}{
		"ours alone": {
			"what is about an object is where that is",
			[]*span.Span{ours(1, 0, "x", 1), ours(2, 1, "y", 2)},
			[]string{"x", "y"},
		},
		"below ours": {
			"a request goes with its write",
			[]*span.Span{ours(1, 0, "x", 1), theirs(2, 1)},
			[]string{"x", "x"},
		},
		"below theirs": {
			"and what it called with it",
			[]*span.Span{ours(1, 0, "x", 1), theirs(2, 1), theirs(3, 2), theirs(4, 3)},
			[]string{"x", "x", "x", "x"},
		},
		"children first": {
			"order does not matter",
			[]*span.Span{theirs(4, 3), theirs(3, 2), theirs(2, 1), ours(1, 0, "x", 1)},
			[]string{"x", "x", "x", "x"},
		},
		"the nearest": {
			"each goes with what it is below",
			[]*span.Span{ours(1, 0, "x", 1), theirs(3, 1), ours(2, 1, "y", 2), theirs(4, 2), theirs(5, 4)},
			[]string{"x", "x", "y", "y", "y"},
		},
		"ours below theirs": {
			"an operator's reconcile has our writes below it",
			[]*span.Span{ours(1, 0, "x", 1), theirs(2, 1), ours(3, 2, "y", 2), theirs(4, 3)},
			[]string{"x", "x", "y", "y"},
		},
		"of the cluster": {
			"a Node's are the cluster's",
			[]*span.Span{ours(1, 0, "", 1), theirs(2, 1), ours(3, 1, "x", 2)},
			[]string{"", "", "x"},
		},
		"above ours": {
			"a pipeline's span goes with the change that it made",
			[]*span.Span{theirs(1, 0), ours(2, 1, "x", 1), theirs(3, 2)},
			[]string{"x", "x", "x"},
		},
		"parent unknown": {
			"its parent has not come",
			[]*span.Span{ours(1, 0, "x", 1), theirs(3, 9), theirs(4, 3)},
			[]string{"x", "x", "x"},
		},
		"a circle": {
			"each span has a member that keeps it",
			[]*span.Span{ours(1, 0, "x", 1), theirs(2, 3), theirs(3, 2), theirs(4, 3)},
			[]string{"x", "x", "x", "x"},
		},
		"itself": {"a circle of one", []*span.Span{ours(1, 0, "x", 1), theirs(2, 2)}, []string{"x", "x"}},
		"theirs alone": {
			"without an owner they are in the cluster's",
			[]*span.Span{theirs(1, 0), theirs(2, 1)},
			[]string{"", ""},
		},
		"nothing": {"an empty trace", nil, nil},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Log(tc.reason)
			whole := &span.Trace{Spans: tc.spans}
			h := homesOf(whole)
			var got []string
			for _, s := range tc.spans {
				got = append(got, h.of(s))
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
			for i, s := range tc.spans { // as a late span
				before := &span.Trace{Spans: slices.Delete(slices.Clone(tc.spans), i, i+1)}
				if at := NamespaceOf(before, s); at != tc.want[i] {
					t.Errorf("span %s, a late one, is in %q, want %q", s.ID, at, tc.want[i])
				}
			}
		})
	}
}

// TestJoinedParts: each member keeps the spans that were joined to its own part. Joined spans do
// not change the ownership or the beginnings.
func TestJoinedParts(t *testing.T) {
	both := []string{"a", "b"}
	of := map[string]string{} // a namespace of each, apart from ""
	for i := range 50 {
		name := fmt.Sprintf("ns-%d", i)
		of[choose(name, both)] = name
	}
	other := map[string]string{"a": "b", "b": "a"}
	stranger := other[choose("", both)] // the member that does not own ""
	settled := Table{Version: 2, Epochs: []Epoch{{ID: 1, Members: both}}}
	moving := Table{
		Version: 3,
		Epochs:  []Epoch{{ID: 1, Members: []string{stranger}}},
		Pending: &Pending{ID: 2, Members: both, Hold: true, Version: 3},
	}

	of1, of2 := of[stranger], of[other[stranger]]
	cases := map[string]struct {
		reason string
		spans  []*span.Span
		// mine are the IDs that the stranger to the cluster's objects keeps.
		mine []byte
	}{
		"all of one": {
			"it does not own the cluster's objects, and keeps all",
			[]*span.Span{ours(1, 0, of1, 5), theirs(2, 1), theirs(3, 2)},
			[]byte{1, 2, 3},
		},
		"nothing of it": {
			"what is joined to another's part is not its own",
			[]*span.Span{ours(1, 0, of2, 5), theirs(2, 1)},
			nil,
		},
		"some": {
			"the rest is the other's",
			[]*span.Span{ours(1, 0, of2, 5), theirs(2, 1), ours(3, 1, of1, 7), theirs(4, 3), theirs(5, 4)},
			[]byte{3, 4, 5},
		},
		"of the cluster's": {
			"the cluster's are the other's, as all of the cluster",
			[]*span.Span{ours(1, 0, "", 5), theirs(2, 1), ours(3, 1, of1, 7)},
			[]byte{3},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Log(tc.reason)
			whole, bare := &span.Trace{Spans: tc.spans}, &span.Trace{}
			for _, s := range tc.spans {
				if s.Origin == nil {
					bare.Spans = append(bare.Spans, s)
				}
			}
			kept := map[byte]int{}
			for _, who := range both {
				var ids []byte
				if part := NewView(settled, who, true).Mine(whole); part != nil {
					for _, s := range part.Spans {
						ids = append(ids, s.ID[0])
						kept[s.ID[0]]++
					}
				}
				if who == stranger && !slices.Equal(ids, tc.mine) {
					t.Errorf("it keeps %v, want %v", ids, tc.mine)
				}
				for _, table := range []Table{settled, moving} {
					v := NewView(table, who, true)
					type answers struct {
						Undecided, Some bool
						Since           uint64
						Others          []string
					}
					ask := func(t *span.Trace) (a answers) {
						a.Undecided, a.Others = v.Undecided(t), v.Others(t)
						a.Since, a.Some = v.Since(t)
						return a
					}
					if diff := cmp.Diff(ask(bare), ask(whole)); diff != "" {
						t.Errorf("%s, version %d: -without joined spans +with them:\n%s", who, table.Version, diff)
					}
				}
			}
			for _, s := range tc.spans {
				if kept[s.ID[0]] != 1 {
					t.Errorf("%d members keep span %d, want one", kept[s.ID[0]], s.ID[0])
				}
			}
		})
	}
}
