// SPDX-License-Identifier: Apache-2.0

package api

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/kube-lifeline/lifeline/app/internal/received"
	"github.com/kube-lifeline/lifeline/app/internal/render"
	"github.com/kube-lifeline/lifeline/app/internal/span"
	"github.com/kube-lifeline/lifeline/app/internal/span/spantest"
	"github.com/kube-lifeline/lifeline/app/internal/store"
	"github.com/kube-lifeline/lifeline/app/internal/view/viewtest"
)

// TestTraceIsWhatIsRendered: the document is that of render.JSON, with an additional member that
// receivers ignore.
func TestTraceIsWhatIsRendered(t *testing.T) {
	s := start(t, Options{})
	for _, tr := range append(spantest.Healing(), spantest.Apply(), spantest.Unschedulable(), spantest.CrashLoop()) {
		res, got := s.get(t, "/api/v1/traces/"+tr.ID.String())
		if res.StatusCode != http.StatusOK {
			t.Fatalf("status %d: %s", res.StatusCode, got)
		}
		var want bytes.Buffer
		if err := render.JSON(&want, []*span.Trace{tr}, render.Options{Now: asOf, Cluster: "cluster-1"}); err != nil {
			t.Fatal(err)
		}
		rendered := strings.TrimSuffix(want.String(), "}\n")
		rest, same := strings.CutPrefix(string(got), rendered+`,"lifeline":`)
		if !same {
			t.Errorf("-want +got:\n%s", cmp.Diff(rendered, string(got)))
		}
		if strings.Count(string(got), "\n") != 1 {
			t.Error("it is not one line")
		}
		var detail Detail
		if err := json.Unmarshal([]byte(strings.TrimSuffix(rest, "}\n")), &detail); err != nil {
			t.Fatal(err)
		}
		open := 0
		for _, sp := range tr.Spans {
			if sp.Open() {
				open++
			}
		}
		if detail.Summary.TraceID != tr.ID.String() || len(detail.OpenSpans) != open ||
			detail.Summary.Reason != tr.Reason ||
			!detail.Summary.AsOf.Equal(asOf) {
			t.Errorf("got %+v", detail)
		}
		data, err := (&ptrace.JSONUnmarshaler{}).UnmarshalTraces(got)
		if err != nil || data.SpanCount() != len(tr.Spans) {
			t.Errorf("a receiver cannot read it: %d spans, %v", data.SpanCount(), err)
		}
	}
}

func TestTraceByPrefix(t *testing.T) {
	v := filled(t)
	s := start(t, Options{Access: v.Access})
	for _, n := range []int{8, 9, 31, 32} {
		for _, form := range []func(string) string{strings.ToLower, strings.ToUpper} {
			id := spantest.Apply().ID.String()
			if res, got := s.get(t, "/api/v1/traces/"+form(id[:n])); res.StatusCode != http.StatusOK ||
				!strings.Contains(string(got), id) {
				t.Errorf("%d digits: status %d", n, res.StatusCode)
			}
		}
	}
	twin := spantest.Apply()
	twin.ID[15]++
	for _, sp := range twin.Spans {
		sp.TraceID = twin.ID
	}
	v.Put(t, asOf, viewtest.Traces{Finished: []*span.Trace{twin}})
	if res, got := s.get(t, "/api/v1/traces/"+twin.ID.String()[:31]); res.StatusCode != http.StatusConflict {
		t.Errorf("two traces begin so: status %d: %s", res.StatusCode, got)
	}
}

