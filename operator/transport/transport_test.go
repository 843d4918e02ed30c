// SPDX-License-Identifier: Apache-2.0

package transport_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.opentelemetry.io/otel/baggage"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"
	"k8s.io/client-go/rest"

	"github.com/kube-lifeline/lifeline/operator/transport"
)

const (
	own   = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
	same  = "00-0af7651916cd43dd8448eb211c80319c-00f067aa0ba902b7-01"
	other = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
)

// within returns a context like that of a reconcile.
func within(tb testing.TB, traceparent, tracestate, bag string) context.Context {
	tb.Helper()
	ctx := propagation.TraceContext{}.Extract(context.Background(),
		propagation.MapCarrier{"traceparent": traceparent, "tracestate": tracestate})
	b, err := baggage.Parse(bag)
	if err != nil {
		tb.Fatalf("cannot parse baggage %q: %v", bag, err)
	}
	return baggage.ContextWithBaggage(ctx, b)
}

// carried returns the headers of interest for this package.
func carried(header http.Header) http.Header {
	got := http.Header{}
	for _, key := range []string{"Traceparent", "Tracestate", "Baggage"} {
		if values := header.Values(key); len(values) > 0 {
			got[key] = values
		}
	}
	return got
}

func TestRoundTrip(t *testing.T) {
	big := "k=" + strings.Repeat("v", 8192-len("k=")-len(",lifeline=")-len(own))
	many := strings.Repeat("a=b,", 63)
	cases := map[string]struct {
		reason  string
		method  string
		opts    transport.Options
		parent  string
		state   string
		baggage string
		sent    http.Header
		want    http.Header
	}{
		"Post": {
			reason: "a write carries the context in two headers",
			method: http.MethodPost, parent: own,
			want: http.Header{"Traceparent": {own}, "Baggage": {"lifeline=" + own}},
		},
		"Put": {
			method: http.MethodPut,
			parent: own,
			want:   http.Header{"Traceparent": {own}, "Baggage": {"lifeline=" + own}},
		},
		"Patch": {
			method: http.MethodPatch,
			parent: own,
			want:   http.Header{"Traceparent": {own}, "Baggage": {"lifeline=" + own}},
		},
		"Delete": {
			method: http.MethodDelete,
			parent: own,
			want:   http.Header{"Traceparent": {own}, "Baggage": {"lifeline=" + own}},
		},
		"Get": {
			reason: "reads carry nothing by default",
			method: http.MethodGet, parent: own, state: "v=1", baggage: "tenant=a",
			want: http.Header{},
		},
		"GetWithReads": {
			reason: "reads carry the context with Reads",
			method: http.MethodGet, opts: transport.Options{Reads: true}, parent: own,
			want: http.Header{"Traceparent": {own}, "Baggage": {"lifeline=" + own}},
		},
		"NoContext": {
			reason: "without a context nothing is added, not even baggage",
			method: http.MethodPost, baggage: "tenant=a",
			want: http.Header{},
		},
		"Unsampled": {
			reason: "the sampled flag is kept",
			method: http.MethodPost, parent: own[:53] + "00",
			want: http.Header{"Traceparent": {own[:53] + "00"}, "Baggage": {"lifeline=" + own[:53] + "00"}},
		},
		"State": {
			reason: "a request does not carry the object's claim",
			method: http.MethodPost, parent: own, state: "lifeline=s:b7ad6b7169203331,vendor=1",
			want: http.Header{"Traceparent": {own}, "Tracestate": {"vendor=1"}, "Baggage": {"lifeline=" + own}},
		},
		"OnlyAClaim": {
			reason: "a tracestate with only a claim is omitted",
			method: http.MethodPost, parent: own, state: "lifeline=s:b7ad6b7169203331",
			want: http.Header{"Traceparent": {own}, "Baggage": {"lifeline=" + own}},
		},
		"Baggage": {
			reason: "baggage is passed on; the earlier lifeline member is replaced",
			method: http.MethodPost, parent: own, baggage: "tenant=a,lifeline=" + other + ",app=b%20c;p=1",
			want: http.Header{"Traceparent": {own}, "Baggage": {"lifeline=" + own + ",app=b%20c;p=1,tenant=a"}},
		},
		"BaggageTooLong": {
			reason: "a member that does not fit is omitted; others stay",
			method: http.MethodPost, parent: own, baggage: "a=1,b=" + strings.Repeat("x", 8170) + ",c=3",
			want: http.Header{"Traceparent": {own}, "Baggage": {"lifeline=" + own + ",a=1,c=3"}},
		},
		"CallersBaggage": {
			reason: "the caller's baggage is unchanged; our member follows",
			method: http.MethodPost, parent: own, baggage: "tenant=a",
			sent: http.Header{"Baggage": {"mine=1", "too=2"}},
			want: http.Header{"Traceparent": {own}, "Baggage": {"mine=1", "too=2", "lifeline=" + own}},
		},
		"CallersBaggageJustFits": {
			reason: "8192 bytes in total, with commas",
			method: http.MethodPost, parent: own,
			sent: http.Header{"Baggage": {big}},
			want: http.Header{"Traceparent": {own}, "Baggage": {big, "lifeline=" + own}},
		},
		"CallersBaggageTooLong": {
			reason: "with one more byte, our member is omitted",
			method: http.MethodPost, parent: own,
			sent: http.Header{"Baggage": {big + "v"}},
			want: http.Header{"Traceparent": {own}, "Baggage": {big + "v"}},
		},
		"CallersBaggageFull": {
			reason: "a receiver may drop members beyond 64",
			method: http.MethodPost, parent: own,
			sent: http.Header{"Baggage": {many + "a=b"}},
			want: http.Header{"Traceparent": {own}, "Baggage": {many + "a=b"}},
		},
		"CallersTraceparent": {
			reason: "a caller's context of the same trace identifies the write",
			method: http.MethodPost, parent: own, state: "vendor=1",
			sent: http.Header{"Traceparent": {same}},
			want: http.Header{"Traceparent": {same}, "Baggage": {"lifeline=" + same}},
		},
		"CallersOtherTrace": {
			reason: "a context of another trace stays, but our member identifies the write",
			method: http.MethodPost, parent: own, state: "vendor=1",
			sent: http.Header{"Traceparent": {other}, "Tracestate": {"theirs=1"}},
			want: http.Header{"Traceparent": {other}, "Tracestate": {"theirs=1"}, "Baggage": {"lifeline=" + own}},
		},
		"CallersBrokenTraceparent": {
			reason: "an invalid traceparent is replaced",
			method: http.MethodPost, parent: own,
			sent: http.Header{"Traceparent": {"nonsense"}},
			want: http.Header{"Traceparent": {own}, "Baggage": {"lifeline=" + own}},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			var got http.Header
			server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
				got = carried(r.Header)
			}))
			defer server.Close()

			req, err := http.NewRequestWithContext(
				within(t, tc.parent, tc.state, tc.baggage),
				tc.method,
				server.URL,
				http.NoBody,
			)
			if err != nil {
				t.Fatal(err)
			}
			for key, values := range tc.sent {
				req.Header[key] = values
			}
			before := req.Header.Clone()
			response, err := tc.opts.Wrap(server.Client().Transport).RoundTrip(req)
			if err != nil {
				t.Fatal(err)
			}
			response.Body.Close()

			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s: -want +got:\n%s", tc.reason, diff)
			}
			if diff := cmp.Diff(before, req.Header); diff != "" {
				t.Errorf("the request was modified: -before +after:\n%s", diff)
			}
		})
	}
}

