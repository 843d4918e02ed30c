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

// maxRetryAfter bounds how long a server may send a stream away.
const maxRetryAfter = 30 * time.Second

// errSlow says that a server took a request and did not answer.
var errSlow = errors.New("the API server does not answer in time")

// answer is what a stream learns of the answers to its requests beside what
// client-go tells. client-go itself would wait where it is told to, ten times,
// for as long as the server likes, and nobody would know.
type answer struct {
	// retryAfter is how long the server asked to wait, bounded; 0 if it did
	// not.
	retryAfter time.Duration
	// code is the status of the last answer, and err why there was none:
	// client-go makes an empty watch of a connection that breaks again and
	// again.
	code int
	err  error
	// patient requests leave the waiting to client-go, unless the server is
	// busy: it waits for a version that it has not reached yet.
	patient bool
}

type answerKey struct{}

func (a *answer) in(ctx context.Context) context.Context {
	return context.WithValue(ctx, answerKey{}, a)
}

// askedIn returns the answer of a context, or one that nobody reads.
func askedIn(ctx context.Context) *answer {
	if a, ok := ctx.Value(answerKey{}).(*answer); ok {
		return a
	}
	return new(answer)
}

// counted counts requests and reads their answers' Retry-After.
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

// WrappedRoundTripper lets client-go find the transport below.
func (c *counted) WrappedRoundTripper() http.RoundTripper { return c.next }
