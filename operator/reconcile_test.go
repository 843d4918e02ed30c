// SPDX-License-Identifier: Apache-2.0

package operator_test

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/kube-lifeline/lifeline"
	"github.com/kube-lifeline/lifeline/operator"
	"github.com/kube-lifeline/lifeline/operator/operatortest"
	"github.com/kube-lifeline/lifeline/operator/queue"
)

// names returns the names of the spans, sorted.
func names(spans []sdktrace.ReadOnlySpan) []string {
	var n []string
	for _, s := range spans {
		n = append(n, s.Name())
	}
	slices.Sort(n)
	return n
}

// attributes returns a span's attributes as text.
func attributes(s sdktrace.ReadOnlySpan) map[string]string {
	m := map[string]string{}
	for _, a := range s.Attributes() {
		m[string(a.Key)] = a.Value.String()
	}
	return m
}

// links returns the reasons of a span's links, by trace ID.
func links(s sdktrace.ReadOnlySpan) map[string]string {
	m := map[string]string{}
	for _, l := range s.Links() {
		for _, a := range l.Attributes {
			if a.Key == "lifeline.link" {
				m[l.SpanContext.TraceID().String()] = a.Value.AsString()
			}
		}
	}
	return m
}

func only(t *testing.T, rec *operatortest.Recorder, name string) sdktrace.ReadOnlySpan {
	t.Helper()
	spans := rec.Find(name)
	if len(spans) != 1 {
		t.Fatalf("got %d spans named %s, want one:\n%s", len(spans), name, operatortest.Tree(rec.Spans()))
	}
	return spans[0]
}

func traceOf(n byte) string { return given(n).TraceID().String() }

// answers makes the API server respond to all writes with err.
func answers(err error) interceptor.Funcs {
	return interceptor.Funcs{
		Create: func(context.Context, client.WithWatch, client.Object, ...client.CreateOption) error { return err },
		Update: func(context.Context, client.WithWatch, client.Object, ...client.UpdateOption) error { return err },
		Delete: func(context.Context, client.WithWatch, client.Object, ...client.DeleteOption) error { return err },
	}
}

var configMaps = schema.GroupResource{Resource: "configmaps"}

