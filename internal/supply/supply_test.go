// SPDX-License-Identifier: Apache-2.0

package supply

import (
	"fmt"
	"maps"
	"reflect"
	"testing"
	"time"

	"go.opentelemetry.io/otel/baggage"
	"go.opentelemetry.io/otel/trace"

	"github.com/kube-lifeline/lifeline"
)

var (
	serviceKind    = lifeline.Identity{Kind: "Service"}
	deploymentKind = lifeline.Identity{Group: "apps", Kind: "Deployment"}
	eventKind      = lifeline.Identity{Kind: "Event"}
	leaseKind      = lifeline.Identity{Group: "coordination.k8s.io", Kind: "Lease"}

	self  = lifeline.Identity{Kind: "Service", Namespace: "demo", Name: "web", UID: "uid-web"}
	above = spanOf(1)
)

func spanOf(n byte) trace.SpanContext {
	return trace.NewSpanContext(trace.SpanContextConfig{
		TraceID: trace.TraceID{15: n}, SpanID: trace.SpanID{7: n}, TraceFlags: trace.FlagsSampled, Remote: true,
	})
}

// desired returns a desired state with a spec.
func desired(spec map[string]any) State { return State{"spec": spec} }

var (
	small = desired(map[string]any{"port": int64(80)})
	full  = desired(map[string]any{"port": int64(80), "clusterIP": "10.0.0.1"})
	other = desired(map[string]any{"port": int64(81)})
)

// ours returns a context that was made for self and the desired state.
func ours(n byte, s State) trace.SpanContext {
	return lifeline.Claimed(spanOf(n), lifeline.Claim{Object: self.Hash(), Digest: s.Digest(), Generation: 1})
}

// encoded returns the annotations of an object with this context, and more.
func encoded(sc trace.SpanContext, more ...string) map[string]string {
	m := lifeline.Default.Encode(sc, baggage.Baggage{})
	for i := 0; i < len(more); i += 2 {
		m[more[i]] = more[i+1]
	}
	return m
}

// diff compares two values; it returns "" if they are equal.
func diff(want, got any) string {
	if reflect.DeepEqual(want, got) {
		return ""
	}
	return fmt.Sprintf("- %v\n+ %v", want, got)
}

func rules(kind lifeline.Identity) Rules {
	id := self
	id.Group, id.Kind = kind.Group, kind.Kind
	return Rules{Convention: lifeline.Default, ID: id, Offer: func(c lifeline.Child) trace.SpanContext {
		return lifeline.Derive(above, c)
	}}
}

