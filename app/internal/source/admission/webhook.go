// SPDX-License-Identifier: Apache-2.0

// Package admission answers the API server's calls of a mutating admission webhook:
// it reads reviews, has decided what objects are to carry, and says so as a patch of
// annotations. It admits everything, whatever happens: a fault of its own costs a
// context, and never a write.
package admission

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

	"github.com/kube-lifeline/lifeline/app/internal/admission"
)

const (
	// Path is where reviews are answered.
	Path = "/admission"

	// maxBody is how large a review may be: two objects, of which the API server
	// takes no larger ones than 3 MiB, and what comes with them.
	maxBody = 8 << 20
	// smallBody is how large most are. Larger ones are read and decided by a few
	// turns, for each of which one waits no longer than turnPatience: the API
	// server has only a second for all of it.
	smallBody    = 64 << 10
	turns        = 8
	turnPatience = 200 * time.Millisecond
	// member is the baggage member in which a caller's context reaches admission,
	// whom the API server may not trust.
	member = "lifeline"
)

// Options are those of a Webhook. Decide and Now are required.
type Options struct {
	// Decide says what an object is to carry; it is called by one request at a time.
	Decide func(*admission.Request, time.Time) admission.Answer
	Now    func() time.Time
	// Answered is told of what was decided, before that is sent; nil for nobody.
	// It is called by many requests at a time.
	Answered func(*admission.Request, admission.Answer)
	// Took is told how long a review took, from its header until it was answered;
	// nil for nobody. It is called as Answered is.
	Took func(time.Duration)
	// Failed is told of what went wrong while a review was answered, which was a
	// fault of this program, and where; nil for nobody. It is called as Answered is.
	Failed func(fault any, stack []byte)
}

// Stats counts reviews.
type Stats struct {
	// Reviews were answered; Given of them with a new context, and Refused for a
	// context that its writer may not supply.
	Reviews, Given, Refused uint64
	// Malformed were no reviews, Busy came when there were too many large ones,
	// Failed could not be decided.
	Malformed, Busy, Failed uint64
}

// Webhook is an http.Handler.
type Webhook struct {
	opts  Options
	large chan struct{}

	mu    sync.Mutex
	stats Stats
}

// New returns a Webhook that has answered nothing.
func New(o Options) *Webhook {
	if o.Answered == nil {
		o.Answered = func(*admission.Request, admission.Answer) {}
	}
	if o.Took == nil {
		o.Took = func(time.Duration) {}
	}
	if o.Failed == nil {
		o.Failed = func(any, []byte) {}
	}
	return &Webhook{opts: o, large: make(chan struct{}, turns)}
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
	began := time.Now()
	defer func() {
		if v := recover(); v != nil {
			w.fail(v, debug.Stack())
			refuse(out, &problem{http.StatusInternalServerError, "a fault of this program: its log says more"})
		}
	}()
	if r.URL.Path != Path {
		refuse(out, &problem{http.StatusNotFound, "admission reviews are answered at " + Path})
		return
	}
	call, leave, err := w.read(out, r)
	defer leave()
	if err != nil {
		p := &problem{http.StatusBadRequest, err.Error()}
		_ = errors.As(err, &p)
		w.count(func(s *Stats) {
			if p.code == http.StatusServiceUnavailable {
				s.Busy++
			} else {
				s.Malformed++
			}
		})
		refuse(out, p)
		return
	}
	text, err := call.reply(w.decide(call))
	if err != nil { // texts always can be written
		panic(err)
	}
	out.Header().Set("Content-Type", "application/json")
	_, _ = out.Write(text)
	w.opts.Took(time.Since(began))
}

// refuse answers what is not answered otherwise.
func refuse(out http.ResponseWriter, p *problem) {
	if p.code == http.StatusMethodNotAllowed {
		out.Header().Set("Allow", http.MethodPost)
	}
	out.Header().Set("Connection", "close") // what was not read stays unread
	http.Error(out, p.text, p.code)
}

// decide has one review decided; a panic decides nothing. Whoever is told of it is
// told when the next may be decided.
func (w *Webhook) decide(c *call) admission.Answer {
	answer, fault, stack := w.decided(c)
	switch {
	case fault != nil:
		w.fail(fault, stack)
	case c.request != nil:
		w.opts.Answered(c.request, answer)
	}
	return answer
}

func (w *Webhook) decided(c *call) (answer admission.Answer, fault any, stack []byte) {
	w.mu.Lock()
	defer w.mu.Unlock()
	defer func() {
		if fault = recover(); fault != nil {
			answer, stack = admission.Answer{}, debug.Stack()
		}
	}()
	w.stats.Reviews++
	if c.request == nil {
		return answer, nil, nil
	}
	answer = w.opts.Decide(c.request, w.opts.Now())
	if answer.Context.IsValid() {
		w.stats.Given++
	}
	if answer.Refused.IsValid() {
		w.stats.Refused++
	}
	return answer, nil, nil
}

func (w *Webhook) fail(fault any, stack []byte) {
	w.count(func(s *Stats) { s.Failed++ })
	w.opts.Failed(fault, stack)
}

func (w *Webhook) count(add func(*Stats)) {
	w.mu.Lock()
	defer w.mu.Unlock()
	add(&w.stats)
}

// read reads a call. What it returns is to be called when that is answered.
func (w *Webhook) read(out http.ResponseWriter, r *http.Request) (c *call, leave func(), err error) {
	leave = func() {}
	if r.Method != http.MethodPost {
		return nil, leave, &problem{http.StatusMethodNotAllowed, "admission reviews are sent by POST"}
	}
	if media, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil || media != "application/json" {
		return nil, leave, &problem{http.StatusUnsupportedMediaType, "admission reviews are application/json"}
	}
	if r.ContentLength > maxBody {
		return nil, leave, errTooLarge
	}
	var text bytes.Buffer
	text.Grow(int(min(max(r.ContentLength, 0), smallBody)) + bytes.MinRead)
	body := http.MaxBytesReader(out, r.Body, maxBody)
	_, err = text.ReadFrom(io.LimitReader(body, smallBody+1))
	if err == nil && text.Len() > smallBody {
		if leave, err = w.turn(r.Context()); err != nil {
			return nil, leave, err
		}
		_, err = text.ReadFrom(body)
	}
	var tooLarge *http.MaxBytesError
	switch {
	case errors.As(err, &tooLarge):
		return nil, leave, errTooLarge
	case err != nil:
		return nil, leave, &problem{http.StatusBadRequest, "cannot read the review to its end"}
	}
	if c, err = parse(text.Bytes()); err != nil {
		return nil, leave, err
	}
	if c.request != nil {
		c.request.Baggage, c.request.Trace = contexts(r.Header)
	}
	return c, leave, nil
}

var errTooLarge = &problem{http.StatusRequestEntityTooLarge, "the review is larger than any that the API server sends"}

// turn waits for a large review's turn, which ends by what it returns.
func (w *Webhook) turn(ctx context.Context) (leave func(), err error) {
	ctx, cancel := context.WithTimeout(ctx, turnPatience)
	defer cancel()
	select {
	case w.large <- struct{}{}:
		return func() { <-w.large }, nil
	case <-ctx.Done():
		return func() {}, &problem{http.StatusServiceUnavailable, "too many large reviews are being answered"}
	}
}

// headers reads what a request carries.
var headers = propagation.NewCompositeTextMapPropagator(propagation.TraceContext{}, propagation.Baggage{})

// contexts are those that a call carries, as baggage and as its own.
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
