// SPDX-License-Identifier: Apache-2.0

package api

import (
	"context"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"go.opentelemetry.io/otel/trace"

	"github.com/kube-lifeline/lifeline/app/internal/object"
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
	for _, s := range outside.Trace.Spans {
		s.Object.Namespace = "elsewhere"
	}
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
		Info:     func() Info { return Info{Identity: "elsewhere-0", Namespaces: []string{"default", "elsewhere"}} },
		Sources:  func() Sources { return Sources{Receives: Receives{AuditLog: "elsewhere"}} },
	})
	v.Cluster = "cluster-1"
	in, out := inside.ID.String(), outside.Trace.ID.String()
	paths := map[string][2]int{ // of a scope, and of everything
		"/info":                          {200, 200},
		"/sources":                       {403, 200},
		"/problems":                      {200, 200},
		"/problems?namespace=elsewhere":  {200, 200},
		"/traces":                        {200, 200},
		"/traces?namespace=elsewhere":    {200, 200},
		"/traces/" + in:                  {200, 200},
		"/traces/" + out:                 {404, 200},
		"/traces/" + out[:8]:             {404, 200},
		"/traces/" + in + "/causes":      {200, 200},
		"/traces/" + out + "/causes":     {200, 200},
		"/density":                       {200, 200},
		"/traces/" + in + "/tree":        {200, 200},
		"/traces/" + out + "/tree":       {404, 200},
		"/writes":                        {200, 200},
		"/writes?traceId=" + out:         {200, 200},
		"/writes?namespace=elsewhere":    {200, 200},
		"/traces?outcome=converged":      {200, 200},
		"/traces/" + out[:8] + "/causes": {404, 200},
		"/lifecycles":                    {200, 200},
		"/lifecycles?where=true":         {200, 200},
		"/traces?where=true":             {200, 200},
		"/groups":                        {200, 200},
		"/groups?by=namespace":           {200, 200},
		"/fields":                        {200, 200},
		"/regressions":                   {200, 200},
		"/regressions?workload=Deployment/web&namespace=elsewhere": {200, 200},
		"/compare":                           {400, 400},
		"/compare?where=true&and=true":       {200, 200},
		"/compare?a=" + in + "&b=" + out:     {404, 200},
		"/compare?a=" + out[:8] + "&b=" + in: {404, 200},
		"/compare?where=true&change=" + out:  {404, 200},
		"/traces/" + in + "/why":             {200, 200},
		"/traces/" + out + "/why":            {404, 200},
		"/traces/" + in + "/find?text=web":   {200, 200},
		"/traces/" + out + "/find?text=web":  {404, 200},
		"/traces/" + out + "/find":           {400, 400},
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
	if len(info.Namespaces) != 1 {
		t.Errorf("the server watches %v", info.Namespaces)
	}
}

// TestStreamScope: a stream has what the scope permits of each trace. Work of hidden objects makes no events.
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
	outside := spantest.Rollout()
	for _, s := range outside.Spans {
		if s.Object != (object.Ref{}) {
			s.Object.Namespace = "backend"
		}
	}
	open(outside, spantest.Unschedulable())
	l := s.listen(t, "")
	l.want("trace unschedulable open", "synced")
	more := func(of *span.Trace, n byte, namespace string) *span.Trace {
		out := *of
		further := *of.Spans[0]
		further.ID, further.Parent, further.Object.Namespace = trace.SpanID{n}, of.Spans[0].ID, namespace
		out.Spans = append(slices.Clone(of.Spans), &further)
		return &out
	}
	shared := more(spantest.Unschedulable(), 9, "backend")
	open(outside, shared)
	l.want("trace unschedulable open") // a part of it is hidden from now on
	open(outside, more(shared, 10, "backend"))
	open(more(more(shared, 10, "backend"), 11, "default"))
	if data := l.data(); strings.Contains(data, "backend") || !strings.Contains(data, `"0b00000000000000"`) {
		t.Errorf("got %s, want the second version with the last span", data)
	}
	foreign := start(t, Options{Access: within(nil, func(*http.Request) store.Scope {
		return store.Scope{Clusters: []string{"another"}}
	})})
	foreign.hub.Publish([]Update{{Trace: spantest.Unschedulable(), Open: true, AsOf: asOf}})
	if got := foreign.listen(t, "").next(); got != "synced" {
		t.Errorf("of another cluster: got %q", got)
	}
}

// TestStreamPlace: the IDs of events tell nothing about the updates of hidden traces.
func TestStreamPlace(t *testing.T) {
	s := start(t, Options{Access: within(nil, func(*http.Request) store.Scope {
		return store.Scope{Namespaces: []string{"default"}}
	})})
	outside := spantest.Rollout()
	for _, s := range outside.Spans {
		if s.Object != (object.Ref{}) {
			s.Object.Namespace = "backend"
		}
	}
	s.hub.Publish([]Update{opened(spantest.Unschedulable())})
	l := s.listen(t, "")
	l.want("trace unschedulable open", "synced")
	place := l.place()
	for i := range 10 {
		s.hub.Publish([]Update{opened(outside)})
		of := spantest.Unschedulable()
		of.Root().Message = strconv.Itoa(i)
		s.hub.Publish([]Update{opened(of)})
		for l.in.Scan() && !strings.HasPrefix(l.in.Text(), "data: ") {
			if strings.HasPrefix(l.in.Text(), "id: ") {
				t.Errorf("after %q came %q", place, l.in.Text())
			}
		}
	}
	s.open(t, "watch", place).want("resync", "trace unschedulable open", "synced")
}

// TestStreamAmended: a claim about a hidden object makes no event.
func TestStreamAmended(t *testing.T) {
	of := spantest.Rollout()
	claim := *of.Root()
	claim.ID, claim.Parent, claim.Name, claim.Outcome = trace.SpanID{9}, of.Root().ID, span.NameAmend, span.Converged
	claim.Object = spantest.Ref("apps", "Deployment", "claimed")
	of.Spans = append(of.Spans, &claim)
	for _, tc := range []struct{ namespace, want string }{{"backend", "synced"}, {"default", "amended rollout"}} {
		claim.Object.Namespace = tc.namespace
		reader := &faulty{trace: func(context.Context, trace.TraceID) (*store.Record, error) {
			return &store.Record{Summary: store.Summarize(of, asOf), Trace: of}, nil
		}}
		s := start(t, Options{Access: within(reader, func(*http.Request) store.Scope {
			return store.Scope{Namespaces: []string{"default"}}
		})})
		s.hub.Publish([]Update{{Trace: &span.Trace{ID: of.ID}, Amended: true, AsOf: asOf}})
		l := s.open(t, "watch?ended="+asOf.Add(-time.Hour).Format(time.RFC3339), "")
		l.want("resync")
		if got := l.next(); got != tc.want {
			t.Errorf("a claim in %s: got %q, want %q", tc.namespace, got, tc.want)
		}
	}
}
