// SPDX-License-Identifier: Apache-2.0

package client

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"
	"go.uber.org/goleak"

	"github.com/kube-lifeline/lifeline/app/internal/api"
	"github.com/kube-lifeline/lifeline/app/internal/object"
	"github.com/kube-lifeline/lifeline/app/internal/span"
	"github.com/kube-lifeline/lifeline/app/internal/span/spantest"
	"github.com/kube-lifeline/lifeline/app/internal/view/viewtest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var asOf = spantest.Epoch.Add(time.Minute)

// rig is a real view behind a real API.
type rig struct {
	view   *viewtest.View
	hub    *api.Hub
	client *Client
	// handler answers; tests change it.
	handler atomic.Pointer[api.Server]
	options api.Options
}

func newRig(t *testing.T) *rig {
	t.Helper()
	r := &rig{hub: &api.Hub{}, view: viewtest.New(t)}
	r.view.Put(t, asOf, viewtest.Traces{})
	r.options = api.Options{
		Access:  r.view.Access,
		Hub:     r.hub,
		Cluster: "c",
		Clock:   func() time.Time { return asOf },
		Info:    func() api.Info { return api.Info{Version: "v1"} },
	}
	r.restart(t)
	srv := httptest.NewServer(
		http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) { r.handler.Load().ServeHTTP(w, req) }),
	)
	var err error
	if r.client, err = New(srv.URL, Access{}); err != nil {
		t.Fatal(err)
	}
	r.client.pause = time.Millisecond
	r.client.wait = func(ctx context.Context, _ time.Duration) bool { return ctx.Err() == nil }
	t.Cleanup(func() {
		_ = r.handler.Load().Close()
		r.client.Close()
		srv.Close()
	})
	return r
}

// restart puts a new Server in place and ends the streams of the old one.
func (r *rig) restart(t *testing.T) {
	t.Helper()
	s, err := api.New(r.options)
	if err != nil {
		t.Fatal(err)
	}
	if old := r.handler.Swap(s); old != nil {
		_ = old.Close()
	}
}

func equal(t *testing.T, want, got *span.Trace) {
	t.Helper()
	exactly := cmp.Comparer(func(a, b attribute.Value) bool { return a.Type() == b.Type() && a.String() == b.String() })
	order := cmpopts.SortSlices(func(a, b *span.Span) bool { return a.ID.String() < b.ID.String() })
	facts := cmpopts.IgnoreFields(span.Span{}, "Facts") // the API has them elsewhere, as writes
	if diff := cmp.Diff(want, got, exactly, order, facts, cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestTraceComesBackAsItWasStored(t *testing.T) {
	r := newRig(t)
	open := spantest.Unschedulable()
	all := append(spantest.Healing(), spantest.Apply(), spantest.CrashLoop(), spantest.Rollout(), spantest.Many(150))
	r.view.Put(t, asOf, viewtest.Traces{Finished: all, Open: []*span.Trace{open}})
	for _, want := range append(all, open) {
		got, err := r.client.Trace(t.Context(), want.ID.String()[:12])
		if err != nil {
			t.Fatal(err)
		}
		equal(t, want, got.Trace)
		if got.Summary.Open != (want == open) || !got.Summary.AsOf.Equal(asOf) {
			t.Errorf("got %+v", got.Summary)
		}
	}
}

func TestListAndInfo(t *testing.T) {
	r := newRig(t)
	var all []*span.Trace
	for n := range 25 {
		b := spantest.New(fmt.Sprint("change", n))
		b.Deployment(nil, n, n+100)
		all = append(all, b.Trace)
	}
	r.view.Put(t, asOf, viewtest.Traces{Finished: all})
	seen := 0
	for page, err := range r.client.Pages(t.Context(), Query{
		Since:      "1h",
		Until:      "1ms",
		Outcomes:   []span.Outcome{span.Converged, span.Failed},
		SlowerThan: 100 * time.Millisecond,
		Object: object.Ref{
			Kind:      object.Kind{Group: "apps", Version: "v9", Kind: "Deployment"},
			Namespace: "default",
			Name:      "web",
			UID:       "uid-web",
		}, Limit: 10,
	}) {
		if err != nil {
			t.Fatal(err)
		}
		for _, sum := range page.Traces {
			if want := all[24-seen].ID.String(); sum.TraceID != want {
				t.Errorf("place %d is %s, want %s", seen, sum.TraceID, want)
			}
			seen++
		}
		if len(page.Traces) > 10 || page.Incomplete != "" {
			t.Errorf("got a page of %d traces, incomplete %q", len(page.Traces), page.Incomplete)
		}
	}
	if seen != 25 {
		t.Errorf("got %d traces", seen)
	}
	for range r.client.Pages(t.Context(), Query{Limit: 1}) {
		break // leaves nothing behind
	}
	info, err := r.client.Info(t.Context())
	if err != nil || info.Version != "v1" || info.Stats.Traces != 25 {
		t.Errorf("got %+v, %v", info, err)
	}
	causes, err := r.client.Causes(t.Context(), all[0].ID.String())
	if err != nil || len(causes) == 0 {
		t.Errorf("got %v, %v", causes, err)
	}
}

func TestErrorsSayWhatToDo(t *testing.T) {
	r := newRig(t)
	gone := httptest.NewServer(http.NotFoundHandler())
	gone.Close()
	answers := func(status int, kind, body string) string {
		srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", kind)
			w.WriteHeader(status)
			_, _ = io.WriteString(w, body)
		}))
		t.Cleanup(srv.Close)
		return srv.URL
	}
	const apply = "4bf92f3577b34da6a3ce929d0e0e4736"
	cases := map[string]struct{ reason, server, id, text string }{
		"no server": {
			"as a rule it is not running",
			gone.URL,
			apply,
			"no server answers at " + gone.URL + ": start one with lifeline serve, or name another with --server",
		},
		"not there": {"the server's own words", r.client.Server(), apply, "there is no such trace"},
		"no ID":     {"nothing but an ID gets into a URL", r.client.Server(), "../info", `"../info" is no trace ID`},
		"web page":  {"another server", answers(200, "text/html", "<html>"), apply, "is not lifeline serve"},
		"no JSON":   {"another server", answers(200, "application/json", "<html>"), apply, "is not lifeline serve"},
		"no detail": {
			"another server",
			answers(200, "application/json", `{"resourceSpans":[]}`),
			apply,
			`no member "lifeline"`,
		},
		"no spans": {
			"another version, perhaps",
			answers(200, "application/json", `{"lifeline":{}}`),
			apply,
			"no span",
		},
		"deep": {
			"endless nesting is no trace",
			answers(200, "application/json", strings.Repeat("[", 100_000)),
			apply,
			"is not lifeline serve",
		},
		"no message": {
			"another server",
			answers(500, "application/json", `{}`),
			apply,
			"status 500 without a message",
		},
		"long message": {
			"it is cut",
			answers(500, "application/json", `{"error":{"message":"`+strings.Repeat("x", 9000)+`"}}`),
			apply,
			"xxx",
		},
		"redirect": {"it is not followed", redirect(t), apply, "sent a redirect"},
		"empty": {
			"short answers are no traces",
			answers(200, "application/json", ""),
			apply,
			"is not lifeline serve",
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Log(tc.reason)
			c, err := New(tc.server, Access{})
			if err != nil {
				t.Fatal(err)
			}
			defer c.Close()
			_, err = c.Trace(t.Context(), tc.id)
			if err == nil || !strings.Contains(err.Error(), tc.text) || len(err.Error()) > 2000 {
				t.Errorf("got %v", err)
			}
			if errors.Is(err, ErrNoServer) != (name == "no server" || name == "redirect") {
				t.Errorf("ErrNoServer: %v", err)
			}
		})
	}
}

