// SPDX-License-Identifier: Apache-2.0

package jaeger

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"
	"time"

	"go.opentelemetry.io/otel/trace"
	"go.uber.org/goleak"

	"github.com/kube-lifeline/lifeline/app/internal/span"
	"github.com/kube-lifeline/lifeline/app/internal/span/spantest"
	"github.com/kube-lifeline/lifeline/app/internal/store"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// asOf is the time of the stored traces.
var asOf = spantest.Epoch.Add(time.Minute)

// memory is a store of a few traces.
type memory struct {
	store.Reader // nil: the others are not asked
	traces       []*span.Trace
	// failure is the error of every question.
	failure error
	// searching is called at the begin of each search; may be nil.
	searching func(context.Context)
}

// names returns the values of f, sorted.
func (m *memory) names(q store.SpanQuery, f func(*span.Span) string) ([]string, error) {
	found := map[string]bool{}
	for _, t := range m.traces {
		for _, s := range t.Spans {
			if q.Scope.PermitsTrace(t) && q.Fits(s) {
				found[valid(f(s))] = true
			}
		}
	}
	return slices.Sorted(maps.Keys(found)), m.failure
}

func (m *memory) Services(_ context.Context, scope store.Scope) ([]string, error) {
	return m.names(store.SpanQuery{Scope: scope}, func(s *span.Span) string { return s.Service })
}

func (m *memory) Operations(_ context.Context, scope store.Scope, service string) ([]string, error) {
	return m.names(store.SpanQuery{Scope: scope, Service: service}, func(s *span.Span) string { return s.Name })
}

func (m *memory) Search(ctx context.Context, q store.SpanQuery) ([]trace.TraceID, error) {
	if m.searching != nil {
		m.searching(ctx)
	}
	found := slices.Clone(m.traces)
	slices.SortFunc(found, func(a, b *span.Trace) int {
		return cmp.Or(store.Start(b).Compare(store.Start(a)), bytes.Compare(b.ID[:], a.ID[:]))
	})
	var out []trace.TraceID
	for _, t := range found {
		if q.Scope.PermitsTrace(t) && slices.ContainsFunc(t.Spans, q.Fits) && len(out) < q.Limit {
			out = append(out, t.ID)
		}
	}
	return out, m.failure
}

func (m *memory) Trace(_ context.Context, scope store.Scope, id trace.TraceID) (*store.Record, error) {
	if m.failure != nil {
		return nil, m.failure
	}
	for _, t := range m.traces {
		if t.ID == id && scope.PermitsTrace(t) {
			sum := store.Summarize(t, asOf)
			sum.AsOf = asOf
			return &store.Record{Summary: sum, Trace: t}, nil
		}
	}
	return nil, store.ErrNotFound
}

// samples are traces of many kinds: with spans of other components, open, failed, hostile, with links.
func samples() []*span.Trace {
	return append(
		spantest.Healing(), spantest.Joined(), spantest.Rollout(), spantest.Hostile(), spantest.CrashLoop(),
		spantest.Unschedulable(), spantest.Causes(),
	)
}

// serving is the API on loopback.
type serving struct {
	*server
	url    string
	client *http.Client
}

func start(t testing.TB, from store.Reader) *serving {
	t.Helper()
	all := store.NewGate(from, store.Whole).For(store.Scope{})
	s := &serving{server: newServer(Options{
		Access:  func(*http.Request) (store.Access, error) { return all, nil },
		Cluster: "cluster-1", Clock: func() time.Time { return asOf },
	})}
	mux := http.NewServeMux()
	for pattern, h := range s.handlers() {
		mux.Handle(pattern, h)
	}
	srv := httptest.NewServer(mux)
	s.url, s.client = srv.URL, srv.Client()
	t.Cleanup(srv.Close)
	return s
}

// get requests a URL of the server.
func (s *serving) get(t testing.TB, url string) (*http.Response, []byte) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	return s.do(t, req)
}

func (s *serving) do(t testing.TB, req *http.Request) (*http.Response, []byte) {
	t.Helper()
	res, err := s.client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return res, body
}

// strict requests a path, and decodes the JSON. Unknown members are errors.
func (s *serving) strict(t testing.TB, path string, into any) {
	t.Helper()
	res, body := s.get(t, s.url+path)
	if res.StatusCode != http.StatusOK || res.Header.Get("Content-Type") != "application/json" {
		t.Fatalf("%s: status %d, %s: %s", path, res.StatusCode, res.Header.Get("Content-Type"), body)
	}
	dec := json.NewDecoder(bytes.NewReader(body))
	dec.DisallowUnknownFields()
	if err := dec.Decode(into); err != nil {
		t.Fatalf("%s: %v in %s", path, err, body)
	}
}
