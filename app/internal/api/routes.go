// SPDX-License-Identifier: Apache-2.0

package api

import (
	_ "embed"
	"net/http"
	"reflect"
	"slices"
	"strings"

	problems "github.com/kube-lifeline/lifeline/app/internal/problem"
	"github.com/kube-lifeline/lifeline/app/internal/shift"
	"github.com/kube-lifeline/lifeline/app/internal/store"
)

// prefix begins every path.
const prefix = "/api/v1/"

// route is a path of the API. The document for OpenAPI comes from the routes.
type route struct {
	path, summary string
	// parameters are the names of the query parameters.
	parameters []string
	// body is the type of the answer.
	body reflect.Type
	ask  func(*request) (any, error)
}

// handlers are the handlers with a state. The others are functions.
type handlers struct {
	about   about
	traces  *traces
	broken  *broken
	learned *learned
}

var (
	// objects select objects, and ages times. pages are those of a list.
	objects = []string{"group", "kind", "namespace", "name", "uid"}
	ages    = []string{"since", "until"}
	pages   = []string{"limit", "after"}
	// selections select problems.
	selections = join(objects, nil, "limit")
	// filters select traces.
	filters = join(ages, objects, "outcome", "state", "category", "open", "worse", "slowerThan")
)

func join(a, b []string, more ...string) []string { return slices.Concat(a, b, more) }

// routes are the paths that answer with one document, in the order of the documentation.
func (h *handlers) routes() []route {
	return []route{
		{"info", "The server, and the amount of its data", nil, reflect.TypeFor[Info](), h.about.info},
		{"sources", "The sources of the traces", nil, reflect.TypeFor[Sources](), h.about.sources},
		{
			"problems", "The problems now, worst first", selections,
			reflect.TypeFor[problems.List](), h.broken.list,
		},
		{"traces", "Traces, newest first", join(filters, pages, "id", "where"), reflect.TypeFor[Page](), listTraces},
		{
			"lifecycles",
			"Lifecycles that match a question, newest first, or by a value of all that match",
			join([]string{"where", "namespace", "sort", "reverse"}, ages, pages...),
			reflect.TypeFor[LifecyclePage](),
			listLifecycles,
		},
		{
			"groups",
			"Statistics of the lifecycles that match a question",
			join([]string{"where", "namespace", "by", "of", "quantiles", "tz", "sort", "changes", "state"}, ages),
			reflect.TypeFor[GroupPage](),
			groupLifecycles,
		},
		{"fields", "The fields of questions", nil, reflect.TypeFor[Fields](), listFields},
		{
			"regressions", "What got slower, since when, and what may have caused it",
			join(ages, []string{"where", "namespace", "workload", "faster", "past"}), reflect.TypeFor[shift.Report](),
			h.learned.regressions,
		},
		{
			"compare", "Two traces, or two sets of lifecycles, phase by phase",
			join(ages, []string{"a", "b", "where", "and", "before", "change", "namespace"}, "after"),
			reflect.TypeFor[Comparison](), h.learned.compare,
		},
		{
			"density", "The number of traces over time", join(filters, nil, "buckets", "where"),
			reflect.TypeFor[Density](), countTraces,
		},
		{
			"traces/{traceID}", "One trace, as OTLP JSON", []string{"format"},
			reflect.TypeFor[Document](), h.traces.document,
		},
		{
			"traces/{traceID}/why", "How an object is after this change, and why", objects,
			reflect.TypeFor[Why](), h.traces.why,
		},
		{
			"traces/{traceID}/tree", "The short tree of a trace, or the nodes of one of its keys", []string{"expand"},
			reflect.TypeFor[Tree](), h.traces.tree,
		},
		{
			"traces/{traceID}/spans/{spanID}", "One span of a trace, and the way to it", nil,
			reflect.TypeFor[SpanDetail](), h.traces.span,
		},
		{
			"traces/{traceID}/find", "The spans of a trace that have a text", []string{"text", "limit"},
			reflect.TypeFor[Found](), h.traces.find,
		},
		{
			"traces/{traceID}/causes", "The edges of a trace, and those that lead to it", []string{"across"},
			reflect.TypeFor[Causes](), listCauses,
		},
		{
			"writes", "API writes, latest first", join(ages, objects, "traceId", "actor", "part", "limit", "after"),
			reflect.TypeFor[WritePage](), listWrites,
		},
	}
}

// parameter describes a query parameter, which has the same meaning in all routes. format is a type or
// format of JSON Schema.
type parameter struct {
	format, meaning string
	// many: the parameter may be repeated.
	many bool
	// from and to bound a number, and values are all values of a text; both may be empty.
	from, to int
	values   []string
}

