// SPDX-License-Identifier: Apache-2.0

package watch

import (
	"context"
	"errors"
	"net/http"
	"strconv"
	"sync/atomic"
	"time"
)

// maxRetryAfter bounds the accepted Retry-After.
const maxRetryAfter = 30 * time.Second

// errSlow means that a server accepted a request and did not respond in time.
var errSlow = errors.New("the API server does not respond in time")

// answer holds response details that client-go does not return to the stream. client-go itself
// would obey Retry-After ten times, without a bound and without any notice.
type answer struct {
	// retryAfter is the server's Retry-After, bounded; 0 means none.
	retryAfter time.Duration
	// code is the status of the last response, and err the transport error if there was none.
	// client-go returns an empty watch for a connection that breaks repeatedly.
	code int
	err  error
	// patient requests leave Retry-After to client-go unless the server is busy. They wait for a
	// version that the server has not reached yet.
	patient bool
}

type answerKey struct{}

func (a *answer) in(ctx context.Context) context.Context {
	return context.WithValue(ctx, answerKey{}, a)
}

// askedIn returns the answer in ctx, or an unused one.
func askedIn(ctx context.Context) *answer {
	if a, ok := ctx.Value(answerKey{}).(*answer); ok {
		return a
	}
	return new(answer)
}

// counted counts requests and reads the Retry-After of their responses.
type counted struct {
	next     http.RoundTripper
	requests *atomic.Uint64
}

// RoundTrip implements http.RoundTripper.
func (c *counted) RoundTrip(r *http.Request) (*http.Response, error) {
	c.requests.Add(1)
	resp, err := c.next.RoundTrip(r)
	a, ok := r.Context().Value(answerKey{}).(*answer)
	if !ok {
		return resp, err
	}
	a.code, a.err = 0, err
	if err != nil {
		return resp, err
	}
	a.code = resp.StatusCode
	after := resp.Header.Get("Retry-After")
	busy := resp.StatusCode == http.StatusTooManyRequests || resp.StatusCode == http.StatusServiceUnavailable
	if after == "" || a.patient && !busy {
		return resp, nil
	}
	if seconds, err := strconv.ParseUint(after, 10, 32); err == nil {
		a.retryAfter = min(time.Duration(seconds)*time.Second, maxRetryAfter)
	}
	resp.Header.Del("Retry-After")
	return resp, nil
}

// WrappedRoundTripper returns the inner transport, for client-go.
func (c *counted) WrappedRoundTripper() http.RoundTripper { return c.next }
