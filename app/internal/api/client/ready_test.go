// SPDX-License-Identifier: Apache-2.0

package client

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kube-lifeline/lifeline/app/internal/api"
	"github.com/kube-lifeline/lifeline/app/internal/object"
	"github.com/kube-lifeline/lifeline/app/internal/span"
	"github.com/kube-lifeline/lifeline/app/internal/span/spantest"
	"github.com/kube-lifeline/lifeline/app/internal/view/viewtest"
)

// TestNotReady: a request waits for a server that is not ready, for a bounded time.
func TestNotReady(t *testing.T) {
	const second = time.Second
	cases := map[string]struct {
		reason string
		// failures are the answers before the first good one: "CODE Retry-After".
		failures []string
		patience time.Duration
		// left is the time before the deadline of the context; 0 means none.
		left     time.Duration
		waits    []time.Duration
		err      string
		notReady bool
	}{
		"Ready": {"no wait", nil, 8 * second, 0, nil, "", false},
		"Starting": {
			"it needs a few seconds",
			[]string{"503 2", "503 2"},
			8 * second,
			0,
			[]time.Duration{2 * second, 2 * second},
			"",
			false,
		},
		"Never": {
			"the wait is bounded", []string{"503 2", "503 2", "503 2", "503 2", "503 2"}, 5 * second, 0,
			[]time.Duration{2 * second, 2 * second}, "answer 3", true,
		},
		"Impatient":  {"a client without patience", []string{"503 2"}, 0, 0, nil, "answer 1", true},
		"Long pause": {"more than the client's patience", []string{"503 60"}, 8 * second, 0, nil, "answer 1", true},
		"Huge pause": {"it is bounded, too", []string{"503 9999999999"}, 8 * second, 0, nil, "answer 1", true},
		"Zero pause": {
			"the server is not flooded",
			[]string{"503 0"},
			8 * second,
			0,
			[]time.Duration{second},
			"",
			false,
		},
		"Deadline": {
			"the answer is better than a deadline that is exceeded",
			[]string{"503 2"},
			8 * second,
			1900 * time.Millisecond,
			nil,
			"answer 1",
			true,
		},
		"Without Retry-After": {
			"it did not ask for another attempt",
			[]string{"503"},
			8 * second,
			0,
			nil,
			"answer 1",
			false,
		},
		"Not a number": {
			"a date is not used",
			[]string{"503 Thu, 26 Nov 2026 18:00:00 GMT"},
			8 * second,
			0,
			nil,
			"answer 1",
			false,
		},
		"Other error": {"only 503 means that", []string{"500 2"}, 8 * second, 0, nil, "answer 1", false},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Log(tc.reason)
			asked := 0
			srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", "application/json")
				if asked++; asked > len(tc.failures) {
					fmt.Fprint(w, `{"version":"v1"}`)
					return
				}
				code, after, _ := strings.Cut(tc.failures[asked-1], " ")
				if after != "" {
					w.Header().Set("Retry-After", after)
				}
				status := http.StatusServiceUnavailable
				if code == "500" {
					status = http.StatusInternalServerError
				}
				w.WriteHeader(status)
				fmt.Fprintf(w, `{"error":{"code":%s,"message":"answer %d"}}`, code, asked)
			}))
			defer srv.Close()
			c, err := New(srv.URL, Access{})
			if err != nil {
				t.Fatal(err)
			}
			defer c.Close()
			var waits []time.Duration
			c.Patience = tc.patience
			c.wait = func(_ context.Context, d time.Duration) bool { waits = append(waits, d); return true }
			ctx := t.Context()
			if tc.left > 0 {
				var cancel context.CancelFunc
				ctx, cancel = context.WithTimeout(ctx, tc.left)
				defer cancel()
			}
			info, err := c.Info(ctx)
			if tc.err == "" && (err != nil || info.Version != "v1") {
				t.Errorf("got %+v, %v", info, err)
			}
			var answer *api.Error
			if tc.err != "" && (!errors.As(err, &answer) || answer.Message != tc.err) {
				t.Errorf("got error %v, want %q", err, tc.err)
			}
			if NotReady(err) != tc.notReady {
				t.Errorf("not ready: %t, want %t", !tc.notReady, tc.notReady)
			}
			if diff := cmp.Diff(tc.waits, waits); diff != "" {
				t.Errorf("waits: -want +got:\n%s", diff)
			}
		})
	}
}

