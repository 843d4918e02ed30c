// SPDX-License-Identifier: Apache-2.0

package api

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/kube-lifeline/lifeline/app/internal/httpserve"
	"github.com/kube-lifeline/lifeline/app/internal/store"
)

// What a request may take.
const (
	// question bounds what the store takes to answer.
	question = 30 * time.Second
	// patience is how long a client may take to read one chunk of an answer,
	// and whole how long to read all of it, unless it is a stream.
	patience = 10 * time.Second
	whole    = 5 * time.Minute
)

// answer makes a handler of a function that returns the body of an answer, to
// be written as JSON; a []byte is JSON already.
func (s *Server) answer(ask func(r *http.Request) (any, error)) http.Handler {
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

func busy(w http.ResponseWriter, what string, most int) {
	w.Header().Set("Retry-After", "2")
	writeError(
		w,
		problem(
			http.StatusServiceUnavailable,
			"%d %s are under way, which is as many as this server takes: try again in a moment",
			most,
			what,
		),
	)
}

// write sends the body. Its error says that there is no JSON of it; a client
// that does not read it is none.
func (s *Server) write(w http.ResponseWriter, body any) error {
	doc, ok := body.([]byte)
	if !ok {
		var err error
		if doc, err = marshal(body); err != nil {
			return err
		}
	}
	w.Header().Set("Content-Type", "application/json")
	out := &httpserve.SlowClient{Writer: w, Patience: s.patience, Until: time.Now().Add(whole)}
	_, _ = out.Write(doc) // whom could we tell?
	return nil
}

// marshal writes JSON as it is for programs, not for web pages.
func marshal(body any) ([]byte, error) {
	var doc bytes.Buffer
	enc := json.NewEncoder(&doc)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(body); err != nil {
		return nil, fmt.Errorf("cannot write %T as JSON: %w", body, err)
	}
	return doc.Bytes(), nil
}

// fail answers with an error. What is not the client's to know goes to the log.
func (s *Server) fail(w http.ResponseWriter, r *http.Request, err error) {
	var said *Error
	switch {
	case errors.As(err, &said):
	case r.Context().Err() != nil:
		said = problem(statusClientGone, "the request was given up")
	case errors.Is(err, store.ErrNotFound):
		said = problem(
			http.StatusNotFound,
			"there is no such trace: it was never seen, was withdrawn, or retention has removed it",
		)
	case errors.Is(err, store.ErrCursor):
		said = problem(http.StatusBadRequest, `parameter "after": it is not the "next" of a page of this list`)
	case errors.Is(err, context.DeadlineExceeded):
		said = problem(
			http.StatusServiceUnavailable,
			"the store did not answer within %s: ask for less, or try again",
			question,
		)
	case errors.Is(err, store.ErrClosed):
		said = problem(http.StatusServiceUnavailable, "the server is stopping")
	default:
		s.opts.Log.Error("the API cannot answer", "path", r.URL.Path, "error", err)
		said = problem(http.StatusInternalServerError, "the store cannot be read; the server's log has the details")
	}
	writeError(w, said)
}

// statusClientGone is the status that logs and metrics know for a client that
// did not wait; nobody gets it.
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
		doc = nil // a code and a string: it cannot
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(e.Code)
	_, _ = w.Write(doc)
}

func nowhere(r *http.Request) (any, error) {
	return nil, problem(
		http.StatusNotFound,
		"there is no %.80q here: try /api/v1/info, /api/v1/traces, /api/v1/writes or /api/v1/watch",
		r.URL.Path,
	)
}
