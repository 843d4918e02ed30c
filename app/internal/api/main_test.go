// SPDX-License-Identifier: Apache-2.0

package api

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"

	"go.opentelemetry.io/otel/trace"
	"go.uber.org/goleak"

	"github.com/kube-lifeline/lifeline/app/internal/rights"
	"github.com/kube-lifeline/lifeline/app/internal/span"
	"github.com/kube-lifeline/lifeline/app/internal/span/spantest"
	"github.com/kube-lifeline/lifeline/app/internal/store"
	"github.com/kube-lifeline/lifeline/app/internal/view/viewtest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// asOf is when the samples are stored.
var asOf = spantest.Epoch.Add(time.Minute)

// filled is a view with the samples: Unschedulable is open.
func filled(t testing.TB) *viewtest.View {
	t.Helper()
	v := viewtest.New(t)
	v.Put(t, asOf, viewtest.Traces{
		Open: []*span.Trace{spantest.Unschedulable()},
		Finished: append(
			spantest.Healing(),
			spantest.Apply(),
			spantest.Rollout(),
			spantest.Hostile(),
			spantest.CrashLoop(),
		),
	})
	return v
}

// counts is Metrics for tests.
type counts struct {
	panics, opened atomic.Int64
	// closed gets whether each stream was cut; codes each status with its path.
	closed chan bool
	codes  chan string
}

func newCounts() *counts {
	return &counts{closed: make(chan bool, 100), codes: make(chan string, 1000)}
}

func (c *counts) Request(path string, code int) { c.codes <- path + " " + http.StatusText(code) }
func (c *counts) StreamOpened()                 { c.opened.Add(1) }
func (c *counts) StreamClosed(cut bool)         { c.closed <- cut }
func (c *counts) Panicked()                     { c.panics.Add(1) }

// serving is a Server on loopback.
type serving struct {
	*Server
	url    string
	hub    *Hub
	counts *counts
	client *http.Client
}

// start serves o, which may lack anything.
func start(t testing.TB, o Options) *serving {
	t.Helper()
	s := &serving{hub: &Hub{}, counts: newCounts()}
	if o.Access == nil {
		o.Access = filled(t).Access
	}
	o.Hub, o.Metrics, o.Cluster = s.hub, s.counts, "cluster-1"
	if o.Clock == nil {
		o.Clock = func() time.Time { return asOf }
	}
	var err error
	if s.Server, err = New(o); err != nil {
		t.Fatal(err)
	}
	srv := httptest.NewServer(s.Server)
	s.url, s.client = srv.URL, srv.Client()
	t.Cleanup(func() {
		_ = s.Close()
		srv.CloseClientConnections()
		srv.Close()
	})
	return s
}

// get requests a path and returns status and body.
func (s *serving) get(t testing.TB, path string, change ...func(*http.Request)) (*http.Response, []byte) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.url+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range change {
		c(req)
	}
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

// into requests a path and decodes the JSON.
func (s *serving) into(t testing.TB, path string, out any) {
	t.Helper()
	res, body := s.get(t, path)
	if res.StatusCode != http.StatusOK {
		t.Fatalf("%s: status %d: %s", path, res.StatusCode, body)
	}
	if err := json.Unmarshal(body, out); err != nil {
		t.Fatalf("%s: %v in %s", path, err, body)
	}
}

// routes are the routes without their handlers.
var routes = (&handlers{}).routes()

// all gives every sender all of a store.
func all(from store.Reader) func(*http.Request) (store.Access, error) {
	return within(from, func(*http.Request) store.Scope { return store.Scope{} })
}

// within gives each sender the traces of a scope.
func within(from store.Reader, of func(*http.Request) store.Scope) func(*http.Request) (store.Access, error) {
	gate := store.NewGate(from, projectionOf(from))
	return func(r *http.Request) (store.Access, error) { return gate.For(of(r)), nil }
}

// projectionOf returns the projection of a view. Without one, it has no links to other traces.
func projectionOf(from store.Reader) store.Projection {
	if v, is := from.(*viewtest.View); is {
		return v.Project
	}
	return func(s store.Scope, t *span.Trace) *span.Trace {
		if s.All() {
			return t
		}
		return rights.Project(t, rights.Sees{Object: s.Permits})
	}
}

// excerptOf returns the excerpt of a version of a trace for a caller who may see everything.
func excerptOf(t *span.Trace, open bool, asOf time.Time) *store.Excerpt {
	return store.NewGate(nil, store.Whole).For(store.Scope{}).Unseal(store.Seal(t, open, asOf))
}

// faulty is a store with configured faults.
type faulty struct {
	store.Reader
	stats func(context.Context) (store.Stats, error)
	trace func(context.Context, trace.TraceID) (*store.Record, error)
}

func (f *faulty) Stats(ctx context.Context, _ store.Scope) (store.Stats, error) { return f.stats(ctx) }
func (f *faulty) Trace(ctx context.Context, _ store.Scope, id trace.TraceID) (*store.Record, error) {
	return f.trace(ctx, id)
}
