// SPDX-License-Identifier: Apache-2.0

package store_test

import (
	"context"
	"errors"
	"iter"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.opentelemetry.io/otel/trace"

	"github.com/kube-lifeline/lifeline/app/internal/insight/sample"
	"github.com/kube-lifeline/lifeline/app/internal/span"
	"github.com/kube-lifeline/lifeline/app/internal/span/spantest"
	"github.com/kube-lifeline/lifeline/app/internal/store"
)

// own and foreign are the scope of the caller, and the one that a query asks for.
var own, foreign = store.Scope{Namespaces: []string{"own"}}, store.Scope{Namespaces: []string{"foreign"}}

// asked is a Reader that notes the scope of the last question.
type asked struct{ scope store.Scope }

func (a *asked) note(s store.Scope) { a.scope = s }

func (a *asked) Trace(_ context.Context, s store.Scope, _ trace.TraceID) (*store.Record, error) {
	a.note(s)
	return &store.Record{Trace: &span.Trace{}}, nil
}

func (a *asked) List(_ context.Context, q store.Query) (*store.Page, error) {
	a.note(q.Scope)
	return &store.Page{}, nil
}

func (a *asked) Density(_ context.Context, q store.DensityQuery) (*store.Density, error) {
	a.note(q.Scope)
	return &store.Density{}, nil
}

func (a *asked) Writes(_ context.Context, q store.WriteQuery) (*store.WritePage, error) {
	a.note(q.Scope)
	return &store.WritePage{}, nil
}

func (a *asked) Causes(_ context.Context, s store.Scope, _ trace.TraceID) ([]store.Cause, error) {
	a.note(s)
	return nil, nil
}

func (a *asked) Between(
	_ context.Context, s store.Scope, _, _ trace.TraceID, _ int,
) ([]trace.TraceID, error) {
	a.note(s)
	return nil, nil
}

func (a *asked) Stats(_ context.Context, s store.Scope) (store.Stats, error) {
	a.note(s)
	return store.Stats{}, nil
}

func (a *asked) Find(_ context.Context, q store.FindQuery) (*store.FindPage, error) {
	a.note(q.Scope)
	return &store.FindPage{}, nil
}

func (a *asked) Group(_ context.Context, q store.GroupQuery) (*store.GroupPage, error) {
	a.note(q.Scope)
	return &store.GroupPage{}, nil
}

func (a *asked) Services(_ context.Context, s store.Scope) ([]string, error) {
	a.note(s)
	return nil, nil
}

func (a *asked) Operations(_ context.Context, s store.Scope, _ string) ([]string, error) {
	a.note(s)
	return nil, nil
}

func (a *asked) Search(_ context.Context, q store.SpanQuery) ([]trace.TraceID, error) {
	a.note(q.Scope)
	return nil, nil
}

func (a *asked) Rollups(_ context.Context, q store.RollupQuery) iter.Seq2[sample.Rollup, error] {
	a.note(q.Scope)
	return func(func(sample.Rollup, error) bool) {}
}

func (a *asked) Samples(_ context.Context, q store.FindQuery) iter.Seq2[sample.Lifecycle, error] {
	a.note(q.Scope)
	return func(func(sample.Lifecycle, error) bool) {}
}

// TestAccess: every question of a Reader is asked within the scope of the caller, also if its query has
// another one.
func TestAccess(t *testing.T) {
	from := &asked{}
	access := reflect.ValueOf(store.NewGate(from, store.Whole).For(own))
	for i := range reflect.TypeFor[store.Reader]().NumMethod() {
		name := reflect.TypeFor[store.Reader]().Method(i).Name
		method := access.MethodByName(name)
		if !method.IsValid() {
			t.Errorf("%s: an access does not have it", name)
			continue
		}
		in := []reflect.Value{reflect.ValueOf(t.Context())}
		for n := 1; n < method.Type().NumIn(); n++ {
			one := reflect.New(method.Type().In(n)).Elem()
			if one.Kind() == reflect.Struct {
				one.FieldByName("Scope").Set(reflect.ValueOf(foreign))
			}
			in = append(in, one)
		}
		from.scope = store.Scope{}
		method.Call(in)
		if diff := cmp.Diff(own, from.scope); diff != "" {
			t.Errorf("%s: scope: -want +got:\n%s", name, diff)
		}
	}
}

// one is a Reader of one trace.
type one struct {
	store.Reader
	record *store.Record
}

func (o one) Trace(context.Context, store.Scope, trace.TraceID) (*store.Record, error) {
	if o.record == nil {
		return nil, store.ErrNotFound
	}
	return o.record, nil
}

// projection counts its calls.
type projection struct {
	calls int
	to    func(*span.Trace) *span.Trace
}

