// SPDX-License-Identifier: Apache-2.0

package watch

import (
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kube-lifeline/lifeline/app/internal/observation"
)

func TestRefusalsAreOvercome(t *testing.T) {
	cases := map[string]struct {
		reason string
		code   int
		kind   string
		warned int
	}{
		"Error": {
			reason: "the stream recovers after a server error", code: http.StatusInternalServerError,
			kind: "server", warned: 1,
		},
		"Unavailable": {
			reason: "the stream recovers after unavailability", code: http.StatusServiceUnavailable,
			kind: "server", warned: 1,
		},
		"Busy": {
			reason: "a busy server gets a retry without a warning", code: http.StatusTooManyRequests, kind: "busy",
		},
		"Forbidden": {
			reason: "a starting server has not loaded all rights yet", code: http.StatusForbidden, kind: "forbidden",
		},
		"NotFound": {
			reason: "a starting server has not loaded all kinds yet",
			code:   http.StatusNotFound,
			kind:   "missing",
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			f := newFakeAPI(t)
			wd := watching(t, f)
			wd.Follow(t.Context(), pods, "default", 0)
			wd.present()
			f.with(func() { f.refuse[podsPath] = tc.code })
			f.endWatches()
			wd.await("errors counted", func() bool { defer wd.ping(); return statsOf(wd, "pods").Errors[tc.kind] > 1 })
			if s := statsOf(wd, "pods"); s.Connected != 0 || s.Behind.IsZero() || wd.Stats().Lag <= 0 {
				t.Errorf("%s: want the refused stream behind, got %+v", tc.reason, s)
			}
			f.put(podsPath, "default", "a")
			f.with(func() { delete(f.refuse, podsPath) })
			wd.await("Pod/a", func() bool { return len(wd.lines) == 1 })
			wd.present()
			if len(wd.warns) != tc.warned {
				t.Errorf("%s: want %d warnings, got %q", tc.reason, tc.warned, wd.warns)
			}
		})
	}
}

func TestRetryAfterIsHonoured(t *testing.T) {
	f := newFakeAPI(t)
	f.with(func() { f.refuse[podsPath], f.retryAfter = http.StatusTooManyRequests, "1" })
	wd := watching(t, f)
	wd.Follow(t.Context(), pods, "default", 0)
	wd.await("two requests", func() bool { defer wd.ping(); return len(f.asked("/pods")) >= 2 })
	f.mu.Lock()
	defer f.mu.Unlock()
	var at []time.Time
	for i, request := range f.requests {
		if strings.Contains(request, "/pods") {
			at = append(at, f.times[i])
		}
	}
	if gap := at[1].Sub(at[0]); gap < 900*time.Millisecond {
		t.Errorf("with Retry-After of one second the retry came after %v", gap)
	}
}

func TestRetryAfterIsBounded(t *testing.T) {
	cases := map[string]struct {
		reason, header string
		code           int
		patient, kept  bool
		want           time.Duration
	}{
		"Seconds": {reason: "a few seconds are obeyed", header: "7", code: 429, want: 7 * time.Second},
		"Hours":   {reason: "hours are limited", header: "86400", code: 429, want: maxRetryAfter},
		"Words":   {reason: "a date is ignored", header: "Wed, 21 Oct 2015 07:28:00 GMT", code: 503},
		"Patient": {
			reason: "client-go waits for a server behind the version", header: "1", code: 504,
			patient: true, kept: true,
		},
		"PatientBusy": {
			reason:  "client-go does not wait for a busy server",
			header:  "1",
			code:    429,
			patient: true,
			want:    time.Second,
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			var n atomic.Uint64
			c := &counted{requests: &n, next: transport(func(*http.Request) (*http.Response, error) {
				return &http.Response{StatusCode: tc.code, Header: http.Header{
					"Retry-After": {tc.header},
				}, Body: io.NopCloser(strings.NewReader(""))}, nil
			})}
			a := &answer{patient: tc.patient}
			r, err := http.NewRequestWithContext(a.in(t.Context()), http.MethodGet, "http://127.0.0.1", http.NoBody)
			if err != nil {
				t.Fatal(err)
			}
			resp, err := c.RoundTrip(r)
			if err != nil {
				t.Fatal(err)
			}
			defer resp.Body.Close()
			if a.retryAfter != tc.want || (resp.Header.Get("Retry-After") != "") != tc.kept || n.Load() != 1 {
				t.Errorf("%s: got %v, header %q, %d requests", tc.reason, a.retryAfter, resp.Header.Get(
					"Retry-After",
				), n.Load())
			}
		})
	}
}

type transport func(*http.Request) (*http.Response, error)

func (t transport) RoundTrip(r *http.Request) (*http.Response, error) { return t(r) }