func TestWhichReconcilesLeaveSpans(t *testing.T) {
	updates := func(ctx context.Context, c client.Client) (reconcile.Result, error) {
		obj := child()
		obj.ResourceVersion = "5"
		return reconcile.Result{}, c.Update(ctx, obj)
	}
	swallows := func(ctx context.Context, c client.Client) (reconcile.Result, error) {
		_ = c.Create(ctx, child())
		return reconcile.Result{}, nil
	}
	cases := map[string]struct {
		reason string
		parent *policyv1.PodDisruptionBudget
		server interceptor.Funcs
		do     func(context.Context, client.Client) (reconcile.Result, error)
		want   []string
	}{
		"nothing to do": {reason: "L3", parent: parent(carrying(given(1))), do: rests},
		"a no-op": {
			reason: "L3: the response has the same version",
			parent: parent(carrying(given(1))),
			server: answers(nil),
			do:     updates,
		},
		"a create": {
			reason: "L3",
			parent: parent(carrying(given(1))),
			do:     creates,
			want:   []string{"create ConfigMap", "head reconcile"},
		},
		"an unknown object": {
			reason: "L3: the object may be deleted",
			do:     creates,
			want:   []string{"create ConfigMap", "head reconcile"},
		},
		"a status": {
			reason: "L3: the object had not converged",
			parent: parent(unready),
			do:     says(ready),
			want:   []string{"head reconcile", "update PodDisruptionBudget/status"},
		},
		"converged, status": {reason: "L3: the object had converged", parent: parent(ready), do: says(unready)},
		"converged, a write": {
			reason: "a healing",
			parent: parent(ready),
			do:     creates,
			want:   []string{"create ConfigMap", "head reconcile"},
		},
		"an error": {
			reason: "L3: a failure has a span even without a write",
			do: func(context.Context, client.Client) (reconcile.Result, error) {
				return reconcile.Result{}, errTest
			},
			want: []string{"head reconcile"},
		},
		"a write that fails": {
			reason: "L3: even if the reconciler ignores the error",
			server: answers(errTest),
			do:     swallows,
			want:   []string{"create ConfigMap", "head reconcile"},
		},
		"already exists": {
			reason: "an expected failure",
			server: answers(apierrors.NewAlreadyExists(configMaps, "child")),
			do:     swallows,
		},
		"already deleted": {
			reason: "an expected failure",
			server: answers(apierrors.NewNotFound(configMaps, "child")),
			do: func(ctx context.Context, c client.Client) (reconcile.Result, error) {
				return reconcile.Result{}, client.IgnoreNotFound(c.Delete(ctx, child()))
			},
		},
		"a conflict": {
			reason: "L3: the write failed",
			server: answers(apierrors.NewConflict(configMaps, "child", errTest)),
			do:     swallows,
			want:   []string{"create ConfigMap", "head reconcile"},
		},
		"a dry run": {
			reason: "nothing is stored",
			do: func(ctx context.Context, c client.Client) (reconcile.Result, error) {
				return reconcile.Result{}, c.Create(ctx, child(), client.DryRunAll)
			},
		},
		"both, after an expected failure": {
			reason: "held records become spans",
			parent: parent(carrying(given(1))),
			do: func(ctx context.Context, c client.Client) (reconcile.Result, error) {
				_ = c.Delete(ctx, child())
				return creates(ctx, c)
			},
			want: []string{"create ConfigMap", "delete ConfigMap", "head reconcile"},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, tc.server)
			if tc.parent != nil {
				r.have(t, tc.parent)
			}
			_, err := r.reconcile(t, tc.do)
			if err != nil && !errors.Is(err, errTest) {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, names(r.rec.Spans())); diff != "" {
				t.Errorf("%s: -want +got\n%s", tc.reason, diff)
			}
			if tc.want != nil {
				r.rec.OneTrace(t)
			}
		})
	}
}

