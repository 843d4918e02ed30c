// SPDX-License-Identifier: Apache-2.0

package jaeger

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"time"

	"github.com/kube-lifeline/lifeline/app/internal/httpserve"
	"github.com/kube-lifeline/lifeline/app/internal/object"
	"github.com/kube-lifeline/lifeline/app/internal/store"
)

// Limits of a request, as those of package api.
const (
	// storeTime bounds the store's time for an answer.
	storeTime = 30 * time.Second
	// patience bounds the time in which a client reads one chunk of an answer, and whole the time for
	// all of it.
	patience = 10 * time.Second
	whole    = 5 * time.Minute
	// retryAfter is the Retry-After of every 503, in seconds.
	retryAfter = "2"
)

// answer writes the JSON of an answer.
type answer func(w io.Writer) error

// value is the answer with the JSON of one value.
func value(v any) (answer, error) {
	return func(w io.Writer) error { return json.NewEncoder(w).Encode(v) }, nil
}

// asked is a request, with what its sender may see.
type asked struct {
	*http.Request
	access store.Access
}

// question answers a request with its parameters.
type question func(r asked, given url.Values) (answer, error)

// errUnread is the error of a client that does not read.
var errUnread = errors.New("the client does not read")

// client writes to the client of a request. Its error wraps errUnread.
type client struct{ to io.Writer }

func (c client) Write(b []byte) (int, error) {
	n, err := c.to.Write(b)
	if err != nil {
		err = fmt.Errorf("%w: %w", errUnread, err)
	}
	return n, err
}

// handler returns a handler that writes the answer, or an error in the given form. An answer that fails
// midway ends the connection, so that no client takes it for complete.
func (s *server) handler(
	fail func(w http.ResponseWriter, code int, message string),
	ask question,
) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		ctx, cancel := context.WithTimeout(r.Context(), storeTime)
		defer cancel()
		write, err := s.ask(w, r.WithContext(ctx), ask)
		if err != nil {
			p := s.explain(r, err)
			w.Header().Set("Content-Type", "application/json")
			if p.code == http.StatusServiceUnavailable {
				w.Header().Set("Retry-After", retryAfter)
			}
			fail(w, p.code, p.message)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		out := bufio.NewWriterSize(
			client{&httpserve.SlowClient{Writer: w, Patience: patience, Until: time.Now().Add(whole)}}, 64<<10,
		)
		err = write(out)
		if err == nil {
			err = out.Flush()
		}
		if err != nil {
			if !errors.Is(err, errUnread) {
				s.Log.Error("the Jaeger API cannot write its answer", "path", r.URL.Path, "error", err)
			}
			panic(http.ErrAbortHandler)
		}
	})
}

// ask checks the request and returns its answer.
func (s *server) ask(
	w http.ResponseWriter, r *http.Request, ask question,
) (answer, error) {
	switch {
	case r.Method != http.MethodGet:
		w.Header().Set("Allow", http.MethodGet)
		w.Header().Set("Connection", "close") // the rest of the request stays unread
		return nil, bad(http.StatusMethodNotAllowed, "method %.20q: this API only reads, use GET", r.Method)
	case r.ContentLength != 0:
		w.Header().Set("Connection", "close")
		return nil, bad(http.StatusRequestEntityTooLarge, "the request has a body: send none")
	}
	given, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil {
		return nil, bad(http.StatusBadRequest, "the parameters cannot be read: %.120s", err.Error())
	}
	access, err := s.Access(r)
	if err != nil {
		return nil, err
	}
	return ask(asked{r, access}, given)
}

// problem is an error with a status.
type problem struct {
	code    int
	message string
}

// Error returns the message.
func (p *problem) Error() string { return p.message }

func bad(code int, format string, args ...any) *problem {
	return &problem{code: code, message: fmt.Sprintf(format, args...)}
}

// statusClientGone is the status in metrics for a client that disconnected; it is never sent.
const statusClientGone = 499

// explain returns status and message of an error. Internal errors go to the log instead.
func (s *server) explain(r *http.Request, err error) *problem {
	var p *problem
	var refused interface {
		error
		Status() int
	}
	switch {
	case errors.As(err, &p):
		return p
	case errors.As(err, &refused):
		return bad(refused.Status(), "%s", object.OneLine(refused.Error(), 1024))
	case r.Context().Err() != nil:
		return bad(statusClientGone, "the client closed the request")
	case errors.Is(err, store.ErrNotFound):
		return bad(http.StatusNotFound, "trace not found")
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, store.ErrTooLong):
		return bad(http.StatusServiceUnavailable,
			"the store did not answer within its time: ask for a shorter time or a lower limit, or try again")
	case errors.Is(err, store.ErrUnavailable), errors.Is(err, store.ErrBusy):
		return bad(http.StatusServiceUnavailable, "%s", object.OneLine(err.Error(), 1024))
	case errors.Is(err, store.ErrClosed):
		return bad(http.StatusServiceUnavailable, "the server is stopping")
	}
	s.Log.Error("the Jaeger API cannot answer", "path", r.URL.Path, "error", err)
	return bad(http.StatusInternalServerError, "the store cannot be read; see the server's log")
}
