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

// FuzzExtract puts anything under the keys of every convention: a context that
// is read is valid, and what was read can be written and read again.
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
					t.Errorf("%s of %q gives no context, and yet something", c, value)
				}
				continue
			}
			if by != c || !sc.IsRemote() || !trace.SpanContextFromContext(ctx).Equal(sc) {
				t.Errorf("%s of %q gives %v by %s", c, value, sc, by)
			}
			ClaimOf(sc)
			roundTrip(t, c, sc, baggage.FromContext(ctx))
		}
	})
}

// FuzzRoundTrip writes any context by every convention: the same is read.
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
				t.Errorf("an invalid context is written as %q", m)
			}
			return
		}
		for _, c := range Conventions() {
			roundTrip(t, c, sc, b)
		}
		child := Derive(sc, Child{Identity: Identity{Kind: key, Name: value}, Generation: int64(flags)})
		if claim, ok := ClaimOf(child); !ok || claim.Parent != sc.SpanID() {
			t.Errorf("the claim of a child is %s, holds = %v", claim, ok)
		}
		roundTrip(t, Default, child, b)
	})
}

// roundTrip writes and reads by one convention, as far as it has a place.
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
		t.Errorf("%s writes %q and reads %v, want %v", c, obj, got, want)
	}
	place := c.baggage != "" || c.form == jsonMap
	// Members whose keys W3C does not allow are not written by OpenTelemetry.
	wantBaggage, err := baggage.Parse(b.String())
	if place && err == nil && !sameMembers(gotBaggage, wantBaggage) {
		t.Errorf("%s writes %q and reads baggage %q, want %q", c, obj, gotBaggage, wantBaggage)
	}
	if !place && gotBaggage.Len() != 0 {
		t.Errorf("%s has no place for baggage and reads %q", c, gotBaggage)
	}
	Remove(&obj)
	if len(obj) != 0 {
		t.Errorf("%s leaves %q behind", c, obj)
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

// FuzzClaim reads anything as a claim: what is understood of it is the same
// when written and read again. And any claim can be written and read.
func FuzzClaim(f *testing.F) {
	f.Add(fullText, []byte("0123456789abcdef"), uint64(1), uint64(2), int64(3), int64(1767225600))
	f.Add("s:"+goodSpan+";p:x-y;g:-1;t:9223372036854775807;;", []byte{}, uint64(0), uint64(0), int64(0), int64(-1))
	f.Fuzz(func(t *testing.T, text string, ids []byte, object, digest uint64, generation, seconds int64) {
		sc := good(t, "")
		read := parseClaim(text)
		if again := parseClaim(read.String()); again != read {
			t.Errorf("of %q is left %+v, then %+v", text, read, again)
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