func TestWhichTrace(t *testing.T) {
	sixHours := begin.Add(-6 * time.Hour)
	cases := map[string]struct {
		reason string
		parent *policyv1.PodDisruptionBudget
		below  trace.SpanContext // invalid for a new root
		links  map[string]string
	}{
		"no context": {reason: "a new trace", parent: parent(unready)},
		"another's":  {reason: "P1", parent: parent(carrying(given(1))), below: given(1)},
		"claimed":    {reason: "P1", parent: parent(carrying(claimed(1))), below: given(1)},
		"made at its creation": {
			reason: "P3a: the UID was unknown",
			parent: parent(
				carrying(
					claimed(1, func(c *lifeline.Claim) { id := parentIdentity(); id.UID = ""; c.Object = id.Hash() }),
				),
			),
			below: given(1),
		},
		"healing": {
			reason: "C3: the object had converged",
			parent: parent(ready, carrying(given(1))),
			links:  map[string]string{traceOf(1): "healing"},
		},
		"deletion": {
			reason: "L6: a deletion is a new change",
			parent: parent(deleting, carrying(given(1))),
			links:  map[string]string{traceOf(1): "deletion"},
		},
		"superseded": {
			reason: "P3a: made for an earlier generation",
			parent: parent(generation(3), unready, carrying(claimed(1))),
			links:  map[string]string{traceOf(1): "superseded"},
		},
		"generation unknown": {
			reason: "P3a: without a status subresource, the generation also counts status writes",
			parent: parent(generation(3), carrying(claimed(1))),
			below:  given(1),
		},
		"cloned": {
			reason: "P4: made for another object",
			parent: parent(carrying(claimed(1, func(c *lifeline.Claim) { c.Object = 77 }))),
			links:  map[string]string{traceOf(1): "stale"},
		},
		"saved": {
			reason: "P4: made long before the object's creation",
			parent: parent(carrying(claimed(1, func(c *lifeline.Claim) {
				id := parentIdentity()
				id.UID = ""
				c.Object, c.Time = id.Hash(), sixHours
			}))),
			links: map[string]string{traceOf(1): "stale"},
		},
		"old, of this very object": {
			reason: "P4: an object may live long",
			parent: parent(carrying(claimed(1, func(c *lifeline.Claim) { c.Time = sixHours }))),
			below:  given(1),
		},
		"copied from the owner": {
			reason: "P2: such a copy needs no special case",
			parent: parent(func(p *policyv1.PodDisruptionBudget) {
				yes := true
				p.OwnerReferences = []metav1.OwnerReference{
					{APIVersion: "demo/v1", Kind: "Group", Name: "g", UID: "uid-g", Controller: &yes},
				}
			}, carrying(claimed(1, func(c *lifeline.Claim) { c.Object = lifeline.Identity{UID: "uid-g"}.Hash() }))),
			below: given(1),
		},
		"a claim that does not hold": {
			reason: "P3a: the claim is about another context",
			parent: parent(generation(3), unready, func(p *policyv1.PodDisruptionBudget) {
				carrying(claimed(2))(p)
				encoded := lifeline.Default.Encode(given(1), bagOf(t, ""))
				p.Annotations[lifeline.ContextKey] = encoded[lifeline.ContextKey]
			}),
			below: given(1),
		},
		"broken": {reason: "P4: a broken context counts as none", parent: parent(func(p *policyv1.PodDisruptionBudget) {
			p.Annotations = map[string]string{lifeline.ContextKey: "00-nonsense"}
		})},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, interceptor.Funcs{})
			r.have(t, tc.parent)
			if _, err := r.reconcile(t, creates); err != nil {
				t.Fatal(err)
			}
			s := only(t, r.rec, "head reconcile")
			if s.Parent().SpanID() != tc.below.SpanID() ||
				tc.below.IsValid() && s.SpanContext().TraceID() != tc.below.TraceID() {
				t.Errorf("%s: parent = %v, want %v", tc.reason, s.Parent(), tc.below)
			}
			want := tc.links
			if want == nil {
				want = map[string]string{}
			}
			if diff := cmp.Diff(want, links(s)); diff != "" {
				t.Errorf("%s: links, -want +got\n%s", tc.reason, diff)
			}
			r.rec.OneTrace(t, "head reconcile", "create ConfigMap")
			r.carries(t, s)
		})
	}
}

// carries checks that the child carries the context of the span that created it, with a claim about
// the child.
func (r *rig) carries(t *testing.T, reconcile sdktrace.ReadOnlySpan) {
	t.Helper()
	obj := &corev1.ConfigMap{}
	if err := r.server.Get(t.Context(), client.ObjectKeyFromObject(child()), obj); err != nil {
		t.Fatal(err)
	}
	write := only(t, r.rec, "create ConfigMap")
	sc := lifeline.Extract(obj)
	if sc.SpanID() != write.SpanContext().SpanID() || sc.TraceID() != write.SpanContext().TraceID() || !sc.IsSampled() {
		t.Errorf("the child carries %v, want the write's %v", sc, write.SpanContext())
	}
	claim, holds := lifeline.ClaimOf(sc)
	if !holds || !claim.Names(lifeline.Identity{Kind: "ConfigMap", Namespace: "demo", Name: "child"}) ||
		claim.Generation != 1 ||
		claim.Digest == 0 ||
		claim.Time.IsZero() && reconcile.Parent().TraceState().Len() > 0 {
		t.Errorf("the child's claim = %v", claim)
	}
	if write.Parent().SpanID() != reconcile.SpanContext().SpanID() {
		t.Errorf("parent of the write = %v", write.Parent())
	}
	if write.SpanKind() != trace.SpanKindClient {
		t.Errorf("span kind of the write = %v", write.SpanKind())
	}
}

