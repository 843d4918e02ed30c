// SPDX-License-Identifier: Apache-2.0

package api

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"mime"
	"net/http"
	"time"

	"github.com/kube-lifeline/lifeline/app/internal/httpserve"
	"github.com/kube-lifeline/lifeline/app/internal/object"
	"github.com/kube-lifeline/lifeline/app/internal/render"
	"github.com/kube-lifeline/lifeline/app/internal/store"
)

// Limits of a request.
const (
	// question bounds the store's time for an answer.
	question = 30 * time.Second
	// patience bounds the time in which a client reads one chunk of an answer. whole bounds the
	// time for all of it, except for a stream.
	patience = 10 * time.Second
	whole    = 5 * time.Minute
	// retryAfter is the Retry-After of every 503 and 429, in seconds.
	retryAfter = "2"
)

// answer returns a handler that writes the function's result as JSON; a []byte is JSON already, and a
// *download is a file.
func (s *Server) answer(ask func(*request) (any, error)) http.Handler {
	return s.respond(func(r *http.Request) (any, error) {
		asked, err := s.request(r)
		if err != nil {
			return nil, err
		}
		return ask(asked)
	})
}

// answerAnyone is answer for what every server has in common.
func (s *Server) answerAnyone(ask func(*request) (any, error)) http.Handler {
	return s.respond(func(r *http.Request) (any, error) { return ask(s.public(r)) })
}

func (s *Server) respond(ask func(*http.Request) (any, error)) http.Handler {
	return s.limited(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		ctx, cancel := context.WithTimeout(r.Context(), question)
		defer cancel()
		got, err := ask(r.WithContext(ctx))
		if err == nil {
			err = s.write(w, got)
		}
		if err != nil {
			s.fail(w, r, err)
		}
	}))
}

// limited rejects requests above the limit of concurrent requests.
func (s *Server) limited(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		select {
		case s.requests <- struct{}{}:
			defer func() { <-s.requests }()
			next.ServeHTTP(w, r)
		default:
			busy(w, "requests", cap(s.requests))
		}
	})
}

// permitted refuses requests of senders without an access. What the access shows does not matter.
func (s *Server) permitted(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if _, err := s.opts.Access(r); err != nil {
			w.Header().Set("Connection", "close") // a body stays unread
			s.fail(w, r, err)
			return
		}
		next.ServeHTTP(w, r)
	})
}

func busy(w http.ResponseWriter, what string, most int) {
	writeError(
		w,
		problem(http.StatusServiceUnavailable, "this server is at its limit of %d %s: try again in a moment",
			most, what),
	)
}

// write writes the body. Its error means that the body has no JSON; a client that does not read is
// no error.
func (s *Server) write(w http.ResponseWriter, body any) error {
	doc, ok := body.([]byte)
	file, _ := body.(*download)
	if file != nil {
		doc, ok = file.body, true
	}
	if !ok {
		var err error
		if doc, err = marshal(body); err != nil {
			return err
		}
	}
	head := w.Header()
	head.Set("Content-Type", "application/json")
	if file != nil {
		head.Set("Content-Type", file.contentType)
		head.Set("Content-Disposition", mime.FormatMediaType("attachment", map[string]string{"filename": file.name}))
	}
	out := &httpserve.SlowClient{Writer: w, Patience: s.patience, Until: time.Now().Add(whole)}
	_, _ = out.Write(doc) // an error has no receiver
	return nil
}

// marshal writes JSON without HTML escapes, and with those of render.EscapeJSON.
func marshal(body any) ([]byte, error) {
	var doc bytes.Buffer
	enc := json.NewEncoder(&doc)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(body); err != nil {
		return nil, fmt.Errorf("cannot write %T as JSON: %w", body, err)
	}
	return render.EscapeJSON(doc.Bytes()), nil
}

// refusal is an error of Options.Access.
type refusal interface {
	error
	Status() int
}

// fail writes an error response. Internal errors go to the log instead.
func (s *Server) fail(w http.ResponseWriter, r *http.Request, err error) {
	var out *Error
	var refused refusal
	switch {
	case errors.As(err, &out):
	case errors.As(err, &refused):
		out = problem(refused.Status(), "%s", object.Bound(refused.Error()))
	case r.Context().Err() != nil:
		out = problem(statusClientGone, "the client closed the request")
	case errors.Is(err, store.ErrNotFound):
		out = problem(
			http.StatusNotFound,
			"there is no such trace: it was never observed, was withdrawn, or was removed by retention",
		)
	case errors.Is(err, store.ErrCursor):
		out = problem(http.StatusBadRequest, `parameter "after": it is not the "next" of a page of this list`)
	case errors.Is(err, context.DeadlineExceeded):
		out = problem(http.StatusGatewayTimeout, "the store did not answer within %s: ask for less, or try again",
			question)
	case errors.Is(err, store.ErrUnavailable):
		out = problem(http.StatusServiceUnavailable, "%s", object.Bound(err.Error()))
	case errors.Is(err, store.ErrClosed):
		out = problem(http.StatusServiceUnavailable, "the server is stopping")
	default:
		s.opts.Log.Error("the API cannot answer", "path", r.URL.Path, "error", err)
		out = problem(http.StatusInternalServerError, "the store cannot be read; see the server's log")
	}
	writeError(w, out)
}

// statusClientGone is the status in logs and metrics for a client that disconnected; it is never
// sent.
const statusClientGone = 499

func problem(code int, format string, args ...any) *Error {
	return &Error{Code: code, Message: fmt.Sprintf(format, args...)}
}

// Reject writes an error response, as the API does.
func Reject(w http.ResponseWriter, code int, message string) { reject(w, code, message) }

func reject(w http.ResponseWriter, code int, message string) {
	writeError(w, &Error{Code: code, Message: message})
}

func writeError(w http.ResponseWriter, e *Error) {
	doc, err := marshal(Problem{Error: *e})
	if err != nil {
		doc = nil // impossible for a code and a string
	}
	w.Header().Set("Content-Type", "application/json")
	if e.Code == http.StatusUnauthorized {
		w.Header().Set("WWW-Authenticate", "Bearer")
	}
	if e.Code == http.StatusServiceUnavailable || e.Code == http.StatusTooManyRequests {
		w.Header().Set("Retry-After", retryAfter)
	}
	w.WriteHeader(e.Code)
	_, _ = w.Write(doc)
}
