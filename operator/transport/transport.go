// SPDX-License-Identifier: Apache-2.0

// Package transport sends the trace context of a request's context.Context
// along with the request to the API server.
//
// A write carries traceparent, tracestate and baggage, so that the API server's
// own spans and its admission webhooks join the writer's trace. The baggage
// member lifeline repeats the traceparent: it reaches admission even where the
// API server trusts nobody and drops traceparent. The requests of `lifeline
// run` carry the same.
//
// Making spans, and putting them into the context.Context, is left to others.
package transport

import (
	"net/http"

	"go.opentelemetry.io/otel/baggage"
	"go.opentelemetry.io/otel/trace"
	utilnet "k8s.io/apimachinery/pkg/util/net"
)

// Options says which requests carry a context. The zero value is what Wrap
// uses: writes only.
type Options struct {
	// Reads makes gets, lists and watches carry a context as well.
	Reads bool
	// Enabled is asked for each request that would carry a context; nil means
	// always.
	Enabled func() bool
}

// Wrap makes each write (POST, PUT, PATCH, DELETE) that passes through rt carry
// the span context and the baggage of its context.Context:
//
//	cfg.Wrap(transport.Wrap)
//
// Without a valid span context a request passes as it is. Headers that the
// caller has set stay; the request itself is never modified. A nil rt is
// http.DefaultTransport. The result may be used from several goroutines, as far
// as rt may.
func Wrap(rt http.RoundTripper) http.RoundTripper { return Options{}.Wrap(rt) }

// Wrap is the function Wrap with these options:
//
//	cfg.Wrap(transport.Options{Reads: true}.Wrap)
func (o Options) Wrap(rt http.RoundTripper) http.RoundTripper {
	if rt == nil {
		rt = http.DefaultTransport
	}
	return &carrying{rt: rt, opts: o}
}

// carrying is a RoundTripper of the kind that client-go knows how to look
// through.
type carrying struct {
	rt   http.RoundTripper
	opts Options
}

var _ utilnet.RoundTripperWrapper = (*carrying)(nil)

// RoundTrip sends a copy of the request that carries its context.
func (c *carrying) RoundTrip(req *http.Request) (*http.Response, error) {
	if !c.opts.Reads && !writes(req.Method) {
		return c.rt.RoundTrip(req)
	}
	ctx := req.Context()
	sc := trace.SpanContextFromContext(ctx)
	if !sc.IsValid() || c.opts.Enabled != nil && !c.opts.Enabled() {
		return c.rt.RoundTrip(req)
	}
	out := req.WithContext(ctx) // a shallow copy
	out.Header = req.Header.Clone()
	if out.Header == nil {
		out.Header = http.Header{}
	}
	carry(out.Header, sc, baggage.FromContext(ctx))
	return c.rt.RoundTrip(out)
}

// WrappedRoundTripper returns what was wrapped: client-go finds connections and
// TLS settings through it.
func (c *carrying) WrappedRoundTripper() http.RoundTripper { return c.rt }

// CancelRequest is passed on, as client-go's own wrappers do, for transports
// that do not listen to a request's context.
func (c *carrying) CancelRequest(req *http.Request) {
	for rt := c.rt; rt != nil; {
		if canceler, ok := rt.(interface{ CancelRequest(*http.Request) }); ok {
			canceler.CancelRequest(req)
			return
		}
		wrapper, ok := rt.(utilnet.RoundTripperWrapper)
		if !ok {
			return
		}
		rt = wrapper.WrappedRoundTripper()
	}
}

func writes(method string) bool {
	switch method {
	case http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete:
		return true
	}
	return false
}