func TestMergedTriggersBecomeLinks(t *testing.T) {
	cases := map[string]struct {
		reason   string
		contexts []trace.SpanContext
		links    map[string]string
		dropped  string
	}{
		"one": {
			reason:   "the only trigger is the parent",
			contexts: []trace.SpanContext{given(1)},
			links:    map[string]string{},
		},
		"two changes": {
			reason:   "L2",
			contexts: []trace.SpanContext{given(2), given(1)},
			links:    map[string]string{traceOf(2): "trigger"},
		},
		"twice the same": {
			reason:   "L2: once",
			contexts: []trace.SpanContext{given(2), given(2), given(1)},
			links:    map[string]string{traceOf(2): "trigger"},
		},
		"the same trace": {
			reason:   "a link within a trace is unnecessary",
			contexts: []trace.SpanContext{given(1).WithSpanID(trace.SpanID{9}), given(1)},
			links:    map[string]string{},
		},
		"without one": {
			reason:   "triggers without a context have no link",
			contexts: []trace.SpanContext{{}, {}},
			links:    map[string]string{},
		},
		"too many": {
			reason: "the links are limited, and dropped ones are counted",
			contexts: []trace.SpanContext{
				given(2),
				given(3),
				given(4),
				given(5),
				given(6),
				given(7),
				given(8),
				given(9),
				given(10),
				given(11),
			},
			links: map[string]string{
				traceOf(2): "trigger", traceOf(3): "trigger", traceOf(4): "trigger", traceOf(5): "trigger",
				traceOf(6): "trigger", traceOf(7): "trigger", traceOf(8): "trigger", traceOf(9): "trigger",
			},
			dropped: "2",
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, interceptor.Funcs{})
			r.have(t, parent(carrying(given(1))))
			for _, sc := range tc.contexts {
				r.kit.Trigger("head", request, parent(carrying(sc)))
			}
			if _, err := r.reconcile(t, creates); err != nil {
				t.Fatal(err)
			}
			s := only(t, r.rec, "head reconcile")
			if diff := cmp.Diff(tc.links, links(s)); diff != "" {
				t.Errorf("%s: -want +got\n%s", tc.reason, diff)
			}
			if got := attributes(s)["lifeline.triggers.dropped"]; got != tc.dropped {
				t.Errorf("%s: dropped = %q, want %q", tc.reason, got, tc.dropped)
			}
			if triggers, _, _ := r.kit.Counts(); triggers != 0 {
				t.Errorf("%s: %d requests still have triggers", tc.reason, triggers)
			}
		})
	}
}

// step is one reconcile of an object, after a change of the object.
type step struct {
	parent *policyv1.PodDisruptionBudget
	do     func(context.Context, client.Client) (reconcile.Result, error)
	trace  string // of its span; "" for no span
}

