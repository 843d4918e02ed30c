// SPDX-License-Identifier: Apache-2.0

package jaeger

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"

	"go.opentelemetry.io/otel/trace"

	"github.com/kube-lifeline/lifeline/app/internal/render"
	"github.com/kube-lifeline/lifeline/app/internal/span"
	"github.com/kube-lifeline/lifeline/app/internal/store"
)

// failV3 writes an error as GRPCGatewayError of jaeger-idl.
func failV3(w http.ResponseWriter, code int, message string) {
	type details struct {
		HTTPCode int    `json:"httpCode"`
		Message  string `json:"message"`
	}
	w.WriteHeader(code)
	_ = json.NewEncoder(w).Encode(map[string]details{"error": {code, message}}) // an error has no receiver
}

func (s *server) servicesV3(r asked, _ url.Values) (answer, error) {
	names, err := s.services(r)
	if err != nil {
		return nil, err
	}
	return value(map[string][]string{"services": names})
}

// services returns the names of the services. Spans without one have no entry.
func (s *server) services(r asked) ([]string, error) {
	names, err := r.access.Services(r.Context())
	return named(names), err
}

// named returns the names that are not empty, as a list that is not nil.
func named(names []string) []string {
	return slices.DeleteFunc(append([]string{}, names...), func(name string) bool { return name == "" })
}

// operation is Operation of jaeger-idl.
type operation struct {
	Name     string `json:"name"`
	SpanKind string `json:"spanKind"`
}

func (s *server) operationsV3(r asked, given url.Values) (answer, error) {
	// As Jaeger does for an unknown kind.
	out, err := s.operations(r, given.Get("service"), "internal")
	if err != nil {
		return nil, err
	}
	return value(map[string][]operation{"operations": out})
}

// operations returns the names of the spans of a service. The store does not know the kinds of its
// operations: each gets the same, and a parameter for the kind has no effect.
func (s *server) operations(r asked, service, kind string) ([]operation, error) {
	if service == "" {
		return nil, bad(http.StatusBadRequest, "parameter 'service' is required")
	}
	names, err := r.access.Operations(r.Context(), service)
	if err != nil {
		return nil, err
	}
	out := make([]operation, 0, len(names))
	for _, name := range named(names) {
		out = append(out, operation{name, kind})
	}
	return out, nil
}

// errNoTraces is the answer to a search without a result, and for an unknown trace.
var errNoTraces = bad(http.StatusNotFound, "No traces found")

func (s *server) tracesV3(r asked, given url.Values) (answer, error) {
	q, err := searchV3(given)
	if err != nil {
		return nil, err
	}
	found := bounded{most: s.maxSpans}
	if err := s.each(r, q, found.add); err != nil {
		return nil, err
	}
	switch {
	case len(found.left) > 0: // the answer has no place for a note
		return nil, bad(http.StatusBadRequest,
			"%d of %d traces would exceed the %d spans of an answer, the first of them trace %s with %d spans: "+
				"lower query.searchDepth, ask for a shorter time, or use /api/v3/trace-summaries",
			len(found.left), len(found.left)+len(found.excerpts), s.maxSpans, found.left[0].id, found.left[0].spans)
	case len(found.excerpts) == 0:
		return nil, errNoTraces
	}
	return s.otlp(found.excerpts), nil
}

func (s *server) traceV3(r asked, given url.Values) (answer, error) {
	p := paramsV3(given)
	id, err := traceID(r.PathValue("traceID"))
	if err != nil {
		p.bad("trace_id", "%s", err.Error())
	}
	// The times help stores that are divided by time. Here the ID suffices.
	p.moment("startTime", "start_time")
	p.moment("endTime", "end_time")
	p.truth("rawTraces", "raw_traces")
	if p.err != nil {
		return nil, p.err
	}
	e, err := s.trace(r, id)
	switch {
	case err != nil:
		return nil, err
	case e == nil:
		return nil, errNoTraces
	}
	return s.otlp([]*store.Excerpt{e}), nil
}

// trace returns a trace; nil without an error if there is none.
func (s *server) trace(r asked, id trace.TraceID) (*store.Excerpt, error) {
	e, err := r.access.Trace(r.Context(), id)
	if isNotFound(err) {
		return nil, nil //nolint:nilnil // the forms have different errors for it
	}
	return e, err
}

// perPart is the number of spans that are converted at once.
const perPart = 2000

// parts calls f with the spans of a trace, in parts.
func parts(t *span.Trace, f func(*span.Trace) error) error {
	for spans := range slices.Chunk(t.Spans, perPart) {
		part := *t
		part.Spans = spans
		if err := f(&part); err != nil {
			return err
		}
	}
	return nil
}

// otlp is the answer with traces as {"result":{"resourceSpans":[…]}}, TracesData of OTLP within
// GRPCGatewayWrapper of jaeger-idl.
func (s *server) otlp(excerpts []*store.Excerpt) answer {
	return func(w io.Writer) error {
		const begin, end = `{"resourceSpans":[`, "]}\n"
		before := []byte(`{"result":` + begin)
		for _, e := range excerpts {
			id := e.Trace().ID
			if err := parts(e.Trace(), func(part *span.Trace) error {
				var doc bytes.Buffer
				o := render.Options{Now: e.Summary().AsOf, Cluster: s.Cluster}
				if err := render.JSON(&doc, []*span.Trace{part}, o); err != nil {
					return fmt.Errorf("cannot write trace %s: %w", id, err)
				}
				list, begun := bytes.CutPrefix(doc.Bytes(), []byte(begin))
				list, ended := bytes.CutSuffix(list, []byte(end))
				if !begun || !ended {
					return fmt.Errorf("cannot write trace %s: its JSON is no list of resources", id)
				}
				if _, err := w.Write(before); err != nil {
					return err
				}
				before = []byte(",")
				_, err := w.Write(list)
				return err
			}); err != nil {
				return err
			}
		}
		_, err := io.WriteString(w, "]}}\n")
		return err
	}
}