func TestInfo(t *testing.T) {
	s := start(t, Options{Info: func() Info {
		return Info{Version: "v1", Cluster: "c", AsOf: asOf, Identity: "pod-1", Mode: "standby", Leading: true}
	}})
	var got Info
	s.into(t, "/api/v1/info", &got)
	if got.Stats.Traces != 7 || got.Stats.Open != 1 || got.Stats.Oldest == nil || got.Stats.Bytes == 0 {
		t.Errorf("got stats %+v", got.Stats)
	}
	got.Stats = Stats{}
	want := Info{Version: "v1", Cluster: "c", AsOf: asOf, Identity: "pod-1", Mode: "standby", Leading: true}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestFailures(t *testing.T) {
	var err error
	s := start(t, Options{Access: all(&faulty{stats: func(context.Context) (store.Stats, error) {
		if err == nil {
			panic("nil map")
		}
		return store.Stats{}, err
	}})})
	cases := map[string]struct {
		reason string
		err    error
		code   int
		text   string
	}{
		"disk": {
			"the path of the store is internal",
			errors.New("cannot read /var/secret: I/O error"),
			500,
			"the store cannot be read",
		},
		"closed":  {"it will be back", store.ErrClosed, 503, "stopping"},
		"slow":    {"the request is too large", context.DeadlineExceeded, 504, "within 30s"},
		"panic":   {"the server survives", nil, 500, "met a bug"},
		"panic 2": {"and again", nil, 500, "met a bug"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Log(tc.reason)
			err = tc.err
			res, got := s.get(t, "/api/v1/info")
			if res.StatusCode != tc.code || !strings.Contains(string(got), tc.text) ||
				strings.Contains(string(got), "secret") {
				t.Errorf("got %d %s", res.StatusCode, got)
			}
			if after := res.Header.Get("Retry-After"); (after != "") != (tc.code == http.StatusServiceUnavailable) {
				t.Errorf("Retry-After of %d is %q", res.StatusCode, after)
			}
		})
	}
	if n := s.counts.panics.Load(); n != 2 {
		t.Errorf("counted %d panics", n)
	}
}

// TestTooManyRequests: concurrent requests up to the limit, and no more.
func TestTooManyRequests(t *testing.T) {
	began, leave := make(chan struct{}), make(chan struct{})
	s := start(t, Options{MaxRequests: 1, Access: all(&faulty{stats: func(ctx context.Context) (store.Stats, error) {
		began <- struct{}{}
		select {
		case <-leave:
		case <-ctx.Done():
		}
		return store.Stats{}, ctx.Err()
	}})})
	first := make(chan int)
	go func() {
		res, _ := s.get(t, "/api/v1/info")
		first <- res.StatusCode
	}()
	<-began
	res, got := s.get(t, "/api/v1/info")
	if res.StatusCode != http.StatusServiceUnavailable || res.Header.Get("Retry-After") == "" ||
		!strings.Contains(string(got), "at its limit of 1 requests") {
		t.Errorf("got %d %s", res.StatusCode, got)
	}
	close(leave)
	if code := <-first; code != 200 {
		t.Errorf("the first got %d", code)
	}
}

func TestRequestsAreCounted(t *testing.T) {
	s := start(t, Options{})
	for path, want := range map[string]string{
		"/api/v1/info": "/api/v1/info OK",
		"/api/v1/traces/" + strings.Repeat("1", 32): "/api/v1/traces/{traceID} Not Found",
		"/evil/" + strings.Repeat("x", 100):         "/ Not Found",
	} {
		s.get(t, path)
		if got := <-s.counts.codes; got != want {
			t.Errorf("%s: counted %q, want %q", path, got, want)
		}
	}
}

// TestOtherListeners: a name is harmless on a listener that everyone may use.
func TestOtherListeners(t *testing.T) {
	s, err := New(Options{Access: filled(t).Access})
	if err != nil {
		t.Fatal(err)
	}
	rec := httptest.NewRecorder()
	req := httptest.NewRequest(http.MethodGet, "http://lifeline.monitoring.svc/api/v1/info", nil)
	s.ServeHTTP(rec, req)
	if rec.Code != 200 {
		t.Errorf("status %d: %s", rec.Code, rec.Body)
	}
}

