// SPDX-License-Identifier: Apache-2.0

package api

import (
	"context"
	"net/http"
	"strings"

	"go.opentelemetry.io/otel/trace"

	"github.com/kube-lifeline/lifeline/app/internal/store"
)

// request is one request: its parameters, and what its sender may see.
type request struct {
	http   *http.Request
	params *params
	access store.Access
	broken *broken
}

// request returns the request of a sender, or the error of its access.
func (s *Server) request(r *http.Request) (*request, error) {
	access, err := s.opts.Access(r)
	if err != nil {
		return nil, err
	}
	asked := s.public(r)
	asked.access = access
	return asked, nil
}

// public returns a request that needs no data, so that anyone may send it.
func (s *Server) public(r *http.Request) *request {
	return &request{http: r, params: newParams(r, s.opts.Clock()), broken: s.broken}
}

func (r *request) ctx() context.Context { return r.http.Context() }

// minPrefix is the smallest number of digits of an ID.
const minPrefix = 8

// traceID returns the ID of the trace in the path, which may be the beginning of an ID.
func (r *request) traceID() (trace.TraceID, error) { return r.traceIDOf(r.http.PathValue("traceID")) }

// traceIDOf returns the ID of the trace with that ID, which may be the beginning of one.
func (r *request) traceIDOf(text string) (trace.TraceID, error) {
	text = strings.ToLower(text)
	const digits = 2 * len(trace.TraceID{})
	bad := problem(
		http.StatusBadRequest,
		"%.80q is no trace ID: it has %d hexadecimal digits, and at least the first %d are needed",
		text,
		digits,
		minPrefix,
	)
	if len(text) < minPrefix || len(text) > digits || strings.Trim(text, "0123456789abcdef") != "" {
		return trace.TraceID{}, bad
	}
	// The zero ID is the only one that is not valid; it is below all others.
	low, _ := trace.TraceIDFromHex(text + strings.Repeat("0", digits-len(text)))
	if len(text) == digits {
		if !low.IsValid() {
			return low, bad
		}
		return low, nil
	}
	high, _ := trace.TraceIDFromHex(text + strings.Repeat("f", digits-len(text)))
	found, err := r.access.Between(r.ctx(), low, high, 2)
	switch {
	case err != nil:
		return low, err
	case len(found) == 0:
		return low, store.ErrNotFound
	case len(found) > 1:
		return low, problem(http.StatusConflict, "more than one trace ID begins with %s: give more digits", text)
	}
	return found[0], nil
}
