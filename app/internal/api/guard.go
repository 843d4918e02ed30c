// SPDX-License-Identifier: Apache-2.0

package api

import (
	"cmp"
	"net"
	"net/http"
	"runtime/debug"
	"slices"
	"strings"
	"time"
)

// maxURL is how long a request's URL may be, in bytes.
const maxURL = 8 << 10

// guard stands before every handler: it refuses what no handler wants to see,
// counts, and survives a handler's panic.
func (s *Server) guard(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		out := &recorder{ResponseWriter: w}
		defer func() {
			if p := recover(); p != nil {
				s.panicked(out, r, p)
			}
			_, pattern := s.mux.Handler(r)
			s.opts.Metrics.Request(cmp.Or(pattern, "/"), cmp.Or(out.code, http.StatusOK))
			if out.aborted {
				panic(http.ErrAbortHandler)
			}
		}()
		// Also, no deadline of the connection's last answer may stay. What has
		// none is a test's recorder.
		_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(s.patience))
		out.Header().Set("Cache-Control", "no-store")
		out.Header().Set("X-Content-Type-Options", "nosniff")
		if err := refuse(r); err != nil {
			if err.Code == http.StatusMethodNotAllowed {
				out.Header().Set("Allow", http.MethodGet)
			}
			out.Header().Set("Connection", "close") // what of the request was not read stays unread
			writeError(out, err)
			return
		}
		next.ServeHTTP(out, r)
	})
}

// refuse says what is wrong with a request whatever its path is; nil if
// nothing.
func refuse(r *http.Request) *Error {
	switch {
	case len(r.RequestURI) > maxURL:
		return problem(
			http.StatusRequestURITooLong,
			"the URL has %d bytes: no more than %d are accepted",
			len(r.RequestURI),
			maxURL,
		)
	case r.Method != http.MethodGet:
		return problem(http.StatusMethodNotAllowed, "method %.20q: this API only reads, use GET", r.Method)
	case r.ContentLength != 0:
		return problem(http.StatusRequestEntityTooLarge, "the request has a body: send none")
	}
	return nil
}

// panicked answers where a handler could not. An answer that has begun is cut
// off, so that nobody takes it for whole.
func (s *Server) panicked(out *recorder, r *http.Request, p any) {
	if p == http.ErrAbortHandler { //nolint:errorlint // net/http compares it so, too
		out.aborted = true
		return
	}
	s.opts.Metrics.Panicked()
	s.opts.Log.Error(
		"the API met a bug; please report it",
		"path",
		r.URL.Path,
		"panic",
		p,
		"stack",
		string(debug.Stack()),
	)
	if out.aborted = out.code != 0; !out.aborted {
		writeError(out, problem(http.StatusInternalServerError, "the server met a bug; its log has the details"))
	}
}

// recorder notes the status of an answer.
type recorder struct {
	http.ResponseWriter
	// code is 0 until the answer begins.
	code    int
	aborted bool
}

func (w *recorder) WriteHeader(code int) {
	if w.code == 0 {
		w.code = code
	}
	w.ResponseWriter.WriteHeader(code)
}

func (w *recorder) Write(b []byte) (int, error) {
	if w.code == 0 {
		w.code = http.StatusOK
	}
	return w.ResponseWriter.Write(b)
}

// Unwrap serves http.ResponseController.
func (w *recorder) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// GuardHost refuses requests that reach a loopback address under a name that is
// none of hosts, nor localhost, nor an address: a web page may have its own name
// lead there, and read what it is not meant to see (DNS rebinding). Requests to
// other addresses pass.
func GuardHost(next http.Handler, hosts ...string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if onLoopback(r) && !trusted(r.Host, hosts) {
			writeError(w, problem(
				http.StatusForbidden,
				"this address answers to localhost and to addresses, not to the name %.80q: ask http://127.0.0.1 with the same port",
				r.Host,
			))
			return
		}
		next.ServeHTTP(w, r)
	})
}

func onLoopback(r *http.Request) bool {
	local, _ := r.Context().Value(http.LocalAddrContextKey).(*net.TCPAddr)
	return local != nil && local.IP.IsLoopback()
}

func trusted(host string, hosts []string) bool {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	host = strings.TrimSuffix(strings.TrimSuffix(strings.TrimPrefix(host, "["), "]"), ".")
	return net.ParseIP(host) != nil || strings.EqualFold(host, "localhost") ||
		slices.ContainsFunc(hosts, func(h string) bool { return h != "" && strings.EqualFold(h, host) })
}
