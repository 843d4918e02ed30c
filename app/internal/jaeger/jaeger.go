// SPDX-License-Identifier: Apache-2.0

// Package jaeger serves the query API of Jaeger over the traces of a server, for Grafana's Jaeger data
// source and for Jaeger's page. There are two forms of it:
//
//	/api/v3/services
//	/api/v3/operations?service=
//	/api/v3/traces                        a search: OTLP JSON
//	/api/v3/traces/{traceID}              OTLP JSON
//	/api/v3/trace-summaries               a search: one summary for each trace
//	/api/services                         the JSON of Jaeger's page, in all of the following
//	/api/services/{service}/operations
//	/api/operations?service=
//	/api/traces                           a search, or the traces with given IDs
//	/api/traces/{traceID}
//	/api/dependencies                     always empty
//
// The first form is defined by jaeger-idl. The second one has no definition besides Jaeger 1.76, the
// last version with all of these paths. Parameters, status codes and bodies of errors are those of
// Jaeger. Unknown parameters are ignored, since clients send some that Jaeger does not read.
//
// The names of services and spans, and their attributes, are those of the exported OTLP. Open spans end
// at the time of the trace and are marked unfinished.
package jaeger

import (
	"log/slog"
	"net/http"
	"time"

	"github.com/kube-lifeline/lifeline/app/internal/store"
)

// Limits of answers.
const (
	// MaxTraces is the highest limit of a search, as in Jaeger's page.
	MaxTraces = 1500
	// MaxSpans bounds the spans in the answer of a search. A single trace has no bound: it is sent in
	// parts.
	MaxSpans = 50_000
)

// maxSearches bounds the searches at the same time; others wait.
var maxSearches = store.MaxQuestions()

// Options configure Handlers.
type Options struct {
	// Access returns what the sender of a request may see; required. A handler has no other way to the
	// traces. An error with a method Status() int is answered with that status and its text.
	Access func(*http.Request) (store.Access, error)
	// Cluster is the UID of the cluster, for spans; may be empty.
	Cluster string
	// Clock returns the end of searches without one; nil means time.Now.
	Clock func() time.Time
	// Log receives failures; nil means no log.
	Log *slog.Logger
}

// server has the handlers.
type server struct {
	Options
	// searches has a token for each running search.
	searches chan struct{}
	// maxSpans is MaxSpans; tests change it.
	maxSpans int
}

// Handlers returns the handlers of the API, by the pattern of their path. They accept only GET.
func Handlers(o Options) map[string]http.Handler { return newServer(o).handlers() }

func newServer(o Options) *server {
	if o.Clock == nil {
		o.Clock = time.Now
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	return &server{Options: o, searches: make(chan struct{}, maxSearches), maxSpans: MaxSpans}
}

func (s *server) handlers() map[string]http.Handler {
	return map[string]http.Handler{
		"/api/v3/services":         s.handler(failV3, s.servicesV3),
		"/api/v3/operations":       s.handler(failV3, s.operationsV3),
		"/api/v3/traces":           s.handler(failV3, s.tracesV3),
		"/api/v3/traces/{traceID}": s.handler(failV3, s.traceV3),
		"/api/v3/trace-summaries":  s.handler(failV3, s.summariesV3),

		"/api/services":              s.handler(failPage, s.servicesPage),
		"/api/services/{service...}": s.handler(failPage, s.operationsOfPage),
		"/api/operations":            s.handler(failPage, s.operationsPage),
		"/api/traces":                s.handler(failPage, s.tracesPage),
		"/api/traces/{traceID}":      s.handler(failPage, s.tracePage),
		"/api/dependencies":          s.handler(failPage, s.dependenciesPage),
	}
}
