// SPDX-License-Identifier: Apache-2.0

package operator

import (
	"maps"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.opentelemetry.io/otel/baggage"
	"go.opentelemetry.io/otel/trace"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kube-lifeline/lifeline"
)

var (
	serviceKind    = schema.GroupVersionKind{Version: "v1", Kind: "Service"}
	deploymentKind = schema.GroupVersionKind{Group: "apps", Version: "v1", Kind: "Deployment"}
	eventKind      = schema.GroupVersionKind{Version: "v1", Kind: "Event"}
	leaseKind      = schema.GroupVersionKind{Group: "coordination.k8s.io", Version: "v1", Kind: "Lease"}

	self  = lifeline.Identity{Kind: "Service", Namespace: "demo", Name: "web", UID: "uid-web"}
	above = spanOf(1)
)

func spanOf(n byte) trace.SpanContext {
	return trace.NewSpanContext(trace.SpanContextConfig{
		TraceID: trace.TraceID{15: n}, SpanID: trace.SpanID{7: n}, TraceFlags: trace.FlagsSampled, Remote: true,
	})
}

// desired makes a desired state out of a spec.
func desired(spec map[string]any) state { return state{"spec": spec} }

var (
	small = desired(map[string]any{"port": int64(80)})
	full  = desired(map[string]any{"port": int64(80), "clusterIP": "10.0.0.1"})
	other = desired(map[string]any{"port": int64(81)})
)

// ours is a context that was made for self and the desired state.
func ours(n byte, s state) trace.SpanContext {
	return lifeline.Claimed(spanOf(n), lifeline.Claim{Object: self.Hash(), Digest: s.digest(), Generation: 1})
}

// encoded is what an object with this context carries, beside more.
func encoded(sc trace.SpanContext, more ...string) map[string]string {
	m := lifeline.Default.Encode(sc, baggage.Baggage{})
	for i := 0; i < len(more); i += 2 {
		m[more[i]] = more[i+1]
	}
	return m
}

func rules(gvk schema.GroupVersionKind) supply {
	id := self
	id.Group, id.Kind = gvk.Group, gvk.Kind
	return supply{convention: lifeline.Default, gvk: gvk, id: id, offer: func(c lifeline.Child) trace.SpanContext {
		return lifeline.Derive(above, c)
	}}
}

