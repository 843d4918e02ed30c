// SPDX-License-Identifier: Apache-2.0

package storetest

import (
	"slices"
	"testing"

	"go.opentelemetry.io/otel/trace"

	"github.com/kube-lifeline/lifeline/app/internal/object"
	"github.com/kube-lifeline/lifeline/app/internal/span"
	"github.com/kube-lifeline/lifeline/app/internal/span/spantest"
	"github.com/kube-lifeline/lifeline/app/internal/store"
)

// in returns a copy of t with its spans' objects in a namespace, from the given span on.
func in(t *span.Trace, namespace string, from int) *span.Trace {
	out := *t
	out.Spans = slices.Clone(t.Spans)
	for i := from; i < len(out.Spans); i++ {
		s := *out.Spans[i]
		s.Object.Namespace = namespace
		out.Spans[i] = &s
	}
	return &out
}

// linked returns a copy of t whose last span links to the root of each trace.
func linked(t *span.Trace, to ...*span.Trace) *span.Trace {
	out := *t
	out.Spans = slices.Clone(t.Spans)
	last := *out.Spans[len(out.Spans)-1]
	for _, of := range to {
		last.Links = append(last.Links, span.Link{
			TraceID: of.ID, SpanID: of.Spans[0].ID, Reason: "heals",
		})
	}
	out.Spans[len(out.Spans)-1] = &last
	return &out
}

// testForget: nothing of a namespace is left, and nothing else is lost.
func testForget(t *testing.T, open Open) {
	s, b := open(t), batch(1)
	inside, shared, outside := in(change(1, 3), "secret", 0), in(change(2, 4), "secret", 3), change(3, 2)
	similar := in(change(4, 2), "secret-2", 0)
	other := linked(change(5, 2), inside, outside, shared)
	written := change(6, 2) // a write to an object of the namespace, without a span of it
	adopted := spantest.Ref("", "Pod", "adopted")
	spantest.Write(written.Spans[1], span.Write{Of: &adopted, Start: second(6), End: second(6)})
	written = in(written, "secret", 1)
	itself := change(7, 1)
	itself.Spans[0].Object = spantest.Ref("", "Namespace", "secret")
	itself.Spans[0].Object.Namespace = ""
	among := linked(in(change(8, 2), "secret", 0), inside, outside)
	b.Finished = []*span.Trace{inside, shared, outside, similar, other, written, itself, among}
	late := amendment(change(9, 1), "late") // its trace has not come
	late.Spans[0].Object.Namespace = "secret"
	b.Amendments = []*span.Trace{late}
	put(t, s, b)
	must(t, s.Pin(t.Context(), inside.ID, true))

	got, err := s.Forget(t.Context(), store.Selector{Namespace: "secret"})
	want := store.Forgotten{Traces: 5, Shared: 2, Edges: 2}
	if err != nil || got != want {
		t.Errorf("%+v, want %+v; %v", got, want, err)
	}
	if left := names(list(t, s, store.Query{})); left != "5 4 3" {
		t.Errorf("left %q", left)
	}
	for _, id := range []trace.TraceID{inside.ID, shared.ID, among.ID} {
		if causes, err := s.Causes(t.Context(), store.Scope{}, id); err != nil || len(causes) != 0 {
			t.Errorf("causes of a forgotten trace: %+v, %v", causes, err)
		}
	}
	if d := diff(linked(change(5, 2), outside), get(t, s, other.ID).Trace); d != "" {
		t.Errorf("a trace with links (-want +got):\n%s", d)
	}
	writes, err := s.Writes(t.Context(), store.WriteQuery{Object: object.Ref{Namespace: "secret"}})
	if err != nil || len(writes.Writes) != 0 {
		t.Errorf("writes are left: %+v, %v", writes, err)
	}
	if again, err := s.Forget(t.Context(), store.Selector{Namespace: "secret"}); err != nil ||
		again != (store.Forgotten{}) {
		t.Errorf("again: %+v, %v", again, err)
	}
	if _, err := s.Forget(t.Context(), store.Selector{}); err == nil {
		t.Error("an empty selector was accepted")
	}
	b = batch(2) // the waiting amendment is gone, too
	b.Finished = []*span.Trace{change(9, 1)}
	put(t, s, b)
	if d := diff(change(9, 1), get(t, s, late.ID).Trace); d != "" {
		t.Errorf("-want +got:\n%s", d)
	}
}
