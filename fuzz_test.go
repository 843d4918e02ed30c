// SPDX-License-Identifier: Apache-2.0

package lifeline

import (
	"context"
	"strings"
	"testing"
	"time"

	"go.opentelemetry.io/otel/baggage"
	"go.opentelemetry.io/otel/trace"
)

// FuzzExtract puts arbitrary text under the keys of every convention. An extracted context must be
// valid and survive a round trip.
func FuzzExtract(f *testing.F) {
	f.Add(goodParent, "lifeline=x", "k=v")
	f.Add(goodTrace+":"+goodSpan+":0:1", "", "")
	f.Add(`{"traceparent":"`+goodParent+`","tracestate":"a=1","baggage":"k=v"}`, "", "")
	f.Add("AABL+S81d7NNpqPOkp0ODkc2AQDwZ6oLqQK3AgE=", "a=1,b=2", "k=v;p")
	f.Fuzz(func(t *testing.T, value, state, members string) {
		for _, c := range Conventions() {
			obj := annotated{c.context: value}
			if c.state != "" {
				obj[c.state] = state
			}
			if c.baggage != "" {
				obj[c.baggage] = members
			}
			sc, by := Find(obj)
			ctx := Context(context.Background(), obj)
			if !sc.IsValid() {
				if by != (Convention{}) || ctx != context.Background() {
					t.Errorf("%s: %q gives an invalid context with content", c, value)
				}
				continue
			}
			if by != c || !sc.IsRemote() || !trace.SpanContextFromContext(ctx).Equal(sc) {
				t.Errorf("%s: %q gives %v by convention %s", c, value, sc, by)
			}
			ClaimOf(sc)
			roundTrip(t, c, sc, baggage.FromContext(ctx))
		}
	})
}

// FuzzRoundTrip writes arbitrary contexts by every convention and reads them back.
func FuzzRoundTrip(f *testing.F) {
	f.Add([]byte("0123456789abcdef"), []byte("01234567"), byte(1), "k", "v", "a=1,b=2")
	f.Add([]byte{15: 1}, []byte{7: 1}, byte(0), "ключ", "значение=<&>", "")
	f.Add([]byte{1}, []byte{1}, byte(3), "k", strings.Repeat("&", 9000), "a=\"\\<&>")
	f.Fuzz(func(t *testing.T, traceID, spanID []byte, flags byte, key, value, state string) {
		cfg := trace.SpanContextConfig{TraceFlags: trace.TraceFlags(flags) & definedFlags, Remote: true}
		copy(cfg.TraceID[:], traceID)
		copy(cfg.SpanID[:], spanID)
		if ts, err := trace.ParseTraceState(state); err == nil {
			cfg.TraceState = ts
		}
		var b baggage.Baggage
		if m, err := baggage.NewMemberRaw(key, value); err == nil {
			if members, err := baggage.New(m); err == nil {
				b = members
			}
		}
		sc := trace.NewSpanContext(cfg)
		if !sc.IsValid() {
			if m := Default.Encode(sc, b); m != nil {
				t.Errorf("Encode of an invalid context = %q", m)
			}
			return
		}
		for _, c := range Conventions() {
			roundTrip(t, c, sc, b)
		}
		child := Derive(sc, Child{Identity: Identity{Kind: key, Name: value}, Generation: int64(flags)})
		if claim, ok := ClaimOf(child); !ok || claim.Parent != sc.SpanID() {
			t.Errorf("claim of the child = %s, holds = %v", claim, ok)
		}
		roundTrip(t, Default, child, b)
	})
}

// roundTrip writes and reads by one convention, and compares the parts that the convention holds.
func roundTrip(t *testing.T, c Convention, sc trace.SpanContext, b baggage.Baggage) {
	t.Helper()
	obj := Annotations{}
	ctx := baggage.ContextWithBaggage(trace.ContextWithSpanContext(context.Background(), sc), b)
	Inject(ctx, &obj, c)
	want := sc
	if c == Jaeger {
		want = want.WithTraceState(trace.TraceState{}).WithTraceFlags(sc.TraceFlags() & trace.FlagsSampled)
	}
	got, gotBaggage := Extract(&obj), baggage.FromContext(Context(context.Background(), &obj))
	if len(want.TraceState().String()) > maxState {
		got, want = got.WithTraceState(trace.TraceState{}), want.WithTraceState(trace.TraceState{})
	}
	if !got.Equal(want) {
		t.Errorf("%s: wrote %q, read %v, want %v", c, obj, got, want)
	}
	place := c.baggage != "" || c.form == jsonMap
	// OpenTelemetry drops members with keys that W3C forbids.
	wantBaggage, err := baggage.Parse(b.String())
	if place && err == nil && !sameMembers(gotBaggage, wantBaggage) {
		t.Errorf("%s: wrote %q, read baggage %q, want %q", c, obj, gotBaggage, wantBaggage)
	}
	if !place && gotBaggage.Len() != 0 {
		t.Errorf("%s cannot hold baggage, but read %q", c, gotBaggage)
	}
	Remove(&obj)
	if len(obj) != 0 {
		t.Errorf("%s: Remove left %q", c, obj)
	}
}

func sameMembers(a, b baggage.Baggage) bool {
	for _, m := range a.Members() {
		if b.Member(m.Key()).String() != m.String() {
			return false
		}
	}
	return a.Len() == b.Len()
}

// FuzzClaim parses arbitrary text as a claim. The parsed fields must survive a round trip, and so
// must an arbitrary claim.
func FuzzClaim(f *testing.F) {
	f.Add(fullText, []byte("0123456789abcdef"), uint64(1), uint64(2), int64(3), int64(1767225600))
	f.Add("s:"+goodSpan+";p:x-y;g:-1;t:9223372036854775807;;", []byte{}, uint64(0), uint64(0), int64(0), int64(-1))
	f.Fuzz(func(t *testing.T, text string, ids []byte, object, digest uint64, generation, seconds int64) {
		sc := good(t, "")
		read := parseClaim(text)
		if again := parseClaim(read.String()); again != read {
			t.Errorf("%q was parsed as %+v, then as %+v", text, read, again)
		}
		claim := Claim{Object: ObjectHash(object), Digest: Digest(digest), Generation: max(generation, 0)}
		copy(claim.Parent[:], ids)
		if len(ids) > len(claim.Parent) && claim.Parent.IsValid() {
			copy(claim.ParentTrace[:], ids[len(claim.Parent):])
		}
		if 0 < seconds && seconds <= maxTime {
			claim.Time = time.Unix(seconds, 0)
		}
		got, ok := ClaimOf(Claimed(sc, claim))
		claim.Span = sc.SpanID()
		if !ok || got != claim {
			t.Errorf("holds = %v\n got %+v\nwant %+v", ok, got, claim)
		}
	})
}
