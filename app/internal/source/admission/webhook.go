// SPDX-License-Identifier: Apache-2.0

// Package admission answers the API server's calls of a mutating admission webhook:
// it reads reviews, has decided what objects are to carry, and says so as a patch of
// annotations. It admits everything, whatever happens: a fault of its own costs a
// context, and never a write.
package admission

import (
	"errors"
	"io"
	"mime"
	"net/http"
	"sync"
	"time"

	"go.opentelemetry.io/otel/baggage"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"

	"github.com/kube-lifeline/lifeline/app/internal/admission"
)

const (
	// maxBody is how large a review may be: two objects, of which the API server
	// takes no larger ones than 3 MiB, and what comes with them.
	maxBody = 8 << 20
	// member is the baggage member in which a caller's context reaches admission,
	// whom the API server may not trust.
	member = "lifeline"
)

// Options are those of a Webhook. Decide and Now are required.
type Options struct {
	// Decide says what an object is to carry; it is called by one request at a time.
	Decide func(*admission.Request, time.Time) admission.Answer
	Now    func() time.Time
	// Failed is told of what went wrong while a review was answered, which was a
	// fault of this program; nil for nobody.
	Failed func(any)
}

// Stats counts reviews.
type Stats struct {
	// Reviews were answered; Given of them with a new context, and Refused for a
	// context that its writer may not supply.
	Reviews, Given, Refused uint64
	// Malformed were no reviews, Failed could not be decided.
	Malformed, Failed uint64
}

// Webhook is an http.Handler.
type Webhook struct {
	opts Options

	mu    sync.Mutex
	stats Stats
}

// New returns a Webhook that has answered nothing.
func New(o Options) *Webhook {
	if o.Failed == nil {
		o.Failed = func(any) {}
	}
	return &Webhook{opts: o}
}

// Stats returns what was answered so far.
func (w *Webhook) Stats() Stats {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.stats
}

// problem is a request that is no review, and why.
type problem struct {
	code int
	text string
}

// Error implements error.
func (p *problem) Error() string { return p.text }

// ServeHTTP answers one review with 200, and what is none with what is wrong: the
// API server then goes on without, as its configuration says.
func (w *Webhook) ServeHTTP(out http.ResponseWriter, r *http.Request) {
	call, err := read(out, r)
	if err != nil {
		w.count(func(s *Stats) { s.Malformed++ })
		p := &problem{http.StatusBadRequest, err.Error()}
		_ = errors.As(err, &p)
		if p.code == http.StatusMethodNotAllowed {
			out.Header().Set("Allow", http.MethodPost)
		}
		out.Header().Set("Connection", "close") // what was not read stays unread
		http.Error(out, p.text, p.code)
		return
	}
	answer := w.decide(call)
	text, err := call.reply(answer)
	if err != nil { // texts always can be written
		w.opts.Failed(err)
	}
	out.Header().Set("Content-Type", "application/json")
	_, _ = out.Write(text)
}

// decide has one review decided; a panic decides nothing.
func (w *Webhook) decide(c *call) (answer admission.Answer) {
	w.mu.Lock()
	defer w.mu.Unlock()
	defer func() {
		if v := recover(); v != nil {
			w.stats.Failed++
			answer = admission.Answer{}
			w.opts.Failed(v)
		}
	}()
	w.stats.Reviews++
	if c.request == nil {
		return answer
	}
	answer = w.opts.Decide(c.request, w.opts.Now())
	if answer.Context.IsValid() {
		w.stats.Given++
	}
	if answer.Refused.IsValid() {
		w.stats.Refused++
	}
	return answer
}

func (w *Webhook) count(add func(*Stats)) {
	w.mu.Lock()
	defer w.mu.Unlock()
	add(&w.stats)
}

// read reads a call.
func read(out http.ResponseWriter, r *http.Request) (*call, error) {
	if r.Method != http.MethodPost {
		return nil, &problem{http.StatusMethodNotAllowed, "admission reviews are sent by POST"}
	}
	if media, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil || media != "application/json" {
		return nil, &problem{http.StatusUnsupportedMediaType, "admission reviews are application/json"}
	}
	body, err := io.ReadAll(http.MaxBytesReader(out, r.Body, maxBody))
	var tooLarge *http.MaxBytesError
	switch {
	case errors.As(err, &tooLarge):
		return nil, &problem{http.StatusRequestEntityTooLarge, "the review is larger than any that the API server sends"}
	case err != nil:
		return nil, &problem{http.StatusBadRequest, "cannot read the review to its end"}
	}
	c, err := parse(body)
	if err != nil {
		return nil, err
	}
	if c.request != nil {
		c.request.Baggage, c.request.Trace = contexts(r.Header)
	}
	return c, nil
}

// headers reads what a request carries.
var headers = propagation.NewCompositeTextMapPropagator(propagation.TraceContext{}, propagation.Baggage{})

// contexts are those that a call carries, as baggage and as its own.
func contexts(h http.Header) (carried, own trace.SpanContext) {
	ctx := headers.Extract(background, propagation.HeaderCarrier(h))
	own = trace.SpanContextFromContext(ctx)
	if value := baggage.FromContext(ctx).Member(member).Value(); value != "" {
		carried = trace.SpanContextFromContext(propagation.TraceContext{}.Extract(background, propagation.MapCarrier{"traceparent": value}))
	}
	return carried, own
}