func TestEpisodes(t *testing.T) {
	removes := func(ctx context.Context, c client.Client) (reconcile.Result, error) {
		return reconcile.Result{}, c.Delete(ctx, child())
	}
	cases := map[string]struct {
		reason string
		steps  []step
		open   bool
	}{
		"a healing": {
			reason: "the healing is one new trace, until the object has converged again",
			steps: []step{
				{parent(ready, carrying(given(1))), creates, "healing"},
				{parent(ready, carrying(given(1))), says(unready), ""},
				{parent(unready, carrying(given(1))), removes, "healing"},
				{parent(unready, carrying(given(1))), says(ready), "healing"},
				{parent(ready, carrying(given(1))), rests, ""},
				{parent(ready, carrying(given(1))), creates, "another healing"},
			}, open: true,
		},
		"a change after a healing": {
			reason: "the change ends the episode",
			steps: []step{
				{parent(ready, carrying(given(1))), creates, "healing"},
				{parent(generation(2), carrying(given(2))), removes, traceOf(2)},
			}, open: true,
		},
		"a status that comes and goes": {
			reason: "L3: after convergence, a status write alone is not part of the old trace",
			steps: []step{
				{parent(ready, carrying(given(1))), says(unready), ""},
				{parent(unready, carrying(given(1))), says(ready), ""},
				{parent(ready, carrying(given(1))), rests, ""},
			},
		},
		"a status that goes, and a healing": {
			reason: "the following repair is not part of the old trace",
			steps: []step{
				{parent(ready, carrying(given(1))), says(unready), ""},
				{parent(unready, carrying(given(1))), creates, "healing"},
				{parent(unready, carrying(given(1))), says(ready), "healing"},
				{parent(ready, carrying(given(1))), rests, ""},
			},
		},
		"a change without a context": {
			reason: "the reconciles share a trace",
			steps: []step{
				{parent(), creates, "change"},
				{parent(unready), says(ready), "change"},
				{parent(ready), rests, ""},
			},
		},
		"a deletion": {
			reason: "L6",
			steps: []step{
				{parent(carrying(given(1))), creates, traceOf(1)},
				{parent(deleting, carrying(given(1))), removes, "deletion"},
				{parent(deleting, carrying(given(1))), creates, "deletion"},
			}, open: true,
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, interceptor.Funcs{})
			called := map[string]trace.TraceID{traceOf(1): given(1).TraceID(), traceOf(2): given(2).TraceID()}
			for i, s := range tc.steps {
				r.have(t, s.parent)
				r.rec.Reset()
				if _, err := r.reconcile(t, s.do); err != nil {
					t.Fatalf("step %d: %v", i, err)
				}
				if s.trace == "" {
					r.rec.None(t)
					continue
				}
				got := r.rec.OneTrace(t, "head reconcile")
				want, known := called[s.trace]
				if known && got != want {
					t.Errorf("%s: step %d is in trace %s, want %s", tc.reason, i, got, want)
				}
				for other, id := range called {
					if !known && id == got {
						t.Errorf("%s: step %d is in trace %s", tc.reason, i, other)
					}
				}
				called[s.trace] = got
			}
			if open := r.kit.Episode("uid-head"); open != tc.open {
				t.Errorf("%s: episode open = %v", tc.reason, open)
			}
		})
	}
}

func TestResults(t *testing.T) {
	cases := map[string]struct {
		reason string
		result reconcile.Result
		err    error
		want   map[string]string
	}{
		"done": {reason: "the work is complete", want: map[string]string{"lifeline.result": "done"}},
		"requeue": {
			reason: "soon",
			result: reconcile.Result{Requeue: true}, //nolint:staticcheck // while controller-runtime supports it
			want:   map[string]string{"lifeline.result": "requeue"},
		},
		"later": {
			reason: "a requeue after a delay",
			result: reconcile.Result{RequeueAfter: 90 * time.Second},
			want:   map[string]string{"lifeline.result": "requeue", "lifeline.requeue_after": "90"},
		},
		"error": {
			reason: "the error overrides the result",
			result: reconcile.Result{RequeueAfter: time.Second},
			err:    errTest,
			want:   map[string]string{"lifeline.result": "error"},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, interceptor.Funcs{})
			r.have(t, parent(generation(3), carrying(given(1))))
			result, err := r.reconcile(t, func(ctx context.Context, c client.Client) (reconcile.Result, error) {
				if _, err := creates(ctx, c); err != nil {
					return reconcile.Result{}, err
				}
				return tc.result, tc.err
			})
			if result != tc.result || !errors.Is(err, tc.err) {
				t.Errorf("%s: Reconcile returned %v, %v", tc.reason, result, err)
			}
			want := map[string]string{
				"k8s.object.group":      "policy",
				"k8s.object.version":    "v1",
				"k8s.object.kind":       "PodDisruptionBudget",
				"k8s.object.name":       "head",
				"k8s.namespace.name":    "demo",
				"k8s.object.uid":        "uid-head",
				"k8s.object.generation": "3",
				"lifeline.controller":   "head",
			}
			for k, v := range tc.want {
				want[k] = v
			}
			s := only(t, r.rec, "head reconcile")
			if diff := cmp.Diff(want, attributes(s)); diff != "" {
				t.Errorf("%s: -want +got\n%s", tc.reason, diff)
			}
			if failed := s.Status().Description == errTest.Error(); failed != (tc.err != nil) {
				t.Errorf("%s: span status = %v", tc.reason, s.Status())
			}
			if got := s.EndTime().Sub(s.StartTime()); got != time.Second || !s.StartTime().Equal(begin) {
				t.Errorf("%s: start = %v, duration = %v", tc.reason, s.StartTime(), got)
			}
		})
	}
}

