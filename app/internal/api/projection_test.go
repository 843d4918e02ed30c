// SPDX-License-Identifier: Apache-2.0

package api

import (
	"bufio"
	"context"
	"net/http"
	"os"
	"reflect"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"go.opentelemetry.io/otel/trace"

	"github.com/kube-lifeline/lifeline/app/internal/span"
	"github.com/kube-lifeline/lifeline/app/internal/span/spantest"
	"github.com/kube-lifeline/lifeline/app/internal/store"
	"github.com/kube-lifeline/lifeline/app/internal/store/storetest"
	"github.com/kube-lifeline/lifeline/app/internal/view/viewtest"
)

// TestCallers: no handler can name a trace before its projection. Only the hub seals versions.
func TestCallers(t *testing.T) {
	storetest.CheckCallers(t, map[string][]string{"hub.go": {"Seal", "Sealed"}})
	for name, tc := range map[string]struct {
		reason string
		of     reflect.Type
	}{
		"request":      {"a handler gets it", reflect.TypeFor[request]()},
		"traces":       {"its handlers remember data of traces", reflect.TypeFor[traces]()},
		"about":        {"it has the other handlers", reflect.TypeFor[about]()},
		"stream":       {"it sends traces", reflect.TypeFor[stream]()},
		"subscription": {"it holds versions for a stream", reflect.TypeFor[subscription]()},
		"version":      {"a stream gets it", reflect.TypeFor[version]()},
	} {
		for i := range tc.of.NumField() {
			if f := tc.of.Field(i); f.Type == reflect.TypeFor[*span.Trace]() || f.Type == reflect.TypeFor[Update]() {
				t.Errorf("%s (%s) has a whole trace in %s", name, tc.reason, f.Name)
			}
		}
	}
	handlers, err := os.ReadFile("hub.go")
	if err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(string(handlers), "u.Trace"); n != 2 {
		t.Errorf("the hub uses the trace of an update in %d places, want 2: for none, and to seal it", n)
	}
}

// projecting counts projections. Its callers without the right to everything do not see one object.
type projecting struct{ calls atomic.Int64 }

// confidential is the name of that object.
const confidential = "confidential"

func (p *projecting) access(from store.Reader) func(*http.Request) (store.Access, error) {
	gate := store.NewGate(from, func(s store.Scope, t *span.Trace) *span.Trace {
		p.calls.Add(1)
		if s.All() {
			return t
		}
		part := *t
		part.Spans = slices.DeleteFunc(slices.Clone(t.Spans), func(s *span.Span) bool {
			return s.Object.Name == confidential
		})
		return &part
	})
	return func(r *http.Request) (store.Access, error) {
		if r.Header.Get("User") == "all" {
			return gate.For(store.Scope{}), nil
		}
		return gate.For(store.Scope{Namespaces: []string{"default", ""}}), nil
	}
}

// asUser sets the sender of a request: "all" may see everything.
func asUser(name string) func(*http.Request) {
	return func(r *http.Request) { r.Header.Set("User", name) }
}

// partly returns a trace with a confidential object, and the ID of a span of it.
func partly() (*span.Trace, trace.SpanID) {
	b := spantest.New("partly")
	run := b.Run("kubectl apply -f web.yaml", 0, 4210)
	rs := b.ReplicaSet(b.Deployment(run, 5, 4210), 60, 4180)
	b.Pod(rs, "web-6cf-x7", 90, 4170)
	hidden := b.Pod(rs, confidential, 90, 4170)
	return b.Trace, hidden.ID
}

