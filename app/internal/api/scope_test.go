// SPDX-License-Identifier: Apache-2.0

package api

import (
	"net/http"
	"strings"
	"testing"

	"go.opentelemetry.io/otel/trace"

	"github.com/kube-lifeline/lifeline/app/internal/span"
	"github.com/kube-lifeline/lifeline/app/internal/span/spantest"
	"github.com/kube-lifeline/lifeline/app/internal/store"
	"github.com/kube-lifeline/lifeline/app/internal/view/viewtest"
)

// TestScope: every path has the data of the sender's scope only. The sender "shop" may read one
// namespace, and "all" everything.
func TestScope(t *testing.T) {
	inside := spantest.Apply()
	outside := spantest.New("outside")
	root := outside.Deployment(nil, 0, 100)
	root.Object.Namespace = "elsewhere"
	root.Links = []span.Link{{TraceID: inside.ID, SpanID: inside.Root().ID}}
	v := viewtest.New(t)
	v.Put(t, asOf, viewtest.Traces{Finished: []*span.Trace{inside, outside.Trace}})
	s := start(t, Options{
		Access: within(v, func(r *http.Request) store.Scope {
			if r.Header.Get("User") == "all" {
				return store.Scope{}
			}
			return store.Scope{Clusters: []string{"cluster-1"}, Namespaces: []string{"default", ""}}
		}),
		Problems: sampleProblems(),
		Sources:  func() Sources { return Sources{Receives: Receives{AuditLog: "elsewhere"}} },
	})
	v.Cluster = "cluster-1"
	in, out := inside.ID.String(), outside.Trace.ID.String()
	paths := map[string][2]int{ // of a scope, and of everything
		"/info":                             {200, 200},
		"/sources":                          {403, 200},
		"/problems":                         {200, 200},
		"/problems?namespace=elsewhere":     {200, 200},
		"/traces":                           {200, 200},
		"/traces?namespace=elsewhere":       {200, 200},
		"/traces/" + in:                     {200, 200},
		"/traces/" + out:                    {404, 200},
		"/traces/" + out[:8]:                {404, 200},
		"/traces/" + in + "/causes":         {200, 200},
		"/traces/" + out + "/causes":        {200, 200},
		"/density":                          {200, 200},
		"/traces/" + in + "/tree":           {200, 200},
		"/traces/" + out + "/tree":          {404, 200},
		"/writes":                           {200, 200},
		"/writes?traceId=" + out:            {200, 200},
		"/writes?namespace=elsewhere":       {200, 200},
		"/traces?outcome=converged":         {200, 200},
		"/traces/" + out[:8] + "/causes":    {404, 200},
		"/lifecycles":                       {200, 200},
		"/lifecycles?where=true":            {200, 200},
		"/traces?where=true":                {200, 200},
		"/groups":                           {200, 200},
		"/groups?by=namespace":              {200, 200},
		"/fields":                           {200, 200},
		"/traces/" + in + "/why":            {200, 200},
		"/traces/" + out + "/why":           {404, 200},
		"/traces/" + in + "/find?text=web":  {200, 200},
		"/traces/" + out + "/find?text=web": {404, 200},
		"/traces/" + out + "/find":          {400, 400},
	}
	ofSpan := strings.NewReplacer("{traceID}", out, "{spanID}", root.ID.String())
	paths[ofSpan.Replace("/traces/{traceID}/spans/{spanID}")] = [2]int{404, 200}
	for _, to := range routes {
		if _, tested := paths["/"+ofSpan.Replace(to.path)]; !tested {
			t.Errorf("%s is not tested", to.path)
		}
	}
	for path, codes := range paths {
		res, body := s.get(t, "/api/v1"+path)
		if res.StatusCode != codes[0] || strings.Contains(string(body), "elsewhere") ||
			strings.Contains(string(body), out) || strings.Contains(string(body), root.ID.String()) {
			t.Errorf("%s: status %d, want %d: %s", path, res.StatusCode, codes[0], body)
		}
		all := func(r *http.Request) { r.Header.Set("User", "all") }
		if res, body := s.get(t, "/api/v1"+path, all); res.StatusCode != codes[1] {
			t.Errorf("%s of everything: status %d, want %d: %s", path, res.StatusCode, codes[1], body)
		}
	}
	var info Info
	if s.into(t, "/api/v1/info", &info); info.Stats.Traces != 1 || info.Stats.Bytes != 0 {
		t.Errorf("counted %+v, want one trace", info.Stats)
	}
}

// TestStreamScope: a stream has the traces of the scope. A trace that gets an object outside is
// withdrawn.
func TestStreamScope(t *testing.T) {
	s := start(t, Options{Access: within(nil, func(*http.Request) store.Scope {
		return store.Scope{Clusters: []string{"cluster-1"}, Namespaces: []string{"default"}}
	})})
	open := func(traces ...*span.Trace) {
		var updates []Update
		for _, one := range traces {
			updates = append(updates, Update{Trace: one, Open: true, AsOf: asOf})
		}
		s.hub.Publish(updates)
	}
	outside := spantest.Rollout() // it has an object in "backend"
	open(outside, spantest.Unschedulable())
	l := s.listen(t, "")
	for _, want := range []string{"trace unschedulable open", "synced"} {
		if got := l.next(); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
	moved := *spantest.Unschedulable()
	further := *moved.Spans[0]
	further.ID, further.Object.Namespace = trace.SpanID{9}, "backend"
	moved.Spans = append(moved.Spans, &further)
	open(outside, &moved)
	if got := l.next(); !strings.HasPrefix(got, "withdrawn unschedulable") {
		t.Errorf("got %q after the trace got an object outside", got)
	}
	foreign := start(t, Options{Access: within(nil, func(*http.Request) store.Scope {
		return store.Scope{Clusters: []string{"another"}}
	})})
	foreign.hub.Publish([]Update{{Trace: spantest.Unschedulable(), Open: true, AsOf: asOf}})
	if got := foreign.listen(t, "").next(); got != "synced" {
		t.Errorf("of another cluster: got %q", got)
	}
}
