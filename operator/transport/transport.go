// SPDX-License-Identifier: Apache-2.0

// Package transport sends a request's trace context to the API server, from the request's
// context.Context.
//
// A write carries traceparent, tracestate and baggage. The API server's own spans and its admission
// webhooks then join the writer's trace. The baggage member lifeline repeats the traceparent. It
// reaches admission even if the API server drops the traceparent. The requests of `lifeline run`
// carry the same headers.
//
// The package makes no spans.
package transport

import (
	"net/http"

	"go.opentelemetry.io/otel/baggage"
	"go.opentelemetry.io/otel/trace"
	utilnet "k8s.io/apimachinery/pkg/util/net"
)

// Options selects the requests that carry a context. The zero value, as in Wrap, means writes only.
type Options struct {
	// Reads includes gets, lists and watches.
	Reads bool
	// Enabled is called for each request that would carry a context; nil means always.
	Enabled func() bool
}

// Wrap returns a RoundTripper that adds headers to each write (POST, PUT, PATCH, DELETE). They
// carry the span context and the baggage of the request's context.Context:
//
//	cfg.Wrap(transport.Wrap)
//
// A request without a valid span context stays unchanged. Headers set by the caller stay, and the
// request itself is never modified. A nil rt means http.DefaultTransport. The result is safe for
// concurrent use if rt is.
func Wrap(rt http.RoundTripper) http.RoundTripper { return Options{}.Wrap(rt) }

// Wrap is like the function Wrap, with these options:
//
//	cfg.Wrap(transport.Options{Reads: true}.Wrap)
func (o Options) Wrap(rt http.RoundTripper) http.RoundTripper {
	if rt == nil {
		rt = http.DefaultTransport
	}
	return &carrying{rt: rt, opts: o}
}

// carrying is a RoundTripper that client-go can unwrap.
type carrying struct {
	rt   http.RoundTripper
	opts Options
}

var _ utilnet.RoundTripperWrapper = (*carrying)(nil)

// RoundTrip sends a copy of the request with its context in the headers.
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

// WrappedRoundTripper returns the inner RoundTripper. client-go uses it to find connections and TLS
// settings.
func (c *carrying) WrappedRoundTripper() http.RoundTripper { return c.rt }

// CancelRequest cancels the request in an inner transport that does not support contexts, like
// client-go's own wrappers.
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
