// SPDX-License-Identifier: Apache-2.0

// Package review serves a mutating admission webhook. It decodes reviews, lets Options.Decide
// choose the object's context, and returns it as a patch of annotations. It admits every write:
// after an error of the webhook the write has no context but still succeeds.
package review

import (
	"bytes"
	"context"
	"errors"
	"io"
	"mime"
	"net/http"
	"runtime/debug"
	"sync"
	"time"

	"go.opentelemetry.io/otel/baggage"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"

	"github.com/kube-lifeline/lifeline/app/internal/webhook"
	"github.com/kube-lifeline/lifeline/app/internal/webhook/decision"
)

const (
	// maxBody limits a review, in bytes. It contains up to two objects, and the API server accepts
	// at most 3 MiB for each.
	maxBody = 8 << 20
	// smallBody is the size of most reviews, in bytes. Larger ones wait up to turnPatience for one
	// of the turns, because the API server's timeout is one second.
	smallBody    = 64 << 10
	turns        = 8
	turnPatience = 200 * time.Millisecond
	// member is the baggage member with the caller's context. It reaches admission even if the API
	// server does not trust the caller's traceparent.
	member = "lifeline"
)

// Options configures a Handler. Decide and Now are required.
type Options struct {
	// Decide returns the context for an object. Calls are serialized.
	Decide func(*decision.Request, time.Time) decision.Answer
	Now    func() time.Time
	// Answered is called with each decision, before the response is sent; may be nil. Calls may be
	// concurrent.
	Answered func(*decision.Request, decision.Answer)
	// Took is called with the time from the header of a review to its response; may be nil. Calls
	// may be concurrent.
	Took func(time.Duration)
	// Failed is called with a panic during a review and its stack; may be nil. Calls may be
	// concurrent.
	Failed func(fault any, stack []byte)
}

// Stats counts reviews.
type Stats struct {
	// Reviews counts responses. Given counts those with a new context, and Refused those with a
	// context that the writer was not allowed to set.
	Reviews, Given, Refused uint64
	// Malformed counts invalid reviews, Busy large reviews that got no turn, Failed panics.
	Malformed, Busy, Failed uint64
}

// Handler is an http.Handler for admission reviews.
type Handler struct {
	opts  Options
	large chan struct{}

	mu    sync.Mutex
	stats Stats
}

// New returns a Handler with zero Stats.
func New(o Options) *Handler {
	if o.Answered == nil {
		o.Answered = func(*decision.Request, decision.Answer) {}
	}
	if o.Took == nil {
		o.Took = func(time.Duration) {}
	}
	if o.Failed == nil {
		o.Failed = func(any, []byte) {}
	}
	return &Handler{opts: o, large: make(chan struct{}, turns)}
}

// Stats returns the counts so far.
func (h *Handler) Stats() Stats {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.stats
}

// problem is the error response to an invalid request.
type problem struct {
	code int
	text string
}

// Error implements error.
func (p *problem) Error() string { return p.text }

// ServeHTTP responds to one review with status 200, and to an invalid request with an error. After
// an error the API server continues without the webhook if its failurePolicy is Ignore.
func (h *Handler) ServeHTTP(out http.ResponseWriter, r *http.Request) {
	began := time.Now()
	defer func() {
		if v := recover(); v != nil {
			h.fail(v, debug.Stack())
			refuse(out, &problem{http.StatusInternalServerError, "the webhook met a bug; its log has the details"})
		}
	}()
	if r.URL.Path != webhook.Path {
		refuse(out, &problem{http.StatusNotFound, "unknown path: send admission reviews to " + webhook.Path})
		return
	}
	call, leave, err := h.read(out, r)
	defer leave()
	if err != nil {
		p := &problem{http.StatusBadRequest, err.Error()}
		_ = errors.As(err, &p)
		h.count(func(s *Stats) {
			if p.code == http.StatusServiceUnavailable {
				s.Busy++
			} else {
				s.Malformed++
			}
		})
		refuse(out, p)
		return
	}
	text, err := call.reply(h.decide(call))
	if err != nil { // strings can always be encoded
		panic(err)
	}
	out.Header().Set("Content-Type", "application/json")
	_, _ = out.Write(text)
	h.opts.Took(time.Since(began))
}