func TestManyMembers(t *testing.T) {
	var all []string
	for i := range 64 {
		all = append(all, fmt.Sprintf("k%02d=v", i))
	}
	var got string
	rt := transport.Wrap(roundTripper(func(req *http.Request) (*http.Response, error) {
		got = req.Header.Get("Baggage")
		return nil, http.ErrServerClosed
	}))
	req, _ := http.NewRequestWithContext(
		within(t, own, "", strings.Join(all, ",")),
		http.MethodPost,
		"http://127.0.0.1",
		http.NoBody,
	)
	_, _ = rt.RoundTrip(req)
	want := "lifeline=" + own + "," + strings.Join(all[:63], ",")
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("64 members with ours: -want +got:\n%s", diff)
	}
}

// TestNoHeader sends a request without a header map.
func TestNoHeader(t *testing.T) {
	var got http.Header
	rt := transport.Wrap(roundTripper(func(req *http.Request) (*http.Response, error) {
		got = req.Header
		return nil, http.ErrServerClosed
	}))
	req := (&http.Request{Method: http.MethodPost}).WithContext(within(t, own, "", ""))
	_, _ = rt.RoundTrip(req)
	if diff := cmp.Diff(http.Header{"Traceparent": {own}, "Baggage": {"lifeline=" + own}}, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if req.Header != nil {
		t.Error("the original request was given a header")
	}
}

// TestReadBack reads the headers on the server with OpenTelemetry's propagators.
func TestReadBack(t *testing.T) {
	header := http.Header{}
	rt := transport.Wrap(roundTripper(func(req *http.Request) (*http.Response, error) {
		header = req.Header
		return nil, http.ErrServerClosed
	}))
	req, _ := http.NewRequestWithContext(
		within(t, own, "vendor=1", "tenant=a%20b"),
		http.MethodPut,
		"http://127.0.0.1",
		http.NoBody,
	)
	_, _ = rt.RoundTrip(req)

	ctx := propagation.NewCompositeTextMapPropagator(propagation.TraceContext{}, propagation.Baggage{}).
		Extract(t.Context(), propagation.HeaderCarrier(header))
	want := trace.SpanContextFromContext(req.Context())
	if got := trace.SpanContextFromContext(ctx); !got.Equal(want) {
		t.Errorf("span context: want %v, got %v", want, got)
	}
	if got := baggage.FromContext(ctx).Member("lifeline").Value(); got != own {
		t.Errorf("baggage member lifeline: want %s, got %s", own, got)
	}
	if got := baggage.FromContext(ctx).Member("tenant").Value(); got != "a b" {
		t.Errorf("baggage member tenant: want %q, got %q", "a b", got)
	}
}

// TestRestConfig checks that client-go accepts the wrapper and unwraps it.
func TestRestConfig(t *testing.T) {
	var got http.Header
	server := httptest.NewServer(
		http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { got = carried(r.Header) }),
	)
	defer server.Close()
	cfg := &rest.Config{Host: server.URL}
	cfg.Wrap(transport.Wrap)
	client, err := rest.HTTPClientFor(cfg)
	if err != nil {
		t.Fatal(err)
	}
	defer client.CloseIdleConnections()
	req, _ := http.NewRequestWithContext(within(t, own, "", ""), http.MethodDelete, server.URL, http.NoBody)
	response, err := client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	response.Body.Close()
	if diff := cmp.Diff(http.Header{"Traceparent": {own}, "Baggage": {"lifeline=" + own}}, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestWrapped(t *testing.T) {
	inner := &cancels{}
	unwrap := func(rt http.RoundTripper) http.RoundTripper {
		return rt.(interface{ WrappedRoundTripper() http.RoundTripper }).WrappedRoundTripper()
	}
	rt := transport.Wrap(transport.Wrap(inner))
	if got := unwrap(unwrap(rt)); got != http.RoundTripper(inner) {
		t.Errorf("wrapped: want the inner transport, got %T", got)
	}
	req, _ := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://127.0.0.1", http.NoBody)
	rt.(interface{ CancelRequest(*http.Request) }).CancelRequest(req)
	if inner.canceled != req {
		t.Error("the inner transport received no cancellation")
	}
	if got := unwrap(transport.Wrap(nil)); got != http.DefaultTransport {
		t.Errorf("nil: want http.DefaultTransport, got %T", got)
	}
}

type cancels struct {
	roundTripper
	canceled *http.Request
}

func (c *cancels) CancelRequest(req *http.Request) { c.canceled = req }

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(req *http.Request) (*http.Response, error) { return f(req) }