func TestAServerThatDoesNotAnswer(t *testing.T) {
	f := newFakeAPI(t)
	f.put(podsPath, "default", "a")
	f.with(func() { f.stuck["/api/v1/namespaces/default/pods"] = 2 }) // the list, twice
	wd := watching(t, f)
	wd.pace.slow = 2 * time.Second // longer than a successful response takes
	wd.Follow(t.Context(), pods, "default", 0)
	wd.present()
	f.with(func() { f.stuck["/api/v1/namespaces/default/pods"] = 1 }) // the watch
	f.endWatches()
	f.put(podsPath, "default", "b")
	wd.awaitLine("Pod/b 102")
	if n := statsOf(wd, "pods").Errors["slow"]; n != 3 {
		t.Errorf("want 3 requests without a response, got %d", n)
	}
	wd.wantWarnings(
		"the API server does not respond in time; trying again",
		"the API server does not respond in time; trying again",
	)
}

func TestRestart(t *testing.T) {
	f := newFakeAPI(t)
	wd := watching(t, f)
	wd.watch(all)
	wd.present()
	streams := 0
	for _, r := range wd.Stats().Resources {
		streams += r.Streams
	}
	for range 3 {
		start := f.stop()
		wd.await("long pauses", func() bool { defer wd.ping(); return wd.Stats().Lag > 700*time.Millisecond })
		f.put(podsPath, "default", "a")
		began := time.Now()
		start()
		wd.present()
		t.Logf("%d streams were back after %v", streams, time.Since(began))
	}
	wd.await("all changes", func() bool { return len(wd.lines) == 3 })
}

func TestTheFirstStreamThatComesThroughWakesAll(t *testing.T) {
	var o outage
	o.lost()
	r := &retry{delay: func() time.Duration { return time.Hour }}
	back := make(chan struct{})
	over := o.over()
	go func() {
		defer close(back)
		r.wait(t.Context(), soon, 0, over)
	}()
	o.found()
	select {
	case <-back:
	case <-time.After(patience):
		t.Fatal("the stream was not woken")
	}
	o.lost()
	over = o.over()
	o.found()
	select {
	case <-over:
		t.Error("an unstable server must not get the requests of all streams each time")
	default:
	}
}

func statsOf(wd *watched, resource string) ResourceStats {
	for _, r := range wd.Stats().Resources {
		if r.Resource == (schema.GroupResource{Resource: resource}) {
			return r
		}
	}
	return ResourceStats{}
}

func TestStats(t *testing.T) {
	f := newFakeAPI(t)
	f.with(func() { f.refuse[secretsPath] = http.StatusForbidden })
	f.put(podsPath, "default", "a")
	now := time.Date(2026, 5, 4, 3, 2, 1, 0, time.UTC)
	wd := watchingAs(t, f, func(c *Config) { c.Now = func() time.Time { return now } })
	wd.watch(all)
	wd.present()
	f.put(podsPath, "default", "b")
	wd.awaitLine("Pod/b 102")
	s := statsOf(wd, "pods")
	if s.Streams != 1 || s.Connected != 1 || !s.Behind.IsZero() || !s.Changed.Equal(
		now,
	) || s.Lists != 1 || s.Watches != 1 || s.Observations != 2 || s.Errors != nil {
		t.Errorf("pods: got %+v", s)
	}
	s = statsOf(wd, "secrets")
	if s.Streams != 1 || s.Unreadable != 1 || s.Connected != 0 || s.Errors["forbidden"] != 1 {
		t.Errorf("secrets: got %+v", s)
	}
	wd.await(
		"all requests counted", func() bool { defer wd.ping(); return wd.Stats().Requests == uint64(len(f.asked(""))) },
	)
}

// TestLook: a resource that may not be read is no empty one, and brings no warning.
func TestLook(t *testing.T) {
	f := newFakeAPI(t)
	f.with(func() { f.refuse[secretsPath] = http.StatusForbidden })
	wd := watching(t, f)
	for resource, want := range map[string]bool{"pods": true, "secrets": false} {
		gvr := schema.GroupVersionResource{Version: "v1", Resource: resource}
		if got, err := wd.Look(t.Context(), gvr, "default", ""); err != nil || got != want {
			t.Errorf("%s: got readable %t, %v, want %t", resource, got, err, want)
		}
	}
}

func BenchmarkStats(b *testing.B) {
	f := newFakeAPI(b)
	w, err := New(Config{REST: f.config(), Emit: func(*observation.Observation) {}})
	if err != nil {
		b.Fatal(err)
	}
	defer w.Close()
	w.roster.mu.Lock()
	for i := range 200 {
		k := key{GroupResource: schema.GroupResource{Resource: string(rune('a' + i))}}
		w.roster.streams[k] = newStream(plan{}, w.shared, w.roster.countersOf(k.GroupResource))
	}
	w.roster.mu.Unlock()
	for b.Loop() {
		w.Stats()
	}
}