// refuse writes an error response.
func refuse(out http.ResponseWriter, p *problem) {
	if p.code == http.StatusMethodNotAllowed {
		out.Header().Set("Allow", http.MethodPost)
	}
	out.Header().Set("Connection", "close") // the rest of the body stays unread
	http.Error(out, p.text, p.code)
}

// decide returns the decision for one review; after a panic an empty one. Failed and Answered are
// called after the lock is released.
func (h *Handler) decide(c *call) decision.Answer {
	answer, fault, stack := h.decided(c)
	switch {
	case fault != nil:
		h.fail(fault, stack)
	case c.request != nil:
		h.opts.Answered(c.request, answer)
	}
	return answer
}

func (h *Handler) decided(c *call) (answer decision.Answer, fault any, stack []byte) {
	h.mu.Lock()
	defer h.mu.Unlock()
	defer func() {
		if fault = recover(); fault != nil {
			answer, stack = decision.Answer{}, debug.Stack()
		}
	}()
	h.stats.Reviews++
	if c.request == nil {
		return answer, nil, nil
	}
	answer = h.opts.Decide(c.request, h.opts.Now())
	if answer.Context.IsValid() {
		h.stats.Given++
	}
	if answer.Refused.IsValid() {
		h.stats.Refused++
	}
	return answer, nil, nil
}

func (h *Handler) fail(fault any, stack []byte) {
	h.count(func(s *Stats) { s.Failed++ })
	h.opts.Failed(fault, stack)
}

func (h *Handler) count(add func(*Stats)) {
	h.mu.Lock()
	defer h.mu.Unlock()
	add(&h.stats)
}

// read reads and decodes a call. The caller must call leave after the response.
func (h *Handler) read(out http.ResponseWriter, r *http.Request) (c *call, leave func(), err error) {
	leave = func() {}
	if r.Method != http.MethodPost {
		return nil, leave, &problem{http.StatusMethodNotAllowed, "send admission reviews with POST"}
	}
	if media, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil || media != "application/json" {
		return nil, leave, &problem{http.StatusUnsupportedMediaType, "send admission reviews as application/json"}
	}
	if r.ContentLength > maxBody {
		return nil, leave, errTooLarge
	}
	var text bytes.Buffer
	text.Grow(int(min(max(r.ContentLength, 0), smallBody)) + bytes.MinRead)
	body := http.MaxBytesReader(out, r.Body, maxBody)
	_, err = text.ReadFrom(io.LimitReader(body, smallBody+1))
	if err == nil && text.Len() > smallBody {
		if leave, err = h.turn(r.Context()); err != nil {
			return nil, leave, err
		}
		_, err = text.ReadFrom(body)
	}
	var tooLarge *http.MaxBytesError
	switch {
	case errors.As(err, &tooLarge):
		return nil, leave, errTooLarge
	case err != nil:
		return nil, leave, &problem{http.StatusBadRequest, "the review is incomplete or was sent too slowly"}
	}
	if c, err = parse(text.Bytes()); err != nil {
		return nil, leave, err
	}
	if c.request != nil {
		c.request.Baggage, c.request.Trace = contexts(r.Header)
	}
	return c, leave, nil
}

var errTooLarge = &problem{http.StatusRequestEntityTooLarge, "the review is larger than the API server's limits allow"}

// turn waits for the turn of a large review. The caller calls leave to end it.
func (h *Handler) turn(ctx context.Context) (leave func(), err error) {
	ctx, cancel := context.WithTimeout(ctx, turnPatience)
	defer cancel()
	select {
	case h.large <- struct{}{}:
		return func() { <-h.large }, nil
	case <-ctx.Done():
		return func() {}, &problem{http.StatusServiceUnavailable, "too many large reviews are in progress"}
	}
}

// headers extracts traceparent, tracestate and baggage.
var headers = propagation.NewCompositeTextMapPropagator(propagation.TraceContext{}, propagation.Baggage{})

// contexts returns the context in the baggage of a call and its own traceparent's.
func contexts(h http.Header) (carried, own trace.SpanContext) {
	ctx := headers.Extract(background, propagation.HeaderCarrier(h))
	own = trace.SpanContextFromContext(ctx)
	if value := baggage.FromContext(ctx).Member(member).Value(); value != "" {
		carried = trace.SpanContextFromContext(
			propagation.TraceContext{}.Extract(background, propagation.MapCarrier{"traceparent": value}),
		)
	}
	return carried, own
}
