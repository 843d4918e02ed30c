// SPDX-License-Identifier: Apache-2.0

// Package api is the HTTP API of `lifeline serve`: lists of traces, a trace as OTLP JSON, and a
// stream of present changes. Package client is its client. It changes nothing. A sender sees what
// Options.Access permits: each handler gets that access, and no trace besides.
//
// All paths are below /api/v1. They take GET, except for runs, which takes announcements of commands
// by POST. routes has those that answer with one document; openapi.json describes them; watch is a
// stream of events: open traces, as they change.
//
// Options.Others serves further paths.
//
// An error has a matching HTTP status and the body {"error":{"code","message"}}. Unknown parameters
// are errors. An error in a question has its position and a hint, too.
package api

import (
	"cmp"
	"errors"
	"log/slog"
	"net/http"
	"sync"
	"time"

	"github.com/kube-lifeline/lifeline/app/internal/httpserve"
	"github.com/kube-lifeline/lifeline/app/internal/shift"
	"github.com/kube-lifeline/lifeline/app/internal/store"
)

// Defaults of Options.
const (
	DefaultMaxStreams  = 64
	DefaultMaxRequests = 64
)

// Options configure a Server and its limits.
type Options struct {
	// Access returns what the sender of a request may see; required. A handler has no other way to the
	// traces. It may block, within a time of its own. An error with a method Status() int is answered with
	// that status and its text.
	Access func(*http.Request) (store.Access, error)
	// Hub feeds the streams; nil means a new one without a publisher.
	Hub *Hub
	// Cluster is the UID of the cluster, for documents; may be empty.
	Cluster string
	// Info returns the content of /api/v1/info except for Stats. It is called for each request and
	// must not block; nil means an empty Info.
	Info func() Info
	// Sources returns the content of /api/v1/sources. It is called for each request and must not
	// block; nil removes the path.
	Sources func() Sources
	// Report returns the last report about everything, for callers who may see everything; nil, or a nil report,
	// means that each answer is computed.
	Report func() *shift.Report
	// Problems has the present problems; nil means a new one without a publisher.
	Problems *ProblemHub
	// Hosts are the accepted host names (without port) of a loopback listener, beside localhost and
	// addresses. Other listeners accept any name.
	Hosts []string
	// MaxStreams and MaxRequests bound the concurrent streams and other requests; 0 means the
	// defaults.
	MaxStreams, MaxRequests int
	// Clock returns the time from which "1h" counts back; nil means time.Now.
	Clock func() time.Time
	// Log receives failures and panics; nil means no log.
	Log *slog.Logger
	// Runs receives the announcements of commands at /api/v1/runs (POST), of senders with an Access; nil removes the
	// path.
	Runs http.Handler
	// Others are handlers of other APIs, by the pattern of their path. They check the method and write
	// their errors themselves.
	Others map[string]http.Handler
	// Metrics counts responses and streams; nil means no metrics.
	Metrics Metrics
}

// Metrics are the counters of a Server. Its methods must be safe for concurrent use and must not
// block.
type Metrics interface {
	// Request counts an answer by the path's pattern and the HTTP status.
	// Streams are counted when they end.
	Request(path string, code int)
	// StreamOpened and StreamClosed count streams. cut marks a client that did not read.
	StreamOpened()
	StreamClosed(cut bool)
	// Panicked counts a handler that panicked.
	Panicked()
}

// Server is the http.Handler of the API. It is safe for concurrent use. Close ends it.
type Server struct {
	opts    Options
	mux     *http.ServeMux
	handler http.Handler
	handlers
	// requests and streams have a token for each running one.
	requests, streams chan struct{}
	// heartbeat and patience are the constants of that name, pace is problemPace, and renewal is problemRenewal; tests
	// change them.
	heartbeat, patience, pace, renewal time.Duration

	closing chan struct{}
	close   sync.Once
}

// New returns a Server, or an error that names the wrong option.
func New(o Options) (*Server, error) {
	if o.Access == nil {
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
	if o.Problems == nil {
		o.Problems = &ProblemHub{}
	}
	if o.Report == nil {
		o.Report = func() *shift.Report { return nil }
	}
	s := &Server{
		opts: o, mux: http.NewServeMux(),
		handlers: handlers{
			about: about{o.Info, o.Sources}, traces: newTraces(o.Cluster, o.Clock),
			broken:  &broken{from: o.Problems, cluster: o.Cluster},
			learned: &learned{report: o.Report, limit: store.NewLimiter()},
		},
		requests: make(chan struct{}, o.MaxRequests), streams: make(chan struct{}, o.MaxStreams),
		heartbeat: heartbeat, patience: patience, pace: problemPace, renewal: problemRenewal,
		closing: make(chan struct{}),
	}
	s.handle()
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
		case r.URL.Path == runsPath && s.opts.Runs != nil, s.other(r):
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

// other reports whether one of Options.Others serves a request.
func (s *Server) other(r *http.Request) bool {
	_, pattern := s.mux.Handler(r)
	return s.opts.Others[pattern] != nil
}

// ServeHTTP answers a request.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) { s.handler.ServeHTTP(w, r) }

// Close ends all streams and refuses new ones. Running requests finish. It
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