func TestUpdated(t *testing.T) {
	template := func(v int64, more ...any) state {
		spec := map[string]any{"template": map[string]any{"v": v}}
		for i := 0; i < len(more); i += 2 {
			spec[more[i].(string)] = more[i+1]
		}
		return desired(spec)
	}
	deployed := self
	deployed.Group, deployed.Kind = "apps", "Deployment"
	cases := map[string]struct {
		reason       string
		gvk          schema.GroupVersionKind
		before, sent content
		partial      bool
		want         map[string]string // nil with fresh: whatever is new
		fresh        bool
		generation   int64 // that the new context claims
	}{
		"unchanged, dropped": {
			reason: "P3f: a no-op stays a no-op", gvk: serviceKind,
			before: content{annotations: encoded(ours(2, full)), desired: full}, sent: content{desired: full},
			want: encoded(ours(2, full)),
		},
		"unchanged, half dropped": {
			reason: "P3f: two annotations are not atomic", gvk: serviceKind,
			before: content{annotations: encoded(ours(2, full)), desired: full},
			sent:   content{annotations: map[string]string{lifeline.StateKey: encoded(ours(2, full))[lifeline.StateKey]}, desired: full},
			want:   encoded(ours(2, full)),
		},
		"unchanged, older one of ours": {
			reason: "P3f: what was there is put back", gvk: serviceKind,
			before: content{annotations: encoded(ours(2, full)), desired: full},
			sent:   content{annotations: encoded(ours(3, small)), desired: full},
			want:   encoded(ours(2, full)),
		},
		"unchanged, another's": {
			reason: "P3b: the writer's choice", gvk: serviceKind,
			before: content{annotations: encoded(ours(2, full)), desired: full},
			sent:   content{annotations: encoded(spanOf(9)), desired: full},
			want:   encoded(spanOf(9)),
		},
		"another's beside a claim that is left over": {
			reason: "P3f: our claim goes, what else the tracestate says stays", gvk: serviceKind,
			before: content{annotations: encoded(ours(2, full)), desired: full},
			sent: content{annotations: map[string]string{
				lifeline.ContextKey: encoded(spanOf(9))[lifeline.ContextKey],
				lifeline.StateKey:   encoded(ours(2, full))[lifeline.StateKey] + ",vendor=1",
				lifeline.BaggageKey: "team=red",
			}, desired: full},
			want: encoded(spanOf(9), lifeline.StateKey, "vendor=1", lifeline.BaggageKey, "team=red"),
		},
		"changed, another's was there": {
			reason: "P3b: a context that is not ours is never replaced", gvk: serviceKind,
			before: content{annotations: encoded(spanOf(9)), desired: full},
			sent:   content{annotations: encoded(spanOf(9)), desired: other},
			want:   encoded(spanOf(9)),
		},
		"changed, another's was there and is dropped": {
			reason: "P3b: nor lost", gvk: serviceKind,
			before: content{annotations: encoded(spanOf(9)), desired: full}, sent: content{desired: other},
			want: encoded(spanOf(9)),
		},
		"changed": {
			reason: "P1: a new desired state has a context of its own", gvk: serviceKind,
			before: content{annotations: encoded(ours(2, full)), desired: full, generation: 4},
			sent:   content{annotations: encoded(ours(2, full)), desired: other}, fresh: true, generation: 5,
		},
		"changed, an older one of ours": {
			reason: "P3g: an undo is a new change", gvk: serviceKind,
			before: content{annotations: encoded(ours(2, full)), desired: full, generation: 4},
			sent:   content{annotations: encoded(ours(3, other)), desired: other}, fresh: true, generation: 5,
		},
		"changed, the kind has no generation": {
			reason: "P3a: none is claimed", gvk: serviceKind,
			before: content{annotations: encoded(ours(2, full)), desired: full}, sent: content{desired: other}, fresh: true,
		},
		"changed labels": {
			reason: "P3a: the generation will stay, so none is claimed", gvk: serviceKind,
			before: content{annotations: encoded(ours(2, full)), desired: full, generation: 4},
			sent:   content{desired: state{"spec": full["spec"], "metadata": map[string]any{"labels": map[string]any{"a": "b"}}}}, fresh: true,
		},
		"changed, without a context before": {
			reason: "P1: the kit may have come later than the object", gvk: serviceKind,
			before: content{desired: full}, sent: content{desired: other}, fresh: true,
		},
		"changed, a broken context before": {
			reason: "P4: what cannot be read is none", gvk: serviceKind,
			before: content{annotations: map[string]string{lifeline.ContextKey: "broken"}, desired: full}, sent: content{desired: other}, fresh: true,
		},
		"unchanged, a broken context before": {
			reason: "P3f: even that stays a no-op", gvk: serviceKind,
			before: content{annotations: map[string]string{lifeline.ContextKey: "broken"}, desired: full}, sent: content{desired: full},
			want: map[string]string{lifeline.ContextKey: "broken"},
		},
		"a Service without its allocated fields": {
			reason: "P3d: it looks changed every time", gvk: serviceKind,
			before: content{annotations: encoded(ours(2, small)), desired: full}, sent: content{desired: small},
			want: encoded(ours(2, small)),
		},
		"the same without a context": {
			reason: "P3d: nothing that is sent differs", gvk: serviceKind,
			before: content{desired: full}, sent: content{desired: small},
		},
		"applied, within what is there": {
			reason: "P3f: an applier sends what it has an opinion on", gvk: serviceKind, partial: true,
			before: content{annotations: encoded(ours(2, other)), desired: full}, sent: content{desired: small},
			want: encoded(ours(2, other)),
		},
		"applied, changed": {
			reason: "P1", gvk: serviceKind, partial: true,
			before: content{annotations: encoded(ours(2, full)), desired: full}, sent: content{desired: other}, fresh: true,
		},
		"Deployment, template": {
			reason: "P3e", gvk: deploymentKind,
			before: content{desired: template(1), generation: 1}, sent: content{desired: template(2)}, fresh: true, generation: 2,
		},
		"Deployment, minReadySeconds": {
			reason: "P3e", gvk: deploymentKind,
			before: content{desired: template(1)}, sent: content{desired: template(1, "minReadySeconds", int64(3))}, fresh: true,
		},
		"Deployment, replicas": {
			reason: "P3e: the annotation would cost a write to the ReplicaSet", gvk: deploymentKind,
			before: content{desired: template(1, "replicas", int64(1))}, sent: content{desired: template(1, "replicas", int64(2))},
		},
		"Deployment, paused": {
			reason: "P3e", gvk: deploymentKind,
			before: content{desired: template(1, "paused", true)}, sent: content{desired: template(2, "paused", true)},
		},
		"Event": {reason: "P5", gvk: eventKind, before: content{desired: full}, sent: content{desired: other}},
		"Lease": {reason: "P5", gvk: leaseKind, before: content{desired: full}, sent: content{desired: other}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			s := rules(tc.gvk)
			frozen := maps.Clone(tc.sent.annotations)
			v := s.updated(tc.before, tc.sent, tc.partial)
			if v.context.IsValid() != tc.fresh {
				t.Errorf("%s: new context %v, want %v", tc.reason, v.context.IsValid(), tc.fresh)
			}
			if tc.fresh {
				checkClaim(t, tc.reason, s, v, tc.sent.desired, tc.generation)
			} else if diff := cmp.Diff(tc.want, v.carry); diff != "" {
				t.Errorf("%s: -want +got\n%s", tc.reason, diff)
			}
			after := s.with(tc.sent.annotations, v.carry)
			if diff := cmp.Diff(frozen, tc.sent.annotations); diff != "" {
				t.Errorf("%s: the shared annotations were written to\n%s", tc.reason, diff)
			}
			again := s.updated(content{annotations: after, desired: tc.sent.desired, generation: tc.before.generation},
				content{annotations: after, desired: tc.sent.desired}, tc.partial)
			if again.context.IsValid() || !maps.Equal(s.with(after, again.carry), after) {
				t.Errorf("%s: sent again, it changes something", tc.reason)
			}
		})
	}
}

