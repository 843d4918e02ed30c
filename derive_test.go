// SPDX-License-Identifier: Apache-2.0

package lifeline

import (
	"testing"
	"time"

	"go.opentelemetry.io/otel/trace"
)

func TestDerive(t *testing.T) {
	made := time.Unix(1767225600, 0)
	parent := Claimed(good(t, "a=1"), Claim{Time: made})
	child := Child{Identity: Identity{Kind: "Pod", Namespace: "default", Name: "web"}, Digest: 7, Generation: 2}
	got := Derive(parent, child)
	if got.TraceID() != parent.TraceID() || got.SpanID() == parent.SpanID() || !got.IsRemote() {
		t.Errorf("Derive returned %v for parent %v", got, parent)
	}
	if got.TraceFlags() != parent.TraceFlags() || got.TraceState().Get("a") != "1" {
		t.Errorf("flags %s and tracestate %q differ from the parent's", got.TraceFlags(), got.TraceState())
	}
	want := Claim{
		Span:       got.SpanID(),
		Parent:     parent.SpanID(),
		Object:     child.Hash(),
		Digest:     7,
		Generation: 2,
		Time:       made,
	}
	if claim, ok := ClaimOf(got); !ok || claim != want || !claim.Names(child.Identity) {
		t.Errorf("claim holds = %v\n got %+v\nwant %+v", ok, claim, want)
	}
	if again := Derive(parent, child); !again.Equal(got) {
		t.Errorf("a second call returned %v, want %v", again, got)
	}
	// The ID must not change: after an update, an operator would write all children again.
	if got.SpanID().String() != "7236dc150d55aa70" {
		t.Errorf("the span ID is %s", got.SpanID())
	}
	if sc := Derive(trace.SpanContext{}, child); sc.IsValid() || sc.TraceState().Len() != 0 {
		t.Errorf("Derive of an invalid parent returned %v", sc)
	}
}

func TestDeriveDistinct(t *testing.T) {
	type input struct {
		parent trace.SpanContext
		child  Child
	}
	parent := good(t, "")
	base := Child{Identity: Identity{Group: "apps", Kind: "Deployment", Namespace: "default", Name: "web"}, Digest: 1}
	with := func(change func(*input)) input {
		in := input{parent, base}
		change(&in)
		return in
	}
	seen := map[trace.SpanID]string{parent.SpanID(): "its parent"}
	for what, in := range map[string]input{
		"base":         {parent, base},
		"trace":        with(func(in *input) { in.parent = parent.WithTraceID(trace.TraceID{1}) }),
		"parent":       with(func(in *input) { in.parent = parent.WithSpanID(trace.SpanID{1}) }),
		"group":        with(func(in *input) { in.child.Group = "batch" }),
		"kind":         with(func(in *input) { in.child.Kind = "StatefulSet" }),
		"namespace":    with(func(in *input) { in.child.Namespace = "prod" }),
		"name":         with(func(in *input) { in.child.Name = "api" }),
		"UID":          with(func(in *input) { in.child.UID = "1" }),
		"generateName": with(func(in *input) { in.child.Name, in.child.GenerateName = "", "web-" }),
		"digest":       with(func(in *input) { in.child.Digest = 2 }),
		"attempt":      with(func(in *input) { in.child.Attempt = 1 }),
		"attempt 10":   with(func(in *input) { in.child.Attempt = 10 }),
		"former":       with(func(in *input) { in.child.Former = trace.SpanID{1} }),
	} {
		id := Derive(in.parent, in.child).SpanID()
		if other, ok := seen[id]; ok || !id.IsValid() {
			t.Errorf("a different %s gives span ID %s, the same as %q", what, id, other)
		}
		seen[id] = what
	}
	same := map[string]input{
		"flags":      with(func(in *input) { in.parent = parent.WithTraceFlags(0) }),
		"tracestate": with(func(in *input) { in.parent = good(t, "a=1") }),
		"generation": with(func(in *input) { in.child.Generation = 9 }),
	}
	for what, in := range same {
		if got, want := Derive(in.parent, in.child).SpanID(), Derive(parent, base).SpanID(); got != want {
			t.Errorf("a different %s changes the span ID", what)
		}
	}
	if Derive(parent.WithTraceFlags(0), base).IsSampled() {
		t.Error("the child of an unsampled parent is sampled")
	}
}

func TestDeriveTime(t *testing.T) {
	early, late := time.Unix(1000, 0), time.Unix(2000, 0)
	carried := Claimed(good(t, ""), Claim{Time: early})
	reconcile := carried.WithSpanID(trace.SpanID{5})
	root := trace.NewSpanContext(trace.SpanContextConfig{TraceID: trace.TraceID{6}, SpanID: trace.SpanID{6}})
	tests := map[string]struct {
		reason string
		parent trace.SpanContext
		linked trace.SpanContext
		time   time.Time
		above  trace.SpanContext
	}{
		"Parent":    {"a valid claim on the parent", carried, trace.SpanContext{}, early, carried},
		"Inherited": {"a claim inherited by the parent's span", reconcile, trace.SpanContext{}, early, reconcile},
		"None":      {"without a claim there is no time", root, trace.SpanContext{}, time.Time{}, root},
		"Linked":    {"in link mode, the claim of the linked context", root, carried, early, carried},
		"LinkedOwn": {
			"the linked claim has priority over the parent's",
			Claimed(root, Claim{Time: late}),
			carried,
			early,
			carried,
		},
		"LinkedNot": {
			"without a linked claim, the parent's counts",
			Claimed(root, Claim{Time: late}),
			good(t, ""),
			late,
			carried,
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			sc := Derive(tt.parent, Child{Identity: Identity{Kind: "Pod", Name: "web"}, Linked: tt.linked})
			claim, ok := ClaimOf(sc)
			if !ok || !claim.Time.Equal(tt.time) {
				t.Errorf("%s: holds = %v, time = %v, want %v", tt.reason, ok, claim.Time, tt.time)
			}
			wantTrace := trace.TraceID{}
			if tt.linked.IsValid() {
				wantTrace = tt.above.TraceID()
			}
			if claim.Parent != tt.above.SpanID() || claim.ParentTrace != wantTrace ||
				sc.TraceID() != tt.parent.TraceID() {
				t.Errorf("%s: parent = %s-%s in trace %s", tt.reason, claim.ParentTrace, claim.Parent, sc.TraceID())
			}
		})
	}
}
