// SPDX-License-Identifier: Apache-2.0

package telemetry

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
)

func ask(t *testing.T, h http.Handler, method, path string) (int, string) {
	t.Helper()
	rec := httptest.NewRecorder()
	h.ServeHTTP(rec, httptest.NewRequest(method, path, nil))
	return rec.Code, rec.Body.String()
}

func TestHealth(t *testing.T) {
	var live, ready error
	h := &Health{}
	h.Live("loop", func() error { return live })
	h.Ready("store", func() error { return ready })
	h.Ready("watch", func() error { return nil })
	handler := Handler(HandlerOptions{Metrics: NewRegistry(), Health: h})
	type answer struct {
		Code int
		Body string
	}
	cases := map[string]struct {
		reason      string
		live, ready error
		path        string
		want        answer
	}{
		"live":  {"all is well", nil, nil, "/healthz", answer{200, "ok\n"}},
		"ready": {"all is well", nil, nil, "/readyz", answer{200, "ok\n"}},
		"verbose": {
			"each check is named, in the order in which they were added", nil, nil, "/readyz?verbose", answer{
				200, "+ loop: ok\n+ store: ok\n+ watch: ok\nok\n",
			},
		},
		"verbose live": {
			"checks of readiness are not asked", nil, nil, "/healthz?verbose", answer{200, "+ loop: ok\nok\n"},
		},
		"not ready": {
			"the reason is told without being asked for", nil, errors.New("disk\nis full"), "/readyz", answer{
				503, "- store: disk is full\nnot ok\n",
			},
		},
		"still live": {"a restart would not help", nil, errors.New("disk is full"), "/healthz", answer{200, "ok\n"}},
		"dead": {
			"a restart helps", errors.New("stuck for 2m"), nil, "/healthz", answer{
				503, "- loop: stuck for 2m\nnot ok\n",
			},
		},
		"dead is unfit": {
			"who does not live is not ready", errors.New("stuck"), nil, "/readyz?verbose", answer{
				503, "- loop: stuck\n+ store: ok\n+ watch: ok\nnot ok\n",
			},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Log(tc.reason)
			live, ready = tc.live, tc.ready
			code, body := ask(t, handler, "GET", tc.path)
			if diff := cmp.Diff(tc.want, answer{code, body}); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

func TestHealthWithNotes(t *testing.T) {
	var note error
	h := &Health{}
	h.Live("loop", func() error { return nil })
	h.Note("backend", func() error { return note })
	handler := Handler(HandlerOptions{Metrics: NewRegistry(), Health: h})
	cases := map[string]struct {
		reason string
		note   error
		path   string
		want   string
	}{
		"well":         {"there is nothing to say", nil, "/readyz", "ok\n"},
		"well verbose": {"it is one of the checks", nil, "/readyz?verbose", "+ loop: ok\n+ backend: ok\nok\n"},
		"note": {
			"what the process can do without is told, and it is ready", errors.New("away\nfor 2m"), "/readyz",
			"~ backend: away for 2m\nok\n",
		},
		"verbose": {
			"a note stands among the checks", errors.New("away"), "/readyz?verbose",
			"+ loop: ok\n~ backend: away\nok\n",
		},
		"live": {"it is no matter of life", errors.New("away"), "/healthz?verbose", "+ loop: ok\nok\n"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			note = tc.note
			code, body := ask(t, handler, "GET", tc.path)
			if code != http.StatusOK || body != tc.want {
				t.Errorf("%s: got %d %q, want %q", tc.reason, code, body, tc.want)
			}
		})
	}
}

func TestHealthOfACheckThatPanics(t *testing.T) {
	h := &Health{}
	h.Live("loop", func() error { panic("nil map") })
	code, body := ask(t, Handler(HandlerOptions{Metrics: NewRegistry(), Health: h}), "GET", "/healthz")
	if code != 503 || !strings.Contains(body, "nil map") {
		t.Errorf("got %d %q", code, body)
	}
}

func TestHandlerMetrics(t *testing.T) {
	m := NewRegistry()
	m.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: "answer"}, func() float64 { return 42 }))
	h := Handler(HandlerOptions{Metrics: m, Health: &Health{}})
	code, body := ask(t, h, "GET", "/metrics")
	for _, want := range []string{"\nanswer 42\n", "\ngo_goroutines ", "\nprocess_cpu_seconds_total "} {
		if !strings.Contains(body, want) {
			t.Errorf("status %d: no %q", code, want)
		}
	}
	if code, _ := ask(t, h, "POST", "/metrics"); code != http.StatusMethodNotAllowed {
		t.Errorf("POST got %d", code)
	}
}

func TestHandlerPprof(t *testing.T) {
	for _, on := range []bool{true, false} {
		h := Handler(HandlerOptions{Metrics: NewRegistry(), Health: &Health{}, Pprof: on})
		for _, path := range []string{"/debug/pprof/", "/debug/pprof/cmdline", "/debug/pprof/goroutine?debug=1"} {
			want := http.StatusNotFound
			if on {
				want = http.StatusOK
			}
			if code, _ := ask(t, h, "GET", path); code != want {
				t.Errorf("pprof %v: %s got %d, want %d", on, path, code, want)
			}
		}
	}
}
