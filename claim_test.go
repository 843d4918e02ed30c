// SPDX-License-Identifier: Apache-2.0

package lifeline

import (
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"go.opentelemetry.io/otel/trace"
)

var fullClaim = Claim{
	Span:        trace.SpanID{0, 0xf0, 0x67, 0xaa, 0x0b, 0xa9, 0x02, 0xb7},
	Parent:      trace.SpanID{1},
	ParentTrace: trace.TraceID{2},
	Object:      math.MaxUint64,
	Digest:      3,
	Generation:  math.MaxInt64,
	Time:        time.Unix(maxTime, 0),
	Admitted:    BasisOwner,
	Nonce:       4,
}

const fullText = "s:00f067aa0ba902b7;p:02000000000000000000000000000000-0100000000000000;" +
	"o:ffffffffffffffff;d:0000000000000003;g:9223372036854775807;t:253402300799;a:o0000000000000004"

func TestClaimText(t *testing.T) {
	span := fullClaim.Span
	tests := map[string]struct {
		reason string
		claim  Claim
		text   string
	}{
		"Full": {"the longest claim", fullClaim, fullText},
		"Span": {"only the span is required", Claim{Span: span}, "s:00f067aa0ba902b7"},
		"Parent": {
			"a parent in the same trace",
			Claim{Span: span, Parent: trace.SpanID{1}},
			"s:00f067aa0ba902b7;p:0100000000000000",
		},
		"NoParent": {
			"a trace without a span is not a parent",
			Claim{Span: span, ParentTrace: trace.TraceID{1}},
			"s:00f067aa0ba902b7",
		},
		"Generation": {"generations start at 1", Claim{Span: span, Generation: -1}, "s:00f067aa0ba902b7"},
		"Past": {
			"a time before 1970 is dropped",
			Claim{Span: span, Time: time.Unix(-1, 0)},
			"s:00f067aa0ba902b7",
		},
		"Future": {
			"a time after 9999 is dropped",
			Claim{Span: span, Time: time.Unix(maxTime+1, 0)},
			"s:00f067aa0ba902b7",
		},
		"Admitted": {
			"nonce and basis are one field",
			Claim{Span: span, Admitted: BasisNone},
			"s:00f067aa0ba902b7;a:n0000000000000000",
		},
		"Nonce": {"a nonce without a basis is dropped", Claim{Span: span, Nonce: 5}, "s:00f067aa0ba902b7"},
		"Fraction": {
			"a time is in whole seconds",
			Claim{Span: span, Time: time.Unix(1, 999)},
			"s:00f067aa0ba902b7;t:1",
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			if got := tt.claim.String(); got != tt.text {
				t.Errorf("%s:\n got %s\nwant %s", tt.reason, got, tt.text)
			}
			sc := Claimed(good(t, "a=1"), tt.claim)
			if got, want := sc.TraceState().String(), "lifeline="+tt.text+",a=1"; got != want {
				t.Errorf("%s: tracestate = %q, want %q", tt.reason, got, want)
			}
			if got, ok := ClaimOf(sc); !ok || got.String() != tt.text {
				t.Errorf("%s: read back %s, holds = %v", tt.reason, got, ok)
			}
		})
	}
}

func TestClaimOf(t *testing.T) {
	own, other := "s:"+goodSpan, "s:b7ad6b7169203331"
	tests := map[string]struct {
		reason, member string
		want           Claim
		holds          bool
	}{
		"Full":    {"all fields", fullText, fullClaim, true},
		"Missing": {"no claim at all", "", Claim{}, false},
		"NoSpan":  {"a claim without a span is invalid", "g:3", Claim{Generation: 3}, false},
		"OtherSpan": {
			"another writer replaced the context and left the claim",
			other + ";g:3",
			Claim{Span: trace.SpanID{0xb7, 0xad, 0x6b, 0x71, 0x69, 0x20, 0x33, 0x31}, Generation: 3},
			false,
		},
		"Unknown":    {"unknown fields are ignored", own + ";x:1;y;z:1:2", Claim{Span: fullClaim.Span}, true},
		"Order":      {"fields may have any order", "g:3;" + own, Claim{Span: fullClaim.Span, Generation: 3}, true},
		"Twice":      {"the last counts", other + ";" + own, Claim{Span: fullClaim.Span}, true},
		"TwiceBad":   {"the last counts, even if malformed", own + ";s:x", Claim{}, false},
		"UpperCase":  {"hexadecimal is lower case", own + ";o:FFFFFFFFFFFFFFFF", Claim{Span: fullClaim.Span}, true},
		"ShortHash":  {"a hash has 16 digits", own + ";o:ff;d:0", Claim{Span: fullClaim.Span}, true},
		"LongSpan":   {"a span ID has 16 digits", own + "00", Claim{}, false},
		"Generation": {"a negative generation", own + ";g:-1", Claim{Span: fullClaim.Span}, true},
		"Overflow": {
			"numbers over the limits",
			own + ";g:9223372036854775808;t:9223372036854775807",
			Claim{Span: fullClaim.Span},
			true,
		},
		"Time":        {"a malformed time", own + ";t:now", Claim{Span: fullClaim.Span}, true},
		"TimeTwice":   {"the last counts", own + ";t:1;t:0", Claim{Span: fullClaim.Span}, true},
		"ParentTrace": {"a parent needs its trace", own + ";p:zz-0100000000000000", Claim{Span: fullClaim.Span}, true},
		"ParentSpan": {
			"a parent needs its span",
			own + ";p:02000000000000000000000000000000-0",
			Claim{Span: fullClaim.Span},
			true,
		},
		"ParentsTwice": {
			"the last counts, without the trace of the first",
			own + ";p:02000000000000000000000000000000-0100000000000000;p:0100000000000000",
			Claim{Span: fullClaim.Span, Parent: trace.SpanID{1}},
			true,
		},
		"Basis":      {"an unknown basis", own + ";a:x0000000000000001", Claim{Span: fullClaim.Span}, true},
		"BasisAlone": {"a basis needs its nonce", own + ";a:n", Claim{Span: fullClaim.Span}, true},
		"BasisEmpty": {"an empty value", own + ";a:", Claim{Span: fullClaim.Span}, true},
		"BasisNonce": {"a malformed nonce", own + ";a:nzz00000000000001", Claim{Span: fullClaim.Span}, true},
		"Empty":      {"empty fields", own + ";;;:;", Claim{Span: fullClaim.Span}, true},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			state := ""
			if tt.member != "" {
				state = "lifeline=" + tt.member
			}
			sc := good(t, state)
			got, holds := ClaimOf(sc)
			if got != tt.want || holds != tt.holds {
				t.Errorf("%s:\n got %+v, holds = %v\nwant %+v, holds = %v", tt.reason, got, holds, tt.want, tt.holds)
			}
			if bare := Unclaimed(sc); bare.TraceState().Len() != 0 || bare.SpanID() != sc.SpanID() {
				t.Errorf("%s: Unclaimed returned %v with tracestate %q", tt.reason, bare, bare.TraceState())
			}
		})
	}
	t.Run("Copied", func(t *testing.T) {
		child := Claimed(good(t, ""), fullClaim).WithSpanID(trace.SpanID{9})
		if _, holds := ClaimOf(child); holds {
			t.Error("an inherited claim is valid for the child span")
		}
	})
}

