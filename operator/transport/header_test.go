// SPDX-License-Identifier: Apache-2.0

package transport

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"testing"

	"go.opentelemetry.io/otel/baggage"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"
)

var spanContext = trace.NewSpanContext(trace.SpanContextConfig{
	TraceID:    trace.TraceID{1, 15: 2},
	SpanID:     trace.SpanID{3, 7: 4},
	TraceFlags: trace.FlagsSampled,
})

// FuzzCarry checks arbitrary headers of the caller and arbitrary baggage. The caller's values must
// stay, the additions must be within the limits, and a reader must find our member.
func FuzzCarry(f *testing.F) {
	long := strings.Repeat("x", 8100)
	f.Add("", "", "", "")
	f.Add("00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01", "v=1", "a=b", "c=d;p=1,e=%20")
	f.Add("00-01000000000000000000000000000002-0300000000000005-00", "", "", "k="+long)
	f.Add("nonsense", "=,", "a="+long, "k="+long)
	f.Add("", "", strings.Repeat("a=b,", 63)+"a=b", "")
	f.Add("", "", ",,;=", "lifeline=1,k=\xff,%=%")
	f.Fuzz(func(t *testing.T, parent, state, sent, bagText string) {
		header := http.Header{}
		for key, value := range map[string]string{"Traceparent": parent, "Tracestate": state, "Baggage": sent} {
			if value != "" {
				header.Set(key, value)
			}
		}
		bag, _ := baggage.Parse(bagText) // the readable part
		carry(header, spanContext, bag)

		lines := header.Values("Baggage")
		if sent != "" {
			if len(lines) == 0 || lines[0] != sent {
				t.Fatalf("the caller's baggage %q became %q", sent, lines)
			}
			lines = lines[1:]
		}
		if len(lines) > 1 {
			t.Fatalf("more than one line added: %q", lines)
		}
		if state != "" && header.Get("Tracestate") != state {
			t.Errorf("the caller's tracestate %q became %q", state, header.Get("Tracestate"))
		}
		all := strings.Join(header.Values("Baggage"), ",")
		if len(lines) == 0 {
			if len(all)+len(",lifeline=")+55 <= maxBaggage && strings.Count(all, ",")+1 < maxMembers {
				t.Errorf("our member is missing from %d bytes", len(all))
			}
			return
		}
		if len(all) > maxBaggage || strings.Count(all, ",")+1 > maxMembers {
			t.Errorf("%d bytes, %d members", len(all), strings.Count(all, ",")+1)
		}
		ctx := propagation.Baggage{}.Extract(context.Background(), propagation.HeaderCarrier(header))
		named := propagation.TraceContext{}.Extract(context.Background(), propagation.MapCarrier{
			"traceparent": baggage.FromContext(ctx).Member(member).Value(),
		})
		if got := trace.SpanContextFromContext(named); got.TraceID() != spanContext.TraceID() {
			t.Errorf("our member has trace %s: %q", got.TraceID(), all)
		}
	})
}

func BenchmarkRoundTrip(b *testing.B) {
	bag, err := baggage.Parse("tenant=a,region=b")
	if err != nil {
		b.Fatal(err)
	}
	none := context.Background()
	bare := trace.ContextWithSpanContext(none, spanContext)
	cases := map[string]struct {
		ctx    context.Context
		method string
	}{
		"Get":         {bare, http.MethodGet},
		"NoContext":   {none, http.MethodPut},
		"Put":         {bare, http.MethodPut},
		"PutWithBags": {baggage.ContextWithBaggage(bare, bag), http.MethodPut},
	}
	names := make([]string, 0, len(cases))
	for name := range cases {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		b.Run(name, func(b *testing.B) {
			rt := Wrap(nothing{})
			req, err := http.NewRequestWithContext(
				cases[name].ctx,
				cases[name].method,
				"http://127.0.0.1/apis",
				http.NoBody,
			)
			if err != nil {
				b.Fatal(err)
			}
			req.Header = http.Header{
				"Accept":       {"application/json"},
				"User-Agent":   {"operator"},
				"Content-Type": {"application/json"},
			}
			b.ReportAllocs()
			for b.Loop() {
				_, _ = rt.RoundTrip(req)
			}
		})
	}
}

type nothing struct{}

func (nothing) RoundTrip(*http.Request) (*http.Response, error) { return nil, http.ErrServerClosed }
