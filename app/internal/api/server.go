// SPDX-License-Identifier: Apache-2.0

// Package api is the HTTP API of `lifeline serve`: lists of traces, a trace as
// OTLP JSON, and a stream of what happens now. Package client asks it. It reads
// a store and changes nothing; who may reach the listener may read all of it.
//
// All paths are below /api/v1 and take GET only:
//
//	info                     what the server is, and how much it has stored
//	sources                  what its traces are made of
//	traces                   a list of traces, newest first
//	traces/{traceID}         one trace: OTLP JSON, with a member "lifeline"
//	traces/{traceID}/causes  its edges, and those that lead to it
//	writes                   a list of API writes, latest first
//	watch                    server-sent events: open traces, as they change
//
// An answer that is an error has a status that fits and {"error":{"code",
// "message"}} as its body. Parameters that are not known are errors.
package api

import (
	"cmp"
	"errors"
	"log/slog"
	"net/http"
	"sync"
	"time"

	"github.com/kube-lifeline/lifeline/app/internal/httpserve"
	"github.com/kube-lifeline/lifeline/app/internal/store"
)

// Defaults of Options.
const (
	DefaultMaxStreams  = 64
	DefaultMaxRequests = 64
)

// Options says what a Server serves, and how much at once.
type Options struct {
	// Store is what is asked; required.
	Store store.Reader
	// Hub feeds the streams; nil makes one, to which nobody publishes.
	Hub *Hub
	// Cluster is the UID of the cluster that documents name; may be empty.
	Cluster string
	// Info says what /api/v1/info tells beside Stats, which the Server fills
	// in. It is called for each request and must not wait; nil tells nothing.
	Info func() Info
	// Sources says what /api/v1/sources tells. It is called for each request and
	// must not wait; without it there is no such path.
	Sources func() Sources
	// Hosts are names (without port) under which a loopback listener may be
	// asked, beside localhost and addresses. On other listeners any name does.
	Hosts []string
	// MaxStreams and MaxRequests bound the streams, and the other requests, at
	// the same time; 0 for the defaults.
	MaxStreams, MaxRequests int
	// Clock tells the time that "1h" counts back from; nil is time.Now.
	Clock func() time.Time
	// Log is told of failures and panics; nil is silent.
	Log *slog.Logger
	// Runs takes the announcements of commands at /api/v1/runs (POST); nil means that there is no
	// such path.
	Runs http.Handler
	// Metrics counts; nil does not.
	Metrics Metrics
}

// Metrics is what a Server counts. Its methods are called from any goroutine
// and must not wait.
type Metrics interface {
	// Request counts an answer by the path's pattern and the HTTP status.
	// Streams are counted when they end.
	Request(path string, code int)
	// StreamOpened and StreamClosed count streams; cut says that a client did
	// not read.
	StreamOpened()
	StreamClosed(cut bool)
	// Panicked counts a handler that panicked.
	Panicked()
}

// Server answers the API's requests. It is an http.Handler, safe for concurrent
// use; Close ends it.
type Server struct {
	opts    Options
	mux     *http.ServeMux
	handler http.Handler
	// requests and streams have a token for each that is under way.
	requests, streams chan struct{}
	// heartbeat and patience are as the constants of that name; tests change
	// them.
	heartbeat, patience time.Duration

	closing chan struct{}
	close   sync.Once
}

// New returns a Server; an error names the option that is wrong.
func New(o Options) (*Server, error) {
	if o.Store == nil {
		return nil, errors.New("cannot serve an API without a store")
	}
	if o.MaxStreams < 0 || o.MaxRequests < 0 {
		return nil, errors.New("cannot serve an API with a negative number of streams or requests")
	}
	if o.MaxStreams == 0 {
		o.MaxStreams = DefaultMaxStreams
	}
	if o.MaxRequests == 0 {
		o.MaxRequests = DefaultMaxRequests
	}
	if o.Hub == nil {
		o.Hub = &Hub{}
	}
	if o.Clock == nil {
		o.Clock = time.Now
	}
	if o.Info == nil {
		o.Info = func() Info { return Info{} }
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Metrics == nil {
		o.Metrics = uncounted{}
	}
	s := &Server{
		opts: o, mux: http.NewServeMux(),
		requests: make(chan struct{}, o.MaxRequests), streams: make(chan struct{}, o.MaxStreams),
		heartbeat: heartbeat, patience: patience, closing: make(chan struct{}),
	}
	s.mux.Handle("/api/v1/info", s.answer(s.info))
	s.mux.Handle("/api/v1/sources", s.answer(s.sources))
	s.mux.Handle("/api/v1/traces", s.answer(s.list))
	s.mux.Handle("/api/v1/traces/{traceID}", s.answer(s.trace))
	s.mux.Handle("/api/v1/traces/{traceID}/causes", s.answer(s.causes))
	s.mux.Handle("/api/v1/writes", s.answer(s.writes))
	s.mux.HandleFunc("/api/v1/watch", s.watch)
	if o.Runs != nil {
		s.mux.Handle(runsPath, s.limited(o.Runs))
	}
	s.mux.Handle("/", s.answer(nowhere))
	guard := httpserve.Guard{Error: reject, Patience: s.patience, Done: s.done, Panicked: s.panicked}
	s.handler = guard.Wrap(s.readOnly(httpserve.GuardHost(s.mux, reject, o.Hosts...)))
	return s, nil
}

// done counts a response under the pattern of its path.
func (s *Server) done(r *http.Request, code int) {
	_, pattern := s.mux.Handler(r)
	s.opts.Metrics.Request(cmp.Or(pattern, "/"), code)
}

func (s *Server) panicked(r *http.Request, fault any, stack []byte) {
	s.opts.Metrics.Panicked()
	s.opts.Log.Error("the API met a bug; please report it",
		"path", r.URL.Path, "panic", fault, "stack", string(stack))
}

// runsPath takes the announcements of commands. All other paths only read.
const runsPath = "/api/v1/runs"

// readOnly rejects requests with another method than GET, or with a body.
func (s *Server) readOnly(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var err *Error
		switch {
		case r.URL.Path == runsPath && s.opts.Runs != nil:
			next.ServeHTTP(w, r)
			return
		case r.Method != http.MethodGet:
			w.Header().Set("Allow", http.MethodGet)
			err = problem(http.StatusMethodNotAllowed, "method %.20q: this API only reads, use GET", r.Method)
		case r.ContentLength != 0:
			err = problem(http.StatusRequestEntityTooLarge, "the request has a body: send none")
		default:
			next.ServeHTTP(w, r)
			return
		}
		w.Header().Set("Connection", "close") // the rest of the request stays unread
		writeError(w, err)
	})
}

// ServeHTTP answers a request.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) { s.handler.ServeHTTP(w, r) }

// Close ends all streams and refuses new ones; requests under way finish. It
// does not wait, and a second call does nothing.
func (s *Server) Close() error {
	s.close.Do(func() { close(s.closing) })
	return nil
}

// uncounted is Metrics that counts nothing.
type uncounted struct{}

func (uncounted) Request(string, int) {}
func (uncounted) StreamOpened()       {}
func (uncounted) StreamClosed(bool)   {}
func (uncounted) Panicked()           {}