func redirect(t *testing.T) string {
	t.Helper()
	srv := httptest.NewServer(http.RedirectHandler("http://127.0.0.1:1/", http.StatusFound))
	t.Cleanup(srv.Close)
	return srv.URL
}

func TestNew(t *testing.T) {
	cases := map[string]struct{ reason, server, want string }{
		"default":   {"where a server listens", "", DefaultServer},
		"host":      {"most people leave the scheme out", "lifeline:7070", "http://lifeline:7070"},
		"path":      {"behind a proxy", "https://example.com/lifeline/", "https://example.com/lifeline"},
		"password":  {"it is in no message", "http://me:secret@example.com", "http://me:xxxxx@example.com"},
		"scheme":    {"only HTTP", "ftp://example.com", ""},
		"nothing":   {"no host", "http://", ""},
		"query":     {"it would be lost", "http://example.com?a=b", ""},
		"malformed": {"no URL", "http://[::1", ""},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Log(tc.reason)
			c, err := New(tc.server, Access{})
			got := ""
			if err == nil {
				got = c.Server()
			}
			if got != tc.want {
				t.Errorf("got %q (%v), want %q", got, err, tc.want)
			}
		})
	}
}

// TestWatch follows traces through a restart of the server.
func TestWatch(t *testing.T) {
	r := newRig(t)
	apply, waiting, rollout := spantest.Apply(), spantest.Unschedulable(), spantest.Rollout()
	names := map[trace.TraceID]string{apply.ID: "apply", waiting.ID: "waiting", rollout.ID: "rollout"}
	open := func(t *span.Trace) api.Update { return api.Update{Trace: t, Open: true, AsOf: asOf} }
	r.hub.Publish([]api.Update{open(apply), open(waiting), open(rollout)})
	// The actions after each event.
	then := map[string]func(){
		"synced 1": func() {
			// The connection is lost; apply converges and rollout is withdrawn
			// before it is there again.
			r.view.Put(t, asOf, viewtest.Traces{Finished: []*span.Trace{apply}, Open: []*span.Trace{waiting}})
			old := r.hub
			r.hub = &api.Hub{}
			r.options.Hub = r.hub
			r.hub.Publish([]api.Update{open(waiting)})
			r.restart(t)
			_ = old
		},
		"synced 2": func() {
			r.hub.Publish([]api.Update{{Trace: waiting, Withdrawn: true, AsOf: asOf}})
		},
	}
	var got []string
	synced := 0
	for e, err := range r.client.Watch(t.Context(), object.Ref{}) {
		if err != nil {
			t.Fatal(err)
		}
		text := ""
		switch {
		case e.Trace != nil:
			text = names[e.Trace.Trace.ID]
			if e.Trace.Summary.Open {
				text += " open"
			}
			if e.Trace.Trace.ID == waiting.ID {
				equal(t, waiting, e.Trace.Trace)
			}
		case e.Withdrawn.IsValid():
			text = "withdrawn " + names[e.Withdrawn]
		case e.Synced:
			synced++
			text = fmt.Sprint("synced ", synced)
		case e.Lost != nil:
			text = "lost"
		}
		got = append(got, text)
		if do := then[text]; do != nil {
			do()
		}
		if text == "withdrawn waiting" {
			break
		}
	}
	want := []string{
		"apply open",
		"waiting open",
		"rollout open",
		"synced 1",
		"lost",
		"waiting open",
		"apply",
		"withdrawn rollout",
		"synced 2",
		"withdrawn waiting",
	}
	slices.Sort(want[6:8]) // by their IDs
	slices.Sort(got[min(6, len(got)):min(8, len(got))])
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestWatchErrors(t *testing.T) {
	r := newRig(t)
	_ = r.handler.Load().Close()
	for _, err := range r.client.Watch(t.Context(), object.Ref{}) {
		if err == nil || !strings.Contains(err.Error(), "stopping") {
			t.Errorf("a first connection that fails: %v", err)
		}
	}
	r.handler.Store(nil)
	r.restart(t)
	ctx, cancel := context.WithCancel(t.Context())
	for e, err := range r.client.Watch(ctx, object.Ref{Name: "nobody"}) {
		if e.Synced {
			cancel()
			continue
		}
		if !errors.Is(err, context.Canceled) {
			t.Errorf("got %+v, %v", e, err)
		}
	}
	cancel()
}

func TestReader(t *testing.T) {
	cases := map[string]struct{ reason, in, name, data, err string }{
		"event":      {"as servers of ours write it", ":\n\nretry: 2\n\nevent: trace\ndata: {}\n\n", "trace", "{}", ""},
		"lines":      {"as others may write it", "data:a\r\ndata: b\r\nid: 7\r\nevent:x\r\n\r\n", "x", "a\nb", ""},
		"no data":    {"it is no event", "event: trace\n\ndata: 1\n\n", "", "1", ""},
		"not whole":  {"an incomplete event is not yielded", "event: trace\ndata: {", "", "", "EOF"},
		"no newline": {"the same", "event: trace\ndata: {}\n", "", "", "EOF"},
		"long": {
			"lines may be longer than a buffer",
			"data: " + strings.Repeat("x", 200_000) + "\n\n",
			"",
			strings.Repeat("x", 200_000),
			"",
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Log(tc.reason)
			n, data, err := newReader(strings.NewReader(tc.in), func() {}).next()
			text := ""
			if err != nil {
				text = err.Error()
			}
			if n != tc.name || string(data) != tc.data || text != tc.err {
				t.Errorf("got %q %.20q %q", n, data, text)
			}
		})
	}
	if _, err := newReader(strings.NewReader(strings.Repeat("x", 100)), func() {}).line(50); err == nil ||
		!strings.Contains(err.Error(), "more than") {
		t.Errorf("a line that is too long: %v", err)
	}
}

func FuzzDecode(f *testing.F) {
	f.Add(
		[]byte(
			`{"resourceSpans":[{"scopeSpans":[{"spans":[{"traceId":"4bf92f3577b34da6a3ce929d0e0e4736",` +
				`"spanId":"00f067aa0ba902b7"}]}]}],"lifeline":{"summary":{"duration":1},` +
				`"openSpans":["00f067aa0ba902b7"]}}`,
		),
	)
	f.Add([]byte(`{"lifeline":{"summary":{"duration":1e300}}}`))
	f.Fuzz(func(t *testing.T, doc []byte) {
		tr, err := decode(doc)
		if err == nil && (tr.Trace == nil || len(tr.Trace.Spans) == 0) {
			t.Errorf("no error, and no trace")
		}
	})
}

func TestSources(t *testing.T) {
	r := newRig(t)
	if _, err := r.client.Sources(t.Context()); err == nil || !strings.Contains(err.Error(), "does not report") {
		t.Errorf("a server without sources: %v", err)
	}
	want := api.Sources{Watch: api.WatchSource{Watching: true, Resources: 3, Lag: api.Seconds(time.Second)}}
	r.options.Sources = func() api.Sources { return want }
	r.restart(t)
	got, err := r.client.Sources(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(&want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}
