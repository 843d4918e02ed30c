// SPDX-License-Identifier: Apache-2.0

package jaeger

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"go.opentelemetry.io/otel/trace"

	"github.com/kube-lifeline/lifeline/app/internal/object"
	"github.com/kube-lifeline/lifeline/app/internal/span"
	"github.com/kube-lifeline/lifeline/app/internal/span/spantest"
	"github.com/kube-lifeline/lifeline/app/internal/store"
	"github.com/kube-lifeline/lifeline/app/internal/store/storetest"
	"github.com/kube-lifeline/lifeline/app/internal/view/viewtest"
)

// TestScope: no answer has anything of a trace outside the scope.
func TestScope(t *testing.T) {
	outside := spantest.New("outside")
	root := outside.Add(nil, "hidden operation", "hidden service", spantest.Ref("", "Pod", "hidden"), 0, 100)
	root.Object.Namespace = "elsewhere"
	from := &memory{traces: []*span.Trace{spantest.Apply(), outside.Trace}}
	s := start(t, from)
	s.Access = func(*http.Request) (store.Access, error) {
		return store.NewGate(from, store.Whole).For(store.Scope{Namespaces: []string{"default", ""}}), nil
	}
	ids := map[string]trace.TraceID{"inside": spantest.Apply().ID, "outside": outside.Trace.ID}
	times := "&query.start_time_min=2026-01-01T00:00:00Z&query.start_time_max=2027-01-01T00:00:00Z"
	for path, code := range map[string]int{
		"/api/v3/services":                                         200,
		"/api/v3/operations?service=kubelet":                       200,
		"/api/v3/operations?service=hidden+service":                200,
		"/api/v3/traces?query.service_name=kubelet" + times:        200,
		"/api/v3/traces?query.service_name=hidden+service" + times: 404,
		"/api/v3/trace-summaries?query.service_name=" + times:      200,
		"/api/v3/traces/" + ids["inside"].String():                 200,
		"/api/v3/traces/" + ids["outside"].String():                404,
		"/api/services": 200,
		"/api/services/hidden%20service/operations":                                             200,
		"/api/operations?service=kubelet":                                                       200,
		"/api/traces?service=kubelet&lookback=custom&start=1&end=9000000000000000":              200,
		"/api/traces?traceID=" + ids["inside"].String() + "&traceID=" + ids["outside"].String(): 200,
		"/api/traces/" + ids["inside"].String():                                                 200,
		"/api/traces/" + ids["outside"].String():                                                404,
		"/api/dependencies?endTs=1000":                                                          200,
	} {
		res, body := s.get(t, s.url+path)
		if res.StatusCode != code || strings.Contains(string(body), "elsewhere") ||
			strings.Contains(string(body), "hidden") || strings.Contains(string(body), root.ID.String()) {
			t.Errorf("%s: status %d, want %d: %.300s", path, res.StatusCode, code, body)
		}
	}
}

// TestCallers: no handler can name a trace before its projection.
func TestCallers(t *testing.T) { storetest.CheckCallers(t, nil) }

// TestProjection: answers have the sender's part of each trace, with one projection for each.
func TestProjection(t *testing.T) {
	traces := samples()
	from, calls := &memory{traces: traces}, 0
	s := start(t, from)
	gate := store.NewGate(from, func(_ store.Scope, t *span.Trace) *span.Trace {
		calls++
		part := *t
		part.Spans = slices.DeleteFunc(slices.Clone(t.Spans), func(s *span.Span) bool {
			return s.Object.Kind.Kind == "Pod" || s.Object == (object.Ref{})
		})
		if len(part.Spans) == 0 {
			return nil
		}
		return &part
	})
	s.Access = func(*http.Request) (store.Access, error) { return gate.For(store.Scope{}), nil }
	times := "query.start_time_min=2020-01-01T00:00:00Z&query.start_time_max=2027-01-01T00:00:00Z"
	one := spantest.Rollout().ID.String()
	for path, want := range map[string]int{
		"/api/v3/traces/" + one: 1,
		"/api/traces/" + one:    1,
		"/api/traces?traceID=" + one + "&traceID=" + traces[0].ID.String(): 2,
		"/api/v3/traces?query.service_name=&" + times:                      len(traces),
		"/api/v3/trace-summaries?query.service_name=&" + times:             len(traces),
		"/api/v3/services": 0,
	} {
		calls = 0
		res, body := s.get(t, s.url+path)
		if res.StatusCode != http.StatusOK || calls != want {
			t.Errorf("%s: status %d, projected %d times, want %d: %.300s", path, res.StatusCode, calls, want, body)
		}
		for _, of := range traces {
			for _, hidden := range of.Spans {
				id := `":"` + hidden.ID.String() + `"`
				if hidden.Object.Kind.Kind == "Pod" && strings.Contains(string(body), id) {
					t.Errorf("%s: it has the span %s of a Pod", path, hidden.ID)
				}
			}
		}
	}
}

// TestVisiblePart: a search and a trace have the visible part of a trace in the archive, and open.
func TestVisiblePart(t *testing.T) {
	v := viewtest.New(t)
	shared := spantest.Rollout()
	other := spantest.New("other")
	run := other.Run("kubectl apply -f secret-plan.yaml", 0, 900)
	other.Deployment(run, 0, 900)
	application := spantest.Ref("argoproj.io", "Application", "hidden")
	hidden := other.Add(run, "reconcile Application", "argocd", application, 0, 900)
	hidden.Object.Namespace = "argocd"
	v.Put(t, asOf, viewtest.Traces{Finished: []*span.Trace{shared}, Open: []*span.Trace{other.Trace}})
	s := start(t, v)
	s.Access = func(*http.Request) (store.Access, error) {
		return store.NewGate(v, v.Project).For(store.Scope{Namespaces: []string{"default"}}), nil
	}
	times := "query.start_time_min=2026-01-01T00:00:00Z&query.start_time_max=2027-01-01T00:00:00Z"
	for path, want := range map[string]string{
		"/api/v3/traces/" + other.Trace.ID.String():            "reconcile Deployment",
		"/api/v3/traces?query.service_name=&" + times:          "reconcile Deployment",
		"/api/v3/trace-summaries?query.service_name=&" + times: other.Trace.ID.String(),
		"/api/v3/traces?query.service_name=argocd&" + times:    "",
		"/api/v3/services": "deployment-controller",
		"/api/v3/operations?service=deployment-controller":         "reconcile Deployment",
		"/api/v3/operations?service=argocd":                        "",
		"/api/traces/" + other.Trace.ID.String():                   "reconcile Deployment",
		"/api/traces?service=argocd&lookback=custom&start=1&end=9": "",
	} {
		res, body := s.get(t, s.url+path)
		text := string(body)
		if !strings.Contains(text, want) || strings.Contains(text, "secret-plan") || strings.Contains(text, "argocd") ||
			strings.Contains(text, "Application") || strings.Contains(text, hidden.ID.String()) {
			t.Errorf("%s: status %d, want %q: %.600s", path, res.StatusCode, want, body)
		}
	}
}