// TestProjection: all answers about a trace have the sender's part of it, with one projection for each read.
// What is remembered for one sender does not reach another.
func TestProjection(t *testing.T) {
	for _, open := range []bool{false, true} {
		of, hidden := partly()
		p, v := &projecting{}, viewtest.New(t)
		if open {
			of.Root().End, of.Root().Outcome = span.Time{}, ""
			v.Put(t, asOf, viewtest.Traces{Open: []*span.Trace{of}})
		} else {
			v.Put(t, asOf, viewtest.Traces{Finished: []*span.Trace{of}})
		}
		s := start(t, Options{Access: p.access(v)})
		at := "/api/v1/traces/" + of.ID.String()
		for _, tc := range []struct {
			reason, path string
			// codes and calls are those of the sender with a part, and of the one with everything.
			codes [2]int
			calls [2]int64
			// tells: the answer about everything has the object.
			tells bool
		}{
			{"a document", "", [2]int{200, 200}, [2]int64{1, 1}, true},
			{"a file", "?format=html", [2]int{200, 200}, [2]int64{1, 1}, false},
			{"another file", "?format=mermaid", [2]int{200, 200}, [2]int64{1, 1}, true},
			{"an answer", "/why", [2]int{200, 200}, [2]int64{1, 1}, false},
			{"an answer for the object", "/why?kind=Pod&name=" + confidential, [2]int{404, 200}, [2]int64{1, 1}, true},
			{"a tree", "/tree", [2]int{200, 200}, [2]int64{1, 1}, true},
			{"the remembered tree", "/tree?expand=c0000000000000000", [2]int{200, 200}, [2]int64{1, 0}, true},
			{"a search", "/find?text=" + confidential, [2]int{200, 200}, [2]int64{1, 0}, true},
			{"a span", "/spans/" + of.Root().ID.String(), [2]int{200, 200}, [2]int64{1, 0}, false},
			{"the hidden span", "/spans/" + hidden.String(), [2]int{404, 200}, [2]int64{1, 0}, true},
		} {
			for i, user := range []string{"part", "all"} {
				p.calls.Store(0)
				res, body := s.get(t, at+tc.path, asUser(user))
				if res.StatusCode != tc.codes[i] || p.calls.Load() != tc.calls[i] {
					t.Errorf("%s for %q, open %t: status %d, want %d; projected %d times, want %d",
						tc.reason, user, open, res.StatusCode, tc.codes[i], p.calls.Load(), tc.calls[i])
				}
				got := strings.Contains(string(body), hidden.String()) || strings.Contains(string(body), confidential)
				if want := tc.tells && user == "all"; res.StatusCode == http.StatusOK && got != want {
					t.Errorf("%s for %q, open %t: it has the object: %t, want %t: %s",
						tc.reason, user, open, got, want, body)
				}
			}
		}
	}
}

// TestProjectedStream: a stream has the sender's part of each version, with one projection for each scope.
func TestProjectedStream(t *testing.T) {
	of, hidden := partly()
	p := &projecting{}
	s := start(t, Options{Access: p.access(nil)})
	s.hub.Publish([]Update{{Trace: of, Open: true, AsOf: asOf}})
	for _, tc := range []struct {
		reason, user string
		visible      bool
		calls        int64
	}{
		{"a part", "part", false, 1},
		{"the document of the whole trace is made once", "all", true, 1},
		{"and is not that of a part, which is remembered", "part", false, 0},
		{"but that of others with everything", "all", true, 1},
	} {
		p.calls.Store(0)
		ctx, cancel := context.WithCancel(t.Context())
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, s.url+"/api/v1/watch", nil)
		if err != nil {
			t.Fatal(err)
		}
		asUser(tc.user)(req)
		res, err := s.client.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		in, text := bufio.NewScanner(res.Body), ""
		for in.Buffer(nil, 1<<20); in.Scan() && in.Text() != "event: synced"; {
			text += in.Text()
		}
		cancel()
		_ = res.Body.Close()
		if got := strings.Contains(text, hidden.String()); got != tc.visible || p.calls.Load() != tc.calls ||
			!strings.Contains(text, of.Root().ID.String()) {
			t.Errorf("%s: the object is visible: %t, want %t; projected %d times, want %d", tc.reason, got, tc.visible,
				p.calls.Load(), tc.calls)
		}
	}
}