// TestNotReadyEnds: the end of the context ends the wait.
func TestNotReadyEnds(t *testing.T) {
	v := viewtest.New(t) // without a look
	handler, err := api.New(api.Options{Access: v.Access})
	if err != nil {
		t.Fatal(err)
	}
	srv := httptest.NewServer(handler)
	defer srv.Close()
	c, err := New(srv.URL, Access{})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	ctx, cancel := context.WithCancel(t.Context())
	c.wait = func(ctx context.Context, d time.Duration) bool { cancel(); return wait(ctx, d) }
	if _, err := c.Info(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

// TestStarting: a list waits for the first look of a server, and then has its traces.
func TestStarting(t *testing.T) {
	v := viewtest.New(t)
	handler, err := api.New(api.Options{Access: v.Access})
	if err != nil {
		t.Fatal(err)
	}
	srv := httptest.NewServer(handler)
	defer srv.Close()
	c, err := New(srv.URL, Access{})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	c.wait = func(context.Context, time.Duration) bool {
		v.Put(t, asOf, viewtest.Traces{Finished: spantest.Healing()})
		return true
	}
	page, err := c.List(t.Context(), Query{})
	if err != nil || len(page.Traces) != len(spantest.Healing()) {
		t.Errorf("got %+v, %v", page, err)
	}
}

// TestWatchStarting: Watch waits for its first connection. It counts lost ones itself.
func TestWatchStarting(t *testing.T) {
	r := newRig(t)
	var busy atomic.Int32
	busy.Store(2)
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		if busy.Add(-1) >= 0 {
			api.Reject(w, http.StatusServiceUnavailable, "it is starting")
			return
		}
		r.handler.Load().ServeHTTP(w, req)
	}))
	defer srv.Close()
	c, err := New(srv.URL, Access{})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	waits := 0
	c.pause = time.Millisecond
	c.wait = func(context.Context, time.Duration) bool { waits++; return true }
	var got []string
	for e, err := range c.Watch(t.Context(), object.Ref{}) {
		if err != nil {
			t.Fatal(err)
		}
		if e.Lost != nil {
			got = append(got, "lost")
			continue
		}
		if got = append(got, fmt.Sprint("synced ", waits)); len(got) > 1 {
			break
		}
		busy.Store(2)
		r.restart(t)
	}
	if diff := cmp.Diff([]string{"synced 2", "lost", "synced 2"}, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// TestIncomplete: a page says why the archive's traces are missing. Open traces are there.
func TestIncomplete(t *testing.T) {
	r := newRig(t)
	r.client.Patience = 0
	open, finished := spantest.Unschedulable(), spantest.Apply()
	r.view.Put(t, asOf, viewtest.Traces{Open: []*span.Trace{open}, Finished: []*span.Trace{finished}})
	r.view.Fail(errors.New("disk \x1b is gone"))
	page, err := r.client.List(t.Context(), Query{})
	if err != nil || len(page.Traces) != 1 || page.Traces[0].TraceID != open.ID.String() {
		t.Fatalf("got %+v, %v", page, err)
	}
	if want := "the archive is unavailable: disk \x1b is gone"; page.Incomplete != want {
		t.Errorf("incomplete is %q, want %q", page.Incomplete, want)
	}
	if got, err := r.client.Trace(t.Context(), open.ID.String()); err != nil || got.Trace.ID != open.ID {
		t.Errorf("the open trace: %v", err)
	}
	if _, err := r.client.Trace(t.Context(), finished.ID.String()); !NotReady(err) ||
		!strings.Contains(err.Error(), "the archive is unavailable: disk") {
		t.Errorf("the archived trace: %v", err)
	}
	r.view.Fail(nil)
	if page, err := r.client.List(t.Context(), Query{}); err != nil || len(page.Traces) != 2 || page.Incomplete != "" {
		t.Errorf("with the archive again: %+v, %v", page, err)
	}
}