func TestUpdated(t *testing.T) {
	template := func(v int64, more ...any) State {
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
		kind         lifeline.Identity
		before, sent Content
		partial      bool
		want         map[string]string // with fresh, nil means any
		fresh        bool
		generation   int64 // in the claim of the new context
	}{
		"unchanged, dropped": {
			reason: "P3f: an update without a change stays one", kind: serviceKind,
			before: Content{Annotations: encoded(ours(2, full)), Desired: full}, sent: Content{Desired: full},
			want: encoded(ours(2, full)),
		},
		"unchanged, half dropped": {
			reason: "P3f: a writer may drop one of the two annotations",
			kind:   serviceKind,
			before: Content{Annotations: encoded(ours(2, full)), Desired: full},
			sent: Content{
				Annotations: map[string]string{lifeline.StateKey: encoded(ours(2, full))[lifeline.StateKey]},
				Desired:     full,
			},
			want: encoded(ours(2, full)),
		},
		"unchanged, older one of ours": {
			reason: "P3f: the previous context is restored", kind: serviceKind,
			before: Content{Annotations: encoded(ours(2, full)), Desired: full},
			sent:   Content{Annotations: encoded(ours(3, small)), Desired: full},
			want:   encoded(ours(2, full)),
		},
		"unchanged, another's": {
			reason: "P3b: the writer's choice", kind: serviceKind,
			before: Content{Annotations: encoded(ours(2, full)), Desired: full},
			sent:   Content{Annotations: encoded(spanOf(9)), Desired: full},
			want:   encoded(spanOf(9)),
		},
		"another's beside a claim that is left over": {
			reason: "P3f: our claim is removed, the rest of the tracestate stays", kind: serviceKind,
			before: Content{Annotations: encoded(ours(2, full)), Desired: full},
			sent: Content{Annotations: map[string]string{
				lifeline.ContextKey: encoded(spanOf(9))[lifeline.ContextKey],
				lifeline.StateKey:   encoded(ours(2, full))[lifeline.StateKey] + ",vendor=1",
				lifeline.BaggageKey: "team=red",
			}, Desired: full},
			want: encoded(spanOf(9), lifeline.StateKey, "vendor=1", lifeline.BaggageKey, "team=red"),
		},
		"changed, another's was there": {
			reason: "P3b: a context of another writer is never replaced", kind: serviceKind,
			before: Content{Annotations: encoded(spanOf(9)), Desired: full},
			sent:   Content{Annotations: encoded(spanOf(9)), Desired: other},
			want:   encoded(spanOf(9)),
		},
		"changed, another's was there and is dropped": {
			reason: "P3b: a context of another writer is never lost", kind: serviceKind,
			before: Content{Annotations: encoded(spanOf(9)), Desired: full}, sent: Content{Desired: other},
			want: encoded(spanOf(9)),
		},
		"changed": {
			reason: "P1: a new desired state has a new context", kind: serviceKind,
			before: Content{Annotations: encoded(ours(2, full)), Desired: full, Generation: 4},
			sent:   Content{Annotations: encoded(ours(2, full)), Desired: other}, fresh: true, generation: 5,
		},
		"changed, an older one of ours": {
			reason: "P3g: an undo is a new change", kind: serviceKind,
			before: Content{Annotations: encoded(ours(2, full)), Desired: full, Generation: 4},
			sent:   Content{Annotations: encoded(ours(3, other)), Desired: other}, fresh: true, generation: 5,
		},
		"changed, the kind has no generation": {
			reason: "P3a: the claim has no generation",
			kind:   serviceKind,
			before: Content{
				Annotations: encoded(ours(2, full)),
				Desired:     full,
			},
			sent:  Content{Desired: other},
			fresh: true,
		},
		"changed labels": {
			reason: "P3a: the generation does not change, so the claim has none",
			kind:   serviceKind,
			before: Content{Annotations: encoded(ours(2, full)), Desired: full, Generation: 4},
			sent: Content{
				Desired: State{"spec": full["spec"], "metadata": map[string]any{"labels": map[string]any{"a": "b"}}},
			},
			fresh: true,
		},
		"changed, without a context before": {
			reason: "P1: the object may be older than the kit's installation", kind: serviceKind,
			before: Content{Desired: full}, sent: Content{Desired: other}, fresh: true,
		},
		"changed, a broken context before": {
			reason: "P4: an unreadable context counts as none",
			kind:   serviceKind,
			before: Content{
				Annotations: map[string]string{lifeline.ContextKey: "broken"},
				Desired:     full,
			},
			sent:  Content{Desired: other},
			fresh: true,
		},
		"unchanged, a broken context before": {
			reason: "P3f: an update without a change stays one",
			kind:   serviceKind,
			before: Content{
				Annotations: map[string]string{lifeline.ContextKey: "broken"},
				Desired:     full,
			},
			sent: Content{Desired: full},
			want: map[string]string{lifeline.ContextKey: "broken"},
		},
		"a Service without its allocated fields": {
			reason: "P3d: the omitted fields always look like a change", kind: serviceKind,
			before: Content{Annotations: encoded(ours(2, small)), Desired: full}, sent: Content{Desired: small},
			want: encoded(ours(2, small)),
		},
		"the same without a context": {
			reason: "P3d: the values in the request are unchanged", kind: serviceKind,
			before: Content{Desired: full}, sent: Content{Desired: small},
		},
		"applied, within what is there": {
			reason: "P3f: an apply contains only the manager's fields", kind: serviceKind, partial: true,
			before: Content{Annotations: encoded(ours(2, other)), Desired: full}, sent: Content{Desired: small},
			want: encoded(ours(2, other)),
		},
		"applied, changed": {
			reason:  "P1",
			kind:    serviceKind,
			partial: true,
			before: Content{
				Annotations: encoded(ours(2, full)),
				Desired:     full,
			},
			sent:  Content{Desired: other},
			fresh: true,
		},
		"Deployment, template": {
			reason: "P3e",
			kind:   deploymentKind,
			before: Content{
				Desired:    template(1),
				Generation: 1,
			},
			sent:       Content{Desired: template(2)},
			fresh:      true,
			generation: 2,
		},
		"Deployment, minReadySeconds": {
			reason: "P3e",
			kind:   deploymentKind,
			before: Content{
				Desired: template(1),
			},
			sent:  Content{Desired: template(1, "minReadySeconds", int64(3))},
			fresh: true,
		},
		"Deployment, replicas": {
			reason: "P3e: the annotation would cause a write of the ReplicaSet",
			kind:   deploymentKind,
			before: Content{
				Desired: template(1, "replicas", int64(1)),
			},
			sent: Content{Desired: template(1, "replicas", int64(2))},
		},
		"Deployment, paused": {
			reason: "P3e", kind: deploymentKind,
			before: Content{Desired: template(1, "paused", true)}, sent: Content{Desired: template(2, "paused", true)},
		},
		"Event": {reason: "P5", kind: eventKind, before: Content{Desired: full}, sent: Content{Desired: other}},
		"Lease": {reason: "P5", kind: leaseKind, before: Content{Desired: full}, sent: Content{Desired: other}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			s := rules(tc.kind)
			frozen := maps.Clone(tc.sent.Annotations)
			v := s.Updated(tc.before, tc.sent, tc.partial)
			if v.Context.IsValid() != tc.fresh {
				t.Errorf("%s: new context = %v, want %v", tc.reason, v.Context.IsValid(), tc.fresh)
			}
			if tc.fresh {
				checkClaim(t, tc.reason, s, v, tc.sent.Desired, tc.generation)
			} else if diff := diff(tc.want, v.Carry); diff != "" {
				t.Errorf("%s: -want +got\n%s", tc.reason, diff)
			}
			after := s.With(tc.sent.Annotations, v.Carry)
			if diff := diff(frozen, tc.sent.Annotations); diff != "" {
				t.Errorf("%s: the shared annotations changed\n%s", tc.reason, diff)
			}
			again := s.Updated(Content{Annotations: after, Desired: tc.sent.Desired, Generation: tc.before.Generation},
				Content{Annotations: after, Desired: tc.sent.Desired}, tc.partial)
			if again.Context.IsValid() || !maps.Equal(s.With(after, again.Carry), after) {
				t.Errorf("%s: a repeated write gets a different verdict", tc.reason)
			}
		})
	}
}