func TestConflictIsMarked(t *testing.T) {
	r := newRig(t, answers(apierrors.NewConflict(configMaps, "child", errTest)))
	r.have(t, parent(carrying(given(1))))
	if _, err := r.reconcile(t, creates); !apierrors.IsConflict(err) {
		t.Fatal(err)
	}
	if a := attributes(only(t, r.rec, "create ConfigMap")); a["lifeline.conflict"] != "true" {
		t.Errorf("attributes = %v", a)
	}
	events := only(t, r.rec, "create ConfigMap").Events()
	if len(events) != 1 || events[0].Name != "exception" {
		t.Fatalf("span events = %v", events)
	}
	for _, a := range events[0].Attributes {
		if a.Key == "exception.type" && a.Value.AsString() != "Conflict" {
			t.Errorf("exception.type = %v, want the API's reason", a.Value)
		}
	}
}

func TestPanicGoesOn(t *testing.T) {
	r := newRig(t, interceptor.Funcs{})
	r.have(t, parent(carrying(given(1))))
	func() {
		defer func() {
			if p := recover(); p != "bug" {
				t.Errorf("recovered %v, want the reconciler's panic", p)
			}
		}()
		_, _ = r.reconcile(t, func(context.Context, client.Client) (reconcile.Result, error) { panic("bug") })
	}()
	if s := only(t, r.rec, "head reconcile"); s.Status().Description != "panic in the reconciler of head" {
		t.Errorf("span status = %v", s.Status())
	}
}

