// SPDX-License-Identifier: Apache-2.0

package httpserve

import (
	"cmp"
	"fmt"
	"net/http"
	"runtime/debug"
	"time"
)

// maxURL limits the URL of a request, in bytes.
const maxURL = 8 << 10

// Guard protects handlers that serve people: it rejects oversized URLs, forbids caches, counts
// responses, and recovers panics. Error is required.
type Guard struct {
	// Error writes an error response.
	Error func(w http.ResponseWriter, code int, message string)
	// Patience limits the write of a response from its beginning, unless the handler then sets a deadline
	// itself.
	Patience time.Duration
	// Done is called after each response, with its status; may be nil.
	Done func(r *http.Request, code int)
	// Panicked is called with the panic of a handler and its stack; may be nil.
	Panicked func(r *http.Request, fault any, stack []byte)
}

// Wrap returns the guarded handler.
func (g Guard) Wrap(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		out := &recorder{ResponseWriter: w, patience: g.Patience}
		defer func() {
			if p := recover(); p != nil {
				g.recovered(out, r, p)
			}
			if g.Done != nil {
				g.Done(r, cmp.Or(out.code, http.StatusOK))
			}
			if out.aborted {
				panic(http.ErrAbortHandler)
			}
		}()
		out.Header().Set("Cache-Control", "no-store")
		out.Header().Set("X-Content-Type-Options", "nosniff")
		if n := len(r.RequestURI); n > maxURL {
			out.Header().Set("Connection", "close") // the rest of the request stays unread
			g.Error(out, http.StatusRequestURITooLong,
				fmt.Sprintf("the URL has %d bytes: no more than %d are accepted", n, maxURL))
			return
		}
		next.ServeHTTP(out, r)
		out.begin(http.StatusOK) // net/http answers for a handler that wrote nothing
	})
}

// recovered responds in place of a handler that panicked. A response that has begun is aborted, so
// that no client takes it for complete.
func (g Guard) recovered(out *recorder, r *http.Request, p any) {
	if p == http.ErrAbortHandler { //nolint:errorlint // as net/http compares it
		out.aborted = true
		return
	}
	if g.Panicked != nil {
		g.Panicked(r, p, debug.Stack())
	}
	if out.aborted = out.code != 0; !out.aborted {
		g.Error(out, http.StatusInternalServerError, "the server met a bug; its log has the details")
	}
}

// recorder records the status of a response, and sets its deadline.
type recorder struct {
	http.ResponseWriter
	patience time.Duration
	// code is 0 until the response begins.
	code    int
	aborted bool
}

func (w *recorder) WriteHeader(code int) {
	w.begin(code)
	w.ResponseWriter.WriteHeader(code)
}

func (w *recorder) Write(b []byte) (int, error) {
	w.begin(http.StatusOK)
	return w.ResponseWriter.Write(b)
}

// begin notes the status of a response and sets its deadline, at its first byte. The time of the handler
// before it does not count, and the deadline of the connection's previous response ends. Only a test's
// recorder has no deadlines.
func (w *recorder) begin(code int) {
	if w.code != 0 {
		return
	}
	w.code = code
	_ = http.NewResponseController(w.ResponseWriter).SetWriteDeadline(time.Now().Add(w.patience))
}

// Unwrap serves http.ResponseController.
func (w *recorder) Unwrap() http.ResponseWriter { return w.ResponseWriter }