// checkClaim checks the claim of the new context (P3a).
func checkClaim(t *testing.T, reason string, s Rules, v Verdict, sent State, generation int64) {
	t.Helper()
	a := lifeline.Annotations(v.Carry)
	carried := lifeline.Extract(&a)
	claim, holds := lifeline.ClaimOf(carried)
	want := lifeline.Claim{
		Span:       carried.SpanID(),
		Parent:     above.SpanID(),
		Object:     s.ID.Hash(),
		Digest:     sent.Digest(),
		Generation: generation,
	}
	if diff := diff(want, claim); diff != "" || !holds {
		t.Errorf("%s: claim holds = %v; -want +got\n%s", reason, holds, diff)
	}
	if !SameSpan(carried, v.Context) || carried.TraceID() != above.TraceID() || !carried.IsSampled() {
		t.Errorf("%s: the object carries %v", reason, carried)
	}
}

func TestCreated(t *testing.T) {
	headOwn := lifeline.Claimed(spanOf(5), lifeline.Claim{Object: lifeline.Identity{Kind: "Head", Name: "head"}.Hash()})
	cases := map[string]struct {
		reason string
		kind   lifeline.Identity
		sent   map[string]string
		above  trace.SpanContext
		fresh  bool
		want   map[string]string
	}{
		"plain":     {reason: "P1", kind: serviceKind, sent: map[string]string{"team": "red"}, fresh: true},
		"without":   {reason: "P1: annotations may be nil", kind: serviceKind, fresh: true},
		"another's": {reason: "P3b", kind: serviceKind, sent: encoded(spanOf(9)), want: encoded(spanOf(9))},
		"copied, claimed": {
			reason: "P3g: the copied context was made for the parent",
			kind:   serviceKind,
			sent:   encoded(headOwn),
			above:  headOwn,
			fresh:  true,
		},
		"copied, unclaimed": {
			reason: "P3g: the copied context is the parent's own",
			kind:   serviceKind,
			sent:   encoded(spanOf(9)),
			above:  spanOf(9),
			fresh:  true,
		},
		"a saved one": {
			reason: "P3g: our own context at creation is stale",
			kind:   serviceKind,
			sent:   encoded(ours(2, full)),
			fresh:  true,
		},
		"broken": {
			reason: "P4",
			kind:   serviceKind,
			sent:   map[string]string{lifeline.ContextKey: "broken"},
			fresh:  true,
		},
		"Event":            {reason: "P5", kind: eventKind},
		"Lease":            {reason: "P5", kind: leaseKind},
		"Lease, another's": {reason: "P3b", kind: leaseKind, sent: encoded(spanOf(9)), want: encoded(spanOf(9))},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			s := rules(tc.kind)
			frozen := maps.Clone(tc.sent)
			v := s.Created(Content{Annotations: tc.sent, Desired: full}, tc.above)
			if tc.fresh {
				checkClaim(t, tc.reason, s, v, full, 1)
			} else if diff := diff(tc.want, v.Carry); diff != "" || v.Context.IsValid() {
				t.Errorf("%s: -want +got\n%s", tc.reason, diff)
			}
			after := s.With(tc.sent, v.Carry)
			if diff := diff(frozen, tc.sent); diff != "" {
				t.Errorf("%s: the shared annotations changed\n%s", tc.reason, diff)
			}
			if after["team"] != tc.sent["team"] {
				t.Errorf("%s: an annotation of the writer is missing", tc.reason)
			}
		})
	}
}

