// SPDX-License-Identifier: Apache-2.0

package client

import (
	"bufio"
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/kube-lifeline/lifeline/app/internal/api"
	"github.com/kube-lifeline/lifeline/app/internal/api/client/clienttest"
	"github.com/kube-lifeline/lifeline/app/internal/problem"
	"github.com/kube-lifeline/lifeline/app/internal/span"
	"github.com/kube-lifeline/lifeline/app/internal/span/spantest"
	"github.com/kube-lifeline/lifeline/app/internal/view/viewtest"
)

// TestHandler: a browser gets the server's answers and errors, and no way to another path of the API server.
func TestHandler(t *testing.T) {
	r := newRig(t)
	r.view.Put(t, asOf, viewtest.Traces{Finished: []*span.Trace{spantest.Apply()}})
	c, a := r.through(t, clienttest.Token)
	const behind = "/apis/lifeline.dev/v1alpha1/visiblechanges"
	for name, tc := range map[string]struct {
		reason, method, path string
		state                clienttest.State
		code                 int
		asked, want          string
	}{
		"list": {
			"an answer of the server", "GET", "/api/v1/traces?limit=1", clienttest.State{}, 200,
			behind + "/-/traces?limit=1", `"traceId"`,
		},
		"error": {
			"the place of an error stays", "GET", "/api/v1/traces?where=kin", clienttest.State{}, 400,
			behind + "/-/traces?where=kin", `"parameter":"where"`,
		},
		"away": {
			"the sentence of the commands", "GET", "/api/v1/info", clienttest.State{Away: true}, 503,
			behind + "/-/info", "its APIService v1alpha1.lifeline.dev is not available",
		},
		"forbidden": {
			"the same", "GET", "/api/v1/info", clienttest.State{Forbidden: true}, 403, behind + "/-/info",
			"its admin can bind the ClusterRole",
		},
		"other path":   {"not of the API", "GET", "/api/secrets", clienttest.State{}, 404, "", "begin with /api/v1/"},
		"parent":       {"a way out", "GET", "/api/v1/../../api/v1/nodes", clienttest.State{}, 404, "", "no such path"},
		"hidden":       {"an escaped way out", "GET", "/api/v1/%2e%2e/x", clienttest.State{}, 404, "", "no such path"},
		"twice hidden": {"escaped twice", "GET", "/api/v1/%252e%252e/x", clienttest.State{}, 404, "", "no such path"},
		"write":        {"the way only reads", "POST", "/api/v1/runs", clienttest.State{}, 405, "", "only reads"},
	} {
		t.Run(name, func(t *testing.T) {
			a.Set(tc.state)
			req := httptest.NewRequestWithContext(t.Context(), tc.method, tc.path, nil)
			req.Header.Set("Authorization", "Bearer of the browser")
			req.Header.Set("Impersonate-User", "admin")
			w := httptest.NewRecorder()
			c.Handler().ServeHTTP(w, req)
			if w.Code != tc.code || !strings.Contains(w.Body.String(), tc.want) {
				t.Errorf("%s: got %d %s, want %d with %s", tc.reason, w.Code, w.Body, tc.code, tc.want)
			}
			if got := w.Header().Get("Content-Type"); got != "application/json" {
				t.Errorf("%s: the answer is %q", tc.reason, got)
			}
			asked := strings.TrimPrefix(strings.Join(a.Asked(), " "), "GET ")
			if asked, _, _ = strings.Cut(asked, " GET /apis/apiregistration"); asked != tc.asked {
				t.Errorf("%s: asked %q, want %q", tc.reason, asked, tc.asked)
			}
		})
	}
	old, _ := r.through(t, "old")
	w := httptest.NewRecorder()
	old.Handler().ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), "GET", "/api/v1/info", nil))
	if w.Code != http.StatusServiceUnavailable { // the page would ask for a token
		t.Errorf("refused credentials: %d %s", w.Code, w.Body)
	}
}

// TestHandlerStream: the events of a stream arrive at once.
func TestHandlerStream(t *testing.T) {
	r := newRig(t)
	r.options.Problems = &api.ProblemHub{}
	r.options.Problems.Publish(problem.NewTracker("c").Snapshot(asOf))
	r.restart(t)
	c, _ := r.through(t, clienttest.Token)
	page := httptest.NewServer(c.Handler())
	ctx, cancel := context.WithCancel(t.Context())
	t.Cleanup(func() { cancel(); page.Close() })
	for path, want := range map[string]string{
		"/api/v1/watch?view=summary": "event: summary", "/api/v1/problems/stream": "event: problems",
	} {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, page.URL+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Accept", "text/event-stream")
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		if res.StatusCode != http.StatusOK {
			text, _ := io.ReadAll(res.Body)
			t.Fatalf("%s: %d %s", path, res.StatusCode, text)
		}
		r.hub.Publish([]api.Update{{Trace: spantest.Unschedulable(), Open: true, AsOf: asOf}})
		for in := bufio.NewScanner(res.Body); ; {
			if !in.Scan() {
				t.Fatalf("%s: no %q: %v", path, want, in.Err())
			}
			if in.Text() == want {
				break
			}
		}
	}
}