// checkClaim asserts that the new context says what it was made for (P3a).
func checkClaim(t *testing.T, reason string, s supply, v verdict, sent state, generation int64) {
	t.Helper()
	a := lifeline.Annotations(v.carry)
	carried := lifeline.Extract(&a)
	claim, holds := lifeline.ClaimOf(carried)
	want := lifeline.Claim{Span: carried.SpanID(), Parent: above.SpanID(), Object: s.id.Hash(), Digest: sent.digest(), Generation: generation}
	if diff := cmp.Diff(want, claim); diff != "" || !holds {
		t.Errorf("%s: claim holds: %v; -want +got\n%s", reason, holds, diff)
	}
	if !sameSpan(carried, v.context) || carried.TraceID() != above.TraceID() || !carried.IsSampled() {
		t.Errorf("%s: it carries %v", reason, carried)
	}
}

func TestCreated(t *testing.T) {
	headOwn := lifeline.Claimed(spanOf(5), lifeline.Claim{Object: lifeline.Identity{Kind: "Head", Name: "head"}.Hash()})
	cases := map[string]struct {
		reason string
		gvk    schema.GroupVersionKind
		sent   map[string]string
		above  trace.SpanContext
		fresh  bool
		want   map[string]string
	}{
		"plain":             {reason: "P1", gvk: serviceKind, sent: map[string]string{"team": "red"}, fresh: true},
		"without":           {reason: "P1: no map is no obstacle", gvk: serviceKind, fresh: true},
		"another's":         {reason: "P3b", gvk: serviceKind, sent: encoded(spanOf(9)), want: encoded(spanOf(9))},
		"copied, claimed":   {reason: "P3g: it was made for the parent", gvk: serviceKind, sent: encoded(headOwn), above: headOwn, fresh: true},
		"copied, unclaimed": {reason: "P3g: it is the parent's own", gvk: serviceKind, sent: encoded(spanOf(9)), above: spanOf(9), fresh: true},
		"a saved one":       {reason: "P3g: ours at creation is stale", gvk: serviceKind, sent: encoded(ours(2, full)), fresh: true},
		"broken":            {reason: "P4", gvk: serviceKind, sent: map[string]string{lifeline.ContextKey: "broken"}, fresh: true},
		"Event":             {reason: "P5", gvk: eventKind},
		"Lease":             {reason: "P5", gvk: leaseKind},
		"Lease, another's":  {reason: "P3b", gvk: leaseKind, sent: encoded(spanOf(9)), want: encoded(spanOf(9))},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			s := rules(tc.gvk)
			frozen := maps.Clone(tc.sent)
			v := s.created(content{annotations: tc.sent, desired: full}, tc.above)
			if tc.fresh {
				checkClaim(t, tc.reason, s, v, full, 1)
			} else if diff := cmp.Diff(tc.want, v.carry); diff != "" || v.context.IsValid() {
				t.Errorf("%s: -want +got\n%s", tc.reason, diff)
			}
			after := s.with(tc.sent, v.carry)
			if diff := cmp.Diff(frozen, tc.sent); diff != "" {
				t.Errorf("%s: the shared annotations were written to\n%s", tc.reason, diff)
			}
			if after["team"] != tc.sent["team"] {
				t.Errorf("%s: lost an annotation of the writer", tc.reason)
			}
		})
	}
}