func TestRecalled(t *testing.T) {
	last := Last{Answered: full.Digest(), Sent: small.Digest(), Carried: encoded(ours(2, small))}
	cases := map[string]struct {
		reason string
		kind   lifeline.Identity
		last   Last
		sent   Content
		fresh  bool
		want   map[string]string
	}{
		"as answered": {
			reason: "P3f: the writer read the object and wrote it back",
			kind:   serviceKind,
			last:   last,
			sent:   Content{Desired: full},
			want:   last.Carried,
		},
		"as sent": {
			reason: "P3d: the writer builds the object again each time",
			kind:   serviceKind,
			last:   last,
			sent:   Content{Desired: small},
			want:   last.Carried,
		},
		"an older one of ours": {
			reason: "P3f",
			kind:   serviceKind,
			last:   last,
			sent:   Content{Annotations: encoded(ours(7, other)), Desired: full},
			want:   last.Carried,
		},
		"another's": {
			reason: "P3b: the writer's choice",
			kind:   serviceKind,
			last:   last,
			sent:   Content{Annotations: encoded(spanOf(9)), Desired: full},
			want:   encoded(spanOf(9)),
		},
		"changed": {
			reason: "P1",
			kind:   serviceKind,
			last:   last,
			sent:   Content{Desired: other},
			fresh:  true,
		},
		"changed, another's there": {
			reason: "P3b",
			kind:   serviceKind,
			last:   Last{Carried: encoded(spanOf(9))},
			sent:   Content{Desired: other},
			want:   encoded(spanOf(9)),
		},
		"changed, no context before": {
			reason: "P1",
			kind:   serviceKind,
			last:   Last{Sent: full.Digest()},
			sent:   Content{Desired: other},
			fresh:  true,
		},
		"a Deployment": {
			reason: "P3e: a change of the template is unknown",
			kind:   deploymentKind,
			last:   last,
			sent:   Content{Desired: other},
			want:   last.Carried,
		},
		"an Event": {reason: "P5", kind: eventKind, last: Last{}, sent: Content{Desired: other}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			s := rules(tc.kind)
			v := s.Recalled(tc.last, tc.sent)
			if tc.fresh {
				checkClaim(t, tc.reason, s, v, tc.sent.Desired, 0)
			} else if diff := diff(tc.want, v.Carry); diff != "" || v.Context.IsValid() {
				t.Errorf("%s: -want +got\n%s", tc.reason, diff)
			}
		})
	}
}

func TestNothingToOffer(t *testing.T) {
	s := rules(serviceKind)
	s.Offer = Nothing
	if v := s.Created(Content{Desired: full}, trace.SpanContext{}); v.Carry != nil || v.Context.IsValid() {
		t.Errorf("Created carries %v", v.Carry)
	}
	before := Content{Annotations: encoded(ours(2, full)), Desired: full}
	if v := s.Updated(before, Content{Desired: other}, false); !maps.Equal(v.Carry, before.Annotations) {
		t.Errorf("Updated carries %v", v.Carry)
	}
}

func TestClaimKeepsTheTimeOfTheChange(t *testing.T) {
	s := rules(serviceKind)
	when := time.Unix(1_700_000_000, 0)
	s.Offer = func(c lifeline.Child) trace.SpanContext {
		return lifeline.Derive(lifeline.Claimed(above, lifeline.Claim{Time: when}), c)
	}
	v := s.Created(Content{Desired: full}, trace.SpanContext{})
	if claim, _ := lifeline.ClaimOf(v.Context); !claim.Time.Equal(when) {
		t.Errorf("the child's claim has time %v, want the parent's %v", claim.Time, when)
	}
}
