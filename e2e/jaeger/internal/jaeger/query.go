// SPDX-License-Identifier: Apache-2.0

package jaeger

import (
	"encoding/json"
	"io"
	"maps"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/kube-lifeline/lifeline/e2e/internal/harness"
)

// Trace is a trace in the API of Jaeger's page.
type Trace struct {
	TraceID string `json:"traceID"`
	Spans   []Span `json:"spans"`
	// Processes are the resources of the spans, by Span.ProcessID.
	Processes map[string]Process `json:"processes"`
}

// Process is a resource in the API of Jaeger's page.
type Process struct {
	Service string `json:"serviceName"`
	Tags    []Tag  `json:"tags"`
}

// Tag is an attribute in the API of Jaeger's page.
type Tag struct {
	Key   string `json:"key"`
	Type  string `json:"type"`
	Value any    `json:"value"`
}

// Log is an event in the API of Jaeger's page.
type Log struct {
	Timestamp int64 `json:"timestamp"`
	Fields    []Tag `json:"fields"`
}

// Span is a span in the API of Jaeger's page.
type Span struct {
	TraceID    string      `json:"traceID"`
	SpanID     string      `json:"spanID"`
	Name       string      `json:"operationName"`
	References []Reference `json:"references"`
	// StartTime and Duration are in microseconds.
	StartTime int64  `json:"startTime"`
	Duration  int64  `json:"duration"`
	Tags      []Tag  `json:"tags"`
	Logs      []Log  `json:"logs"`
	ProcessID string `json:"processID"`
	// Warnings are Jaeger's warnings about the span.
	Warnings []string `json:"warnings"`
}

// Reference leads to a parent (CHILD_OF) or to the target of a link (FOLLOWS_FROM).
type Reference struct {
	Type    string `json:"refType"`
	TraceID string `json:"traceID"`
	SpanID  string `json:"spanID"`
}

// Warnings is the attribute for Jaeger's warnings in OTLP.
const Warnings = "@jaeger@warnings"

// Page returns a trace from the API of Jaeger's page; nil if Jaeger has none.
func (s *Server) Page(t testing.TB, id string) *Trace {
	t.Helper()
	var answer struct {
		Data []Trace `json:"data"`
	}
	if !s.ask(t, "/api/traces/"+id, &answer) {
		return nil
	}
	id, _, _ = strings.Cut(id, "?")
	if len(answer.Data) != 1 || answer.Data[0].TraceID != id {
		t.Fatalf("trace %s: Jaeger returned %d traces, want only that one", id, len(answer.Data))
	}
	return &answer.Data[0]
}

// OTLP returns a trace from Jaeger's OTLP API, as a list; nil if Jaeger has none.
func (s *Server) OTLP(t testing.TB, id string) []*harness.Trace {
	t.Helper()
	var answer struct {
		Result json.RawMessage `json:"result"`
	}
	if !s.ask(t, "/api/v3/traces/"+id, &answer) {
		return nil
	}
	return harness.Parse(t, harness.Result{Stdout: string(answer.Result) + "\n"}).Traces
}

// Raw is Page without Jaeger's changes.
func (s *Server) Raw(t testing.TB, id string) *Trace {
	t.Helper()
	return s.Page(t, id+"?raw=true")
}

// Find returns the IDs of traces in which the service has a span of an object in the namespace.
func (s *Server) Find(t testing.TB, service, namespace string) map[string]bool {
	t.Helper()
	tags, err := json.Marshal(map[string]string{"k8s.namespace.name": namespace})
	if err != nil {
		t.Fatal(err)
	}
	return s.Search(t, url.Values{"service": {service}, "tags": {string(tags)}})
}

// Search returns the IDs of the traces of the last hour that match.
func (s *Server) Search(t testing.TB, q url.Values) map[string]bool {
	t.Helper()
	var answer struct {
		Data []Trace `json:"data"`
	}
	q = maps.Clone(q)
	q.Set("limit", "1000")
	q.Set("lookback", "1h")
	s.ask(t, "/api/traces?"+q.Encode(), &answer)
	out := map[string]bool{}
	for _, tr := range answer.Data {
		out[tr.TraceID] = true
	}
	return out
}

// Services returns the names of the services in Jaeger.
func (s *Server) Services(t testing.TB) []string {
	t.Helper()
	var answer struct {
		Data []string `json:"data"`
	}
	s.ask(t, "/api/services", &answer)
	return answer.Data
}

// Operations returns the names of a service's spans.
func (s *Server) Operations(t testing.TB, service string) []string {
	t.Helper()
	var answer struct {
		Data []string `json:"data"`
	}
	s.ask(t, "/api/services/"+url.PathEscape(service)+"/operations", &answer)
	return answer.Data
}

// ask decodes a response of Jaeger; false means that the path was not found.
func (s *Server) ask(t testing.TB, path string, into any) bool {
	t.Helper()
	code, body, err := s.get(t, path)
	switch {
	case err != nil:
		t.Fatalf("cannot get %s from Jaeger: %v", path, err)
	case code == http.StatusNotFound:
		return false
	case code != http.StatusOK:
		t.Fatalf("cannot get %s from Jaeger: status %d: %s", path, code, body)
	}
	if err := json.Unmarshal(body, into); err != nil {
		t.Fatalf("cannot decode Jaeger's response to %s: %v\n%s", path, err, body)
	}
	return true
}

func (s *Server) get(t testing.TB, path string) (code int, body []byte, err error) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+s.query+path, nil)
	if err != nil {
		return 0, nil, err
	}
	req.Close = true
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0, nil, err
	}
	defer res.Body.Close()
	body, err = io.ReadAll(res.Body)
	return res.StatusCode, body, err
}