var parameters = map[string]parameter{
	"since": {
		format:  "string",
		meaning: "a time (RFC 3339), or a duration back from now, such as 90m or 1d; from then on",
	},
	"until": {
		format:  "string",
		meaning: "a time (RFC 3339), or a duration back from now, such as 90m or 1d; before it",
	},
	"group":     {format: "string", meaning: "API group of an object"},
	"kind":      {format: "string", meaning: "kind of an object, such as Pod"},
	"namespace": {format: "string", meaning: "namespace of an object"},
	"name":      {format: "string", meaning: "name of an object"},
	"uid":       {format: "string", meaning: "UID of an object"},
	"outcome":   {format: "string", meaning: "any of these outcomes, separated by commas"},
	"state": {
		format:  "string",
		meaning: "any of these states of traces, separated by commas: an outcome, running, held or stuck",
	},
	"changes": {
		format:  "boolean",
		meaning: "count traces in place of lifecycles, also open ones; by may be state",
	},
	"category":   {format: "string", meaning: "any of these categories of reasons, separated by commas"},
	"open":       {format: "boolean", meaning: "only traces that have not ended"},
	"worse":      {format: "boolean", meaning: "only converged traces with an aftermath"},
	"slowerThan": {format: "string", meaning: "only traces that took at least that long, such as 10s"},
	"limit":      {format: "integer", meaning: "length of the page, 100 by default", from: 1, to: store.MaxPage},
	"after": {
		format:  "string",
		meaning: "next of the previous page; of compare, a time: the second set has no earlier start",
	},
	"workload": {format: "string", meaning: "kind and name of a workload, such as Deployment/web"},
	"faster":   {format: "boolean", meaning: "also what got faster"},
	"past":     {format: "boolean", meaning: "also what is no longer slower"},
	"a":        {format: "string", meaning: "the ID of a trace, or its first digits, at least 8"},
	"b":        {format: "string", meaning: "the same of the trace that a is compared with"},
	"and":      {format: "string", meaning: "the condition of the second set, as where is that of the first"},
	"before": {
		format:  "string",
		meaning: "a time as in since: the first set has the lifecycles of where with an earlier start",
	},
	"change": {
		format:  "string",
		meaning: "the ID of a trace, or its first digits: in place of before and after, its start",
	},
	"buckets": {
		format:  "integer",
		meaning: "number of equal parts of the time, 60 by default",
		from:    1,
		to:      store.MaxBuckets,
	},
	"id":     {format: "string", meaning: "any of these trace IDs, by all 32 digits, separated by commas"},
	"expand": {format: "string", meaning: "a key of the tree: only the nodes that it opens"},
	"format": {
		format:  "string",
		meaning: "the form of the trace: otlp (the default), perfetto, mermaid or html",
		values:  formats,
	},
	"across": {format: "boolean", meaning: "only edges between this trace and others"},
	"text": {
		format:  "string",
		meaning: "words that a span has in its names, its message, its attributes or its events",
	},
	"traceId": {format: "string", meaning: "only writes of this trace, by all 32 digits"},
	"actor":   {format: "string", meaning: "only writes of this component"},
	"part": {
		format:  "string",
		meaning: "only writes that changed this part: desired, metadata, observed, bookkeeping or ownership",
		values:  parts,
	},
	"where": {format: "string", meaning: "a condition in CEL on a lifecycle, as in kind == \"Pod\""},
	"by": {
		format: "string", many: true,
		meaning: "a key of the groups: a text such as namespace or labels[\"app\"], a list such as image, or hour, " +
			"day or week; several give groups by all of them",
	},
	"sort": {
		format: "string",
		meaning: "order lifecycles by a duration or a count, as in phase.pull or restarts, the highest first; groups " +
			"by count, or by a quantile, as in p95",
	},
	"reverse": {format: "boolean", meaning: "the lowest of sort first"},
	"of": {
		format:  "string",
		meaning: "the duration of the quantiles, as in ended.readiness - began.pull; duration by default",
	},
	"quantiles": {format: "string", meaning: "numbers from 0 to 1, separated by commas"},
	"tz": {
		format: "string", meaning: "time zone of hours, days and weeks, such as Europe/Berlin; UTC by default",
	},
	"ended": {
		format:  "string",
		meaning: "a time (RFC 3339): begin with the traces that ended after it, too",
	},
	"view": {format: "string", meaning: "summary for summaries instead of documents", values: views},
}

// Document is the form of a trace: OTLP JSON with one more member.
type Document struct {
	ResourceSpans []any  `json:"resourceSpans"`
	Lifeline      Detail `json:"lifeline"`
}

// openAPI describes the API. A test makes it from the routes.
//
//go:embed openapi.json
var openAPI []byte

// handle adds all paths.
func (s *Server) handle() {
	routes := s.handlers.routes()
	for _, to := range routes {
		s.mux.Handle(prefix+to.path, s.answer(to.ask))
	}
	s.mux.Handle(prefix+"openapi.json", s.answerAnyone(func(r *request) (any, error) {
		return openAPI, r.params.done()
	}))
	s.mux.HandleFunc(prefix+"watch", s.watch)
	s.mux.HandleFunc(prefix+"problems/stream", s.problemStream)
	if s.opts.Runs != nil {
		s.mux.Handle(runsPath, s.limited(s.permitted(s.opts.Runs)))
	}
	for pattern, h := range s.opts.Others {
		s.mux.Handle(pattern, s.limited(h))
	}
	s.mux.Handle("/", s.answerAnyone(nowhere(routes)))
}

// nowhere returns the handler of unknown paths.
func nowhere(routes []route) func(*request) (any, error) {
	var known []string
	for _, to := range routes {
		if !strings.Contains(to.path, "{") {
			known = append(known, prefix+to.path)
		}
	}
	return func(r *request) (any, error) {
		return nil, problem(http.StatusNotFound, "there is no %.80q here: try %s or %swatch",
			r.http.URL.Path, strings.Join(known, ", "), prefix)
	}
}