func TestClaimed(t *testing.T) {
	t.Run("Replaces", func(t *testing.T) {
		sc := Claimed(Claimed(good(t, "a=1,b=2"), fullClaim), Claim{Generation: 4})
		if got, want := sc.TraceState().String(), "lifeline=s:"+goodSpan+";g:4,a=1,b=2"; got != want {
			t.Errorf("tracestate = %q, want %q", got, want)
		}
		if got := Unclaimed(sc).TraceState().String(); got != "a=1,b=2" {
			t.Errorf("tracestate after Unclaimed = %q", got)
		}
	})
	t.Run("Full", func(t *testing.T) {
		members := make([]string, 32)
		for i := range members {
			members[i] = fmt.Sprintf("k%d=v", i)
		}
		sc := Claimed(good(t, strings.Join(members, ",")), fullClaim)
		if _, ok := ClaimOf(sc); !ok || sc.TraceState().Len() != 32 {
			t.Errorf("with a full tracestate: claim holds = %v, %d members", ok, sc.TraceState().Len())
		}
	})
	t.Run("Invalid", func(t *testing.T) {
		if sc := Claimed(trace.SpanContext{}, fullClaim); sc.TraceState().Len() != 0 {
			t.Errorf("an invalid context got the claim %q", sc.TraceState())
		}
	})
}

func TestNames(t *testing.T) {
	created := Identity{Group: "apps", Kind: "Deployment", Namespace: "default", Name: "web"}
	generated := Identity{Kind: "Pod", Namespace: "default", GenerateName: "web-"}
	stored, restored, named := created, created, generated
	stored.UID, restored.UID = "0b8c6c4e-1", "0b8c6c4e-2"
	named.Name, named.UID = "web-x7k2p", "0b8c6c4e-3"
	elsewhere, other := created, created
	elsewhere.Namespace, other.Kind = "prod", "StatefulSet"
	tests := map[string]struct {
		reason   string
		for_, of Identity
		want     bool
	}{
		"Name":         {"before creation the claim has the name", created, created, true},
		"NameStored":   {"the name still matches after creation", created, stored, true},
		"UID":          {"later claims have the UID", stored, stored, true},
		"OtherUID":     {"an object recreated with the same name is different", stored, restored, false},
		"UIDUnknown":   {"a claim with a UID does not match an object without one", stored, created, false},
		"GenerateName": {"before creation the claim has the generateName", generated, generated, true},
		"Generated":    {"the generateName still matches after creation", generated, named, true},
		"Namespace":    {"another namespace means another object", created, elsewhere, false},
		"Kind":         {"another kind means another object", created, other, false},
		"Nothing":      {"an empty identity matches no claim", Identity{}, Identity{}, false},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			if got := (Claim{Object: tt.for_.Hash()}).Names(tt.of); got != tt.want {
				t.Errorf("%s: Names = %v", tt.reason, got)
			}
		})
	}
	if (Claim{}).Names(created) {
		t.Error("a claim without an object matches one")
	}
	// These hashes must not change: a component compares them with hashes from older versions.
	if got := created.Hash(); got != 0xa26e33523660bc74 {
		t.Errorf("the hash by name is %#x", uint64(got))
	}
	if got := stored.Hash(); got != 0x68807937863c3a02 {
		t.Errorf("the hash by UID is %#x", uint64(got))
	}
	if got := DigestOf([]byte(`{"spec":{}}`)); got != 0x53aa778a9b137a0c {
		t.Errorf("the digest is %#x", uint64(got))
	}
}