func TestNewRefuses(t *testing.T) {
	for name, o := range map[string]Options{"no store": {}, "negative": {Access: filled(t).Access, MaxStreams: -1}} {
		if _, err := New(o); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

func TestSources(t *testing.T) {
	s := start(t, Options{Sources: func() Sources {
		return Sources{
			Receives: Receives{
				GRPC: "127.0.0.1:4317",
			},
			Configuration: json.RawMessage(`{"kind":"ServerConfiguration"}`),
			Received: received.Summary{
				Window:     900,
				Components: []received.Component{{Name: received.Kubelet, Spans: 3}},
			},
		}
	}})
	_, body := s.get(t, "/api/v1/sources")
	for _, want := range []string{
		`"receives":{"grpc":"127.0.0.1:4317"}`,
		`"windowSeconds":900`,
		`"name":"kubelet","spans":3`,
		`"configuration":{"kind":"ServerConfiguration"}`,
	} {
		if !bytes.Contains(body, []byte(want)) {
			t.Errorf("the answer lacks %s:\n%s", want, body)
		}
	}
	if bytes.Contains(body, []byte(`"joining"`)) {
		t.Errorf("without receivers, the answer has a joining:\n%s", body)
	}
	if res, _ := s.get(t, "/api/v1/sources?since=1h"); res.StatusCode != http.StatusBadRequest {
		t.Errorf("a parameter that it has not: status %d", res.StatusCode)
	}
	if res, _ := start(t, Options{}).get(t, "/api/v1/sources"); res.StatusCode != http.StatusNotFound {
		t.Errorf("a server without sources: status %d", res.StatusCode)
	}
}

// TestUnavailable: without the archive, lists have what is in memory and say why they may lack
// traces. A trace in the archive is not reported as missing.
func TestUnavailable(t *testing.T) {
	v := viewtest.New(t)
	s := start(t, Options{Access: v.Access})
	res, got := s.get(t, "/api/v1/traces")
	if res.StatusCode != http.StatusServiceUnavailable || res.Header.Get("Retry-After") == "" ||
		!strings.Contains(string(got), "has just started") {
		t.Errorf("before the first look: %d %s", res.StatusCode, got)
	}
	open, finished := spantest.Unschedulable(), spantest.Apply()
	v.Put(t, asOf, viewtest.Traces{Open: []*span.Trace{open}, Finished: []*span.Trace{finished}})
	for _, why := range []string{"it is being opened", strings.Repeat("x", 9000)} {
		v.Fail(errors.New(why))
		var page Page
		s.into(t, "/api/v1/traces", &page)
		var writes WritePage
		s.into(t, "/api/v1/writes", &writes)
		for _, incomplete := range []string{page.Incomplete, writes.Incomplete} {
			want := "the archive is unavailable: " + why[:10]
			if !strings.HasPrefix(incomplete, want) || len(incomplete) > 2000 {
				t.Errorf("incomplete is %.100q, want %q", incomplete, want)
			}
		}
		if len(page.Traces) != 1 || !page.Traces[0].Open {
			t.Errorf("got %+v", page.Traces)
		}
	}
	for id, want := range map[string]int{
		open.ID.String():        http.StatusOK,
		open.ID.String()[:9]:    http.StatusOK,
		finished.ID.String():    http.StatusServiceUnavailable,
		strings.Repeat("1", 32): http.StatusServiceUnavailable,
		"11111111":              http.StatusServiceUnavailable,
	} {
		res, got := s.get(t, "/api/v1/traces/"+id)
		if res.StatusCode != want {
			t.Errorf("trace %s: %d %s, want %d", id, res.StatusCode, got, want)
		}
	}
	v.Fail(nil)
	_, got = s.get(t, "/api/v1/traces")
	if strings.Contains(string(got), "incomplete") {
		t.Errorf("with the archive: %s", got)
	}
}

// TestOthers: another API checks the method itself. All the rest is as for this one.
func TestOthers(t *testing.T) {
	s := start(t, Options{Others: map[string]http.Handler{
		"/api/other/{id}": http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.WriteHeader(http.StatusTeapot)
			_, _ = io.WriteString(w, r.Method+" "+r.PathValue("id"))
		}),
	}})
	post := func(r *http.Request) { r.Method = http.MethodPost }
	if res, body := s.get(t, "/api/other/1", post); res.StatusCode != http.StatusTeapot || string(body) != "POST 1" ||
		res.Header.Get("Cache-Control") != "no-store" {
		t.Errorf("status %d: %s", res.StatusCode, body)
	}
	if got := <-s.counts.codes; got != "/api/other/{id} I'm a teapot" {
		t.Errorf("counted as %q", got)
	}
	if res, _ := s.get(t, "/api/other", post); res.StatusCode != http.StatusMethodNotAllowed {
		t.Errorf("a path of no API: status %d, want 405", res.StatusCode)
	}
	evil := func(r *http.Request) { r.Host = "evil.example" }
	if res, _ := s.get(t, "/api/other/1", evil); res.StatusCode != http.StatusForbidden {
		t.Errorf("another host: status %d, want 403", res.StatusCode)
	}
}
