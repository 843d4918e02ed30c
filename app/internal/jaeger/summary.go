// SPDX-License-Identifier: Apache-2.0

package jaeger

import (
	"cmp"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.opentelemetry.io/otel/trace"

	"github.com/kube-lifeline/lifeline/app/internal/span"
	"github.com/kube-lifeline/lifeline/app/internal/store"
)

// summary is TraceSummary of jaeger-idl.
type summary struct {
	TraceID       string `json:"traceId"`
	RootService   string `json:"rootServiceName"`
	RootOperation string `json:"rootOperationName"`
	// Start and End are decimal nanoseconds.
	Start    string           `json:"minStartTimeUnixNano"`
	End      string           `json:"maxEndTimeUnixNano"`
	Spans    int              `json:"spanCount"`
	Errors   int              `json:"errorSpanCount"`
	Orphans  int              `json:"orphanSpanCount"`
	Services []serviceSummary `json:"services"`
}

// serviceSummary is ServiceSummary of jaeger-idl.
type serviceSummary struct {
	Name   string `json:"name"`
	Spans  int    `json:"spanCount"`
	Errors int    `json:"errorSpanCount"`
}

func (s *server) summariesV3(r asked, given url.Values) (answer, error) {
	q, err := searchV3(given)
	if err != nil {
		return nil, err
	}
	out := []summary{}
	if err := s.each(r, q, func(e *store.Excerpt) { out = append(out, summarize(e)) }); err != nil {
		return nil, err
	}
	return value(map[string][]summary{"summaries": out})
}

func summarize(e *store.Excerpt) summary {
	t, asOf := e.Trace(), e.Summary().AsOf
	out := summary{TraceID: t.ID.String(), Spans: len(t.Spans)}
	known := make(map[trace.SpanID]bool, len(t.Spans))
	for _, s := range t.Spans {
		known[s.ID] = true
	}
	services := map[string]*serviceSummary{}
	var start, end time.Time
	var root *span.Span
	for _, s := range t.Spans {
		until := s.End.Time
		if s.Open() {
			until = asOf
		}
		if start.IsZero() || s.Start.Before(start) {
			start = s.Start.Time
		}
		if until.After(end) {
			end = until
		}
		of := services[serviceOf(s)]
		if of == nil {
			of = &serviceSummary{Name: serviceOf(s)}
			services[of.Name] = of
		}
		of.Spans++
		if s.Status == span.StatusError {
			of.Errors++
			out.Errors++
		}
		switch {
		case !s.Parent.IsValid():
			if root == nil || s.Start.Before(root.Start.Time) {
				root = s
			}
		case !known[s.Parent]:
			out.Orphans++
		}
	}
	if root == nil { // the parent is outside
		root = t.Root()
	}
	if root != nil {
		out.RootService, out.RootOperation = serviceOf(root), valid(root.Name)
	}
	out.Start, out.End = nanos(start), nanos(end)
	out.Services = make([]serviceSummary, 0, len(services))
	for _, name := range slices.Sorted(maps.Keys(services)) {
		out.Services = append(out.Services, *services[name])
	}
	return out
}

// serviceOf returns the name of the service that a span has in OTLP.
func serviceOf(s *span.Span) string { return cmp.Or(valid(s.Service), unknownService) }

// unknownService is the name of a service without one.
const unknownService = "unknown_service"

func valid(s string) string { return strings.ToValidUTF8(span.Bound(s), "\uFFFD") }

func nanos(t time.Time) string { return strconv.FormatInt(max(0, t.UnixNano()), 10) }