func (p *projection) project(_ store.Scope, t *span.Trace) *span.Trace {
	p.calls++
	return p.to(t)
}

// TestExcerpt: a stored trace and a sealed version are projected once, and their summary is that of the
// visible spans.
func TestExcerpt(t *testing.T) {
	whole := spantest.Rollout()
	asOf := spantest.Epoch.Add(time.Hour)
	stored := store.Summarize(whole, asOf)
	stored.Pinned, stored.AsOf, stored.Revision, stored.Reason = true, asOf, 7, "as stored"
	part := *whole
	part.Spans = part.Spans[:2]
	shorter := store.Summarize(&part, asOf)
	shorter.AsOf = asOf
	for name, tc := range map[string]struct {
		reason  string
		visible *span.Trace
		// want is the summary of the excerpt, apart from the data of the store; nil for no excerpt.
		want *store.Summary
	}{
		"whole":  {"the stored summary is that of all spans", whole, &stored},
		"part":   {"a summary of all spans would tell of hidden ones", &part, &shorter},
		"hidden": {"as an absent trace", nil, nil},
	} {
		p := &projection{to: func(*span.Trace) *span.Trace { return tc.visible }}
		access := store.NewGate(one{record: &store.Record{Summary: stored, Trace: whole}}, p.project).For(own)
		e, err := access.Trace(t.Context(), whole.ID)
		if p.calls != 1 {
			t.Errorf("%s: projected %d times", name, p.calls)
		}
		sealed := access.Unseal(store.Seal(whole, false, asOf))
		if p.calls != 2 {
			t.Errorf("%s: projected %d times with a version", name, p.calls)
		}
		if tc.want == nil {
			_, absent := store.NewGate(one{}, store.Whole).For(own).Trace(t.Context(), whole.ID)
			if e != nil || !errors.Is(err, store.ErrNotFound) || err.Error() != absent.Error() || sealed != nil {
				t.Errorf("%s (%s): got %v, %v and %v; absent: %v", name, tc.reason, e, err, sealed, absent)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		want := *tc.want
		want.Pinned, want.Revision = true, 7
		if diff := cmp.Diff(&want, e.Summary()); diff != "" || e.Trace() != tc.visible {
			t.Errorf("%s (%s): -want +got:\n%s", name, tc.reason, diff)
		}
		if e.Whole() != (tc.visible == whole) || sealed.Whole() != e.Whole() || sealed.Trace() != tc.visible {
			t.Errorf("%s: whole: %t and %t", name, e.Whole(), sealed.Whole())
		}
		if got := sealed.Summary(); got.Spans != len(tc.visible.Spans) || got != sealed.Summary() {
			t.Errorf("%s: a version has the summary %+v", name, got)
		}
	}
}

// TestUnseal: callers with the whole trace share one excerpt, without an allocation.
func TestUnseal(t *testing.T) {
	sealed := store.Seal(spantest.Apply(), true, spantest.Epoch)
	gate := store.NewGate(nil, store.Whole)
	all := gate.For(store.Scope{})
	first := all.Unseal(sealed)
	if first == nil || first.Trace().ID != sealed.ID() || len(first.Trace().Spans) != sealed.Spans() {
		t.Fatalf("got %+v", first)
	}
	if n := testing.AllocsPerRun(100, func() {
		if all.Unseal(sealed) != first {
			t.Error("the excerpt was made again")
		}
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
	clusters := gate.For(store.Scope{Clusters: []string{"a", "b"}})
	for name, tc := range map[string]struct {
		access store.Access
		want   bool
	}{
		"one of the clusters": {clusters.In("a"), true},
		"another cluster":     {clusters.In("c"), false},
		"all clusters":        {clusters, false},
		"its namespaces":      {gate.For(store.Scope{Namespaces: []string{"default", ""}}), true},
		"other namespaces":    {gate.For(own), false},
		"no namespace":        {gate.For(store.Scope{Namespaces: []string{}}), false},
	} {
		if got := tc.access.Unseal(sealed) != nil; got != tc.want {
			t.Errorf("%s: visible %t, want %t", name, got, tc.want)
		}
	}
}

// TestNarrow: fewer spans are not the whole trace, and keep its summary.
func TestNarrow(t *testing.T) {
	whole := spantest.Apply()
	e := store.NewGate(nil, store.Whole).For(store.Scope{}).Unseal(store.Seal(whole, false, spantest.Epoch))
	got := e.Narrow(func(s *span.Span) bool { return s == whole.Spans[0] })
	if got.Whole() || !slices.Equal(got.Trace().Spans, whole.Spans[:1]) || got.Summary() != e.Summary() {
		t.Errorf("got %+v", got)
	}
	if len(whole.Spans) != len(spantest.Apply().Spans) {
		t.Error("the trace has changed")
	}
}