func TestRecalled(t *testing.T) {
	last := written{answered: full.digest(), sent: small.digest(), carried: encoded(ours(2, small))}
	cases := map[string]struct {
		reason string
		gvk    schema.GroupVersionKind
		last   written
		sent   content
		fresh  bool
		want   map[string]string
	}{
		"what was answered":        {reason: "P3f: read, not changed, written", gvk: serviceKind, last: last, sent: content{desired: full}, want: last.carried},
		"what was sent":            {reason: "P3d: built anew, as every time", gvk: serviceKind, last: last, sent: content{desired: small}, want: last.carried},
		"an older one of ours":     {reason: "P3f", gvk: serviceKind, last: last, sent: content{annotations: encoded(ours(7, other)), desired: full}, want: last.carried},
		"another's":                {reason: "P3b: the writer's choice", gvk: serviceKind, last: last, sent: content{annotations: encoded(spanOf(9)), desired: full}, want: encoded(spanOf(9))},
		"changed":                  {reason: "P1", gvk: serviceKind, last: last, sent: content{desired: other}, fresh: true},
		"changed, another's there": {reason: "P3b", gvk: serviceKind, last: written{carried: encoded(spanOf(9))}, sent: content{desired: other}, want: encoded(spanOf(9))},
		"changed, nothing there":   {reason: "P1", gvk: serviceKind, last: written{sent: full.digest()}, sent: content{desired: other}, fresh: true},
		"a Deployment":             {reason: "P3e: whether the template changed is not known", gvk: deploymentKind, last: last, sent: content{desired: other}, want: last.carried},
		"an Event":                 {reason: "P5", gvk: eventKind, last: written{}, sent: content{desired: other}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			s := rules(tc.gvk)
			v := s.recalled(tc.last, tc.sent)
			if tc.fresh {
				checkClaim(t, tc.reason, s, v, tc.sent.desired, 0)
			} else if diff := cmp.Diff(tc.want, v.carry); diff != "" || v.context.IsValid() {
				t.Errorf("%s: -want +got\n%s", tc.reason, diff)
			}
		})
	}
}

func TestNothingToOffer(t *testing.T) {
	s := rules(serviceKind)
	s.offer = noOffer
	if v := s.created(content{desired: full}, trace.SpanContext{}); v.carry != nil || v.context.IsValid() {
		t.Errorf("created: carries %v", v.carry)
	}
	before := content{annotations: encoded(ours(2, full)), desired: full}
	if v := s.updated(before, content{desired: other}, false); !maps.Equal(v.carry, before.annotations) {
		t.Errorf("updated: carries %v", v.carry)
	}
}

func TestClaimKeepsTheTimeOfTheChange(t *testing.T) {
	s := rules(serviceKind)
	when := time.Unix(1_700_000_000, 0)
	s.offer = func(c lifeline.Child) trace.SpanContext {
		return lifeline.Derive(lifeline.Claimed(above, lifeline.Claim{Time: when}), c)
	}
	v := s.created(content{desired: full}, trace.SpanContext{})
	if claim, _ := lifeline.ClaimOf(v.context); !claim.Time.Equal(when) {
		t.Errorf("the child's claim is of %v, want the parent's %v", claim.Time, when)
	}
}