func TestConcurrentWrites(t *testing.T) {
	r := newRig(t, interceptor.Funcs{})
	r.have(t, parent(carrying(given(1))))
	const writers = 100
	_, err := r.reconcile(t, func(ctx context.Context, c client.Client) (reconcile.Result, error) {
		var wg sync.WaitGroup
		for i := range writers {
			wg.Go(func() {
				obj := child()
				obj.Name = "child-" + strconv.Itoa(i)
				if err := c.Create(ctx, obj); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		return reconcile.Result{}, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	r.rec.OneTrace(t, "head reconcile")
	if got := len(r.rec.Find("create ConfigMap")); got != writers {
		t.Errorf("got %d spans of writes, want %d", got, writers)
	}
}

func TestWritesAfterTheReturn(t *testing.T) {
	cases := map[string]struct {
		reason string
		do     func(context.Context, client.Client) (reconcile.Result, error)
		below  trace.SpanID // zero for the reconcile's span
	}{
		"of a reconcile with a span": {reason: "a child of the reconcile's span", do: creates},
		"of a reconcile without a span": {
			reason: "a child of the reconcile's parent",
			do:     rests,
			below:  given(1).SpanID(),
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, interceptor.Funcs{})
			r.have(t, parent(carrying(given(1))))
			var later func() error
			_, err := r.reconcile(t, func(ctx context.Context, c client.Client) (reconcile.Result, error) {
				later = func() error {
					obj := child()
					obj.Name = "late"
					return c.Create(ctx, obj)
				}
				return tc.do(ctx, c)
			})
			if err := errors.Join(err, later()); err != nil {
				t.Fatal(err)
			}
			r.rec.OneTrace(t, "create ConfigMap")
			spans := r.rec.Find("create ConfigMap")
			late, want := spans[len(spans)-1], tc.below
			if !want.IsValid() {
				want = only(t, r.rec, "head reconcile").SpanContext().SpanID()
			}
			if late.Parent().SpanID() != want {
				t.Errorf("%s: parent = %s", tc.reason, late.Parent().SpanID())
			}
		})
	}
}

func TestHeldWritesAreBounded(t *testing.T) {
	r := newRig(t, answers(apierrors.NewAlreadyExists(configMaps, "child")))
	r.have(t, parent(carrying(given(1))))
	_, _ = r.reconcile(t, func(ctx context.Context, c client.Client) (reconcile.Result, error) {
		for range operator.MaxHeld + 3 {
			_ = c.Create(ctx, child())
		}
		return reconcile.Result{}, errTest
	})
	if got := len(r.rec.Find("create ConfigMap")); got != operator.MaxHeld {
		t.Errorf("got %d spans of writes, want %d", got, operator.MaxHeld)
	}
	if got := attributes(only(t, r.rec, "head reconcile"))["lifeline.writes.dropped"]; got != "3" {
		t.Errorf("lifeline.writes.dropped = %q, want 3", got)
	}
}

func TestTimesBeforeTheReconcile(t *testing.T) {
	cases := map[string]struct {
		reason string
		parent *policyv1.PodDisruptionBudget
		root   bool
	}{
		"below a context": {reason: "siblings of the reconcile", parent: parent(carrying(given(1)))},
		"a root": {
			reason: "children of the reconcile, because a root has no siblings",
			parent: parent(),
			root:   true,
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, interceptor.Funcs{})
			p := tc.parent
			p.ManagedFields = []metav1.ManagedFieldsEntry{{Time: &metav1.Time{Time: begin.Add(-9 * time.Second)}}}
			r.have(t, p)
			r.clock.SetTime(begin.Add(-4 * time.Second))
			r.kit.Trigger("head", request, p)
			r.clock.SetTime(begin)
			waited := func(reconcile.Request) (queue.Wait, bool) {
				return queue.Wait{Due: begin.Add(-3 * time.Second), Dequeued: begin, Adds: 1}, true
			}
			_, err := r.kit.Reconciler(
				"head",
				parentKind,
				reconcile.Func(func(ctx context.Context, _ reconcile.Request) (reconcile.Result, error) {
					return creates(ctx, r.client)
				}),
				waited,
			).Reconcile(t.Context(), request)
			if err != nil {
				t.Fatal(err)
			}
			r.rec.OneTrace(t, "head reconcile", "create ConfigMap", "queue wait", "watch lag")
			work := only(t, r.rec, "head reconcile")
			above := work.Parent().SpanID()
			if tc.root {
				above = work.SpanContext().SpanID()
			}
			for span, times := range map[string][2]time.Time{
				"queue wait": {begin.Add(-3 * time.Second), begin},
				"watch lag":  {begin.Add(-8 * time.Second), begin.Add(-4 * time.Second)}, // whole seconds
			} {
				s := only(t, r.rec, span)
				if diff := cmp.Diff(times, [2]time.Time{s.StartTime(), s.EndTime()}); diff != "" {
					t.Errorf("%s: %s, -want +got\n%s", tc.reason, span, diff)
				}
				if s.Parent().SpanID() != above {
					t.Errorf("%s: parent of %s = %s, want %s", tc.reason, span, s.Parent().SpanID(), above)
				}
			}
			if got := attributes(only(t, r.rec, "watch lag"))["lifeline.time.source"]; got != "object" {
				t.Errorf("%s: time source = %q", tc.reason, got)
			}
		})
	}
}
