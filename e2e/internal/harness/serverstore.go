// SPDX-License-Identifier: Apache-2.0

package harness

import (
	"encoding/json"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// Summary has the used fields of a trace in a server's list.
type Summary struct {
	TraceID string `json:"traceId"`
	Open    bool   `json:"open"`
	Outcome string `json:"outcome"`
	// Was and SettledAt are set after a claim that changed the outcome.
	Was       string `json:"was"`
	SettledAt string `json:"settledAt"`
	// Aftermath is set for a converged change after incidents of its Pods.
	Aftermath struct {
		Text     string `json:"text"`
		Restarts int    `json:"restarts"`
	} `json:"aftermath"`

	Reason  string `json:"reason"`
	Spans   int    `json:"spans"`
	Slowest string `json:"slowest"`
}

// API asks the API and decodes the answer, which must be one with status 200.
func (s *Server) API(t testing.TB, path string, into any) {
	t.Helper()
	code, body, err := Get(t.Context(), "http://"+s.APIAddress()+"/api/v1/"+path)
	if err != nil || code != http.StatusOK {
		t.Fatalf("GET %s: %d %v\n%s", path, code, err, body)
	}
	if err := json.Unmarshal(body, into); err != nil {
		t.Fatalf("GET %s: %v\n%s", path, err, body)
	}
}

// List is the whole list of traces, open and finished, that a query finds.
func (s *Server) List(t testing.TB, query url.Values) []Summary {
	t.Helper()
	var out []Summary
	q := maps.Clone(query)
	if q == nil {
		q = url.Values{}
	}
	for {
		var page struct {
			Traces []Summary `json:"traces"`
			Next   string    `json:"next"`
		}
		s.API(t, "traces?"+q.Encode(), &page)
		out = append(out, page.Traces...)
		if page.Next == "" {
			return out
		}
		q.Set("after", page.Next)
	}
}

// Open is how many traces are open.
func (s *Server) Open(t testing.TB) int {
	t.Helper()
	return len(s.List(t, url.Values{"open": {"true"}}))
}

// Trace is one trace as the server has it.
func (s *Server) Trace(t testing.TB, id string) *Trace {
	t.Helper()
	code, body, err := Get(t.Context(), "http://"+s.APIAddress()+"/api/v1/traces/"+id)
	if err != nil || code != http.StatusOK {
		t.Fatalf("GET trace %s: %d %v\n%s", id, code, err, body)
	}
	traces := parse(t, strings.TrimSpace(string(body))+"\n")
	if len(traces) != 1 || traces[0].ID != id {
		t.Fatalf("the document of trace %s has %d traces:\n%s", id, len(traces), body)
	}
	return traces[0]
}

// Traces are the traces that touch a namespace, by ID.
func (s *Server) Traces(t testing.TB, namespace string) map[string]*Trace {
	t.Helper()
	out := map[string]*Trace{}
	for _, sum := range s.List(t, url.Values{"namespace": {namespace}}) {
		out[sum.TraceID] = s.Trace(t, sum.TraceID)
	}
	return out
}

// Workloads are the traces of a namespace that hold a Deployment, a ReplicaSet or a Pod, by ID.
func (s *Server) Workloads(t testing.TB, namespace string) map[string]*Trace {
	t.Helper()
	out := s.Traces(t, namespace)
	maps.DeleteFunc(out, func(_ string, tr *Trace) bool {
		return len(tr.Find("reconcile Deployment", ""))+len(tr.Find("reconcile ReplicaSet", ""))+
			len(tr.Find("reconcile Pod", "")) == 0
	})
	return out
}

// Metrics are the present values, by name and labels as the text format has
// them: `lifeline_spans_dropped_total{reason="age"}`.
func (s *Server) Metrics(t testing.TB) map[string]float64 {
	t.Helper()
	code, body, err := Get(t.Context(), "http://"+s.TelemetryAddress()+"/metrics")
	if err != nil || code != http.StatusOK {
		t.Fatalf("GET /metrics: %d %v\n%s", code, err, body)
	}
	out := map[string]float64{}
	for line := range strings.Lines(string(body)) {
		if strings.HasPrefix(line, "#") {
			continue
		}
		i := strings.LastIndexByte(line, ' ')
		if i < 0 {
			continue
		}
		if v, err := strconv.ParseFloat(strings.TrimSpace(line[i:]), 64); err == nil {
			out[line[:i]] = v
		}
	}
	return out
}

// AwaitIdle waits until no trace is open and nothing waits to be sent.
func (s *Server) AwaitIdle(t testing.TB) {
	t.Helper()
	Eventually(t, "the server having nothing open and nothing to send", func() bool {
		s.running(t)
		return s.Ready(t) && s.Open(t) == 0 && s.Metrics(t)["lifeline_outbox_spans"] == 0
	})
}

// TraceOf waits until the server has exactly one trace whose root is about the
// object, finished, and returns it.
func (s *Server) TraceOf(t testing.TB, namespace, name string) *Trace {
	t.Helper()
	var found *Trace
	Eventually(t, "a finished trace of "+name, func() bool {
		s.running(t)
		found = nil
		for _, sum := range s.List(t, url.Values{"namespace": {namespace}}) {
			if sum.Open {
				continue
			}
			tr := s.Trace(t, sum.TraceID)
			if tr.Spans[0].Object() == name {
				found = tr
				return true
			}
		}
		return false
	})
	return found
}

// IDs are the keys of traces, in order.
func IDs(traces map[string]*Trace) []string { return slices.Sorted(maps.Keys(traces)) }
