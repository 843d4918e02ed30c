// SPDX-License-Identifier: Apache-2.0

package api

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kube-lifeline/lifeline/app/internal/object"
	problems "github.com/kube-lifeline/lifeline/app/internal/problem"
	"github.com/kube-lifeline/lifeline/app/internal/span"
	"github.com/kube-lifeline/lifeline/app/internal/span/spantest"
	"github.com/kube-lifeline/lifeline/app/internal/store"
	"github.com/kube-lifeline/lifeline/app/internal/view/viewtest"
)

// deployment is a Deployment for problems.
func deployment(namespace, name string) object.Ref {
	return object.Ref{
		Kind: object.Kind{Group: "apps", Version: "v1", Kind: "Deployment"}, Namespace: namespace, Name: name,
		UID: types.UID(namespace + "/" + name),
	}
}

// failing is an object whose problem began at a minute.
func failing(o object.Ref, minute int, of, text string) *problems.Failing {
	return &problems.Failing{
		Object: o, Category: "image_not_found", Text: text,
		Key: problems.Grouping{Category: "image_not_found", Of: of}, Rank: 2,
		Onset: problems.Onset{At: asOf.Add(time.Duration(minute-60) * time.Minute)},
		Next:  "lifeline why deployment/" + o.Name,
	}
}

// tracked is a hub with these problems.
func tracked(all ...*problems.Failing) *ProblemHub {
	h := &ProblemHub{}
	h.Publish(snapshot(all...))
	return h
}

func snapshot(all ...*problems.Failing) *problems.Snapshot {
	t := problems.NewTracker("cluster-1")
	for _, f := range all {
		t.Lacks(f, asOf)
	}
	return t.Snapshot(asOf)
}

// sampleProblems has two problems: two Deployments of two namespaces lack an image, and one is behind a webhook.
func sampleProblems() *ProblemHub {
	webhook := failing(deployment("default", "web"), 5, "webhook", `is refused by webhook "check.example.com"`)
	webhook.Blamed = &object.Ref{Kind: object.Kind{Version: "v1", Kind: "Webhook"}, Name: "check.example.com"}
	webhook.Shared = true
	webhook.Cause = &problems.Cause{TraceID: spantest.Apply().ID.String()}
	hidden := failing(deployment("elsewhere", "api"), 1, "image", "cannot pull image api:2")
	hidden.Cause = &problems.Cause{TraceID: spantest.New("outside").Trace.ID.String(), Who: "eve", Command: "apply"}
	return tracked(webhook, hidden, failing(deployment("shop", "api"), 2, "image", "cannot pull image api:2"))
}

// lines returns a line per problem.
func lines(l problems.List) []string {
	out := []string{}
	for _, p := range l.Problems {
		out = append(out, fmt.Sprintf("%d in %v: %s", p.Count, p.Namespaces, p.Reason))
	}
	if l.More > 0 {
		out = append(out, fmt.Sprint("more: ", l.More))
	}
	return out
}

// TestProblems: filters select objects; the others of a problem do not count.
func TestProblems(t *testing.T) {
	s := start(t, Options{Problems: sampleProblems()})
	const (
		api     = "2 in [elsewhere shop]: Deployment api cannot pull image api:2"
		shop    = "1 in [shop]: Deployment api cannot pull image api:2"
		webhook = `1 in [default]: Deployment web is refused by webhook "check.example.com"`
	)
	for query, want := range map[string][]string{
		"":                         {api, webhook},
		"?limit=1":                 {api, "more: 1"},
		"?namespace=shop":          {shop},
		"?uid=shop/api":            {shop},
		"?kind=Deployment":         {api, webhook},
		"?kind=Pod":                {},
		"?group=apps&name=web":     {webhook},
		"?namespace=shop&limit=1":  {shop},
		"?kind=Deployment&limit=1": {api, "more: 1"},
	} {
		var got problems.List
		s.into(t, "/api/v1/problems"+query, &got)
		if diff := cmp.Diff(want, lines(got)); diff != "" {
			t.Errorf("%s: -want +got:\n%s", query, diff)
		}
		if !got.AsOf.Equal(asOf) {
			t.Errorf("%s: as of %s", query, got.AsOf)
		}
	}
	res, body := start(t, Options{}).get(t, "/api/v1/problems")
	if res.StatusCode != http.StatusServiceUnavailable || !strings.Contains(string(body), "has just started") {
		t.Errorf("before the first look: %d %s", res.StatusCode, body)
	}
}

// TestProblemScope: an object outside the scope does not exist, nor does a change with such an object.
func TestProblemScope(t *testing.T) {
	v := viewtest.New(t)
	v.Cluster = "cluster-1"
	outside := spantest.New("outside")
	outside.Deployment(nil, 0, 100).Object.Namespace = "elsewhere"
	v.Put(t, asOf, viewtest.Traces{Finished: []*span.Trace{spantest.Apply(), outside.Trace}})
	scope := store.Scope{}
	s := start(t, Options{
		Problems: sampleProblems(), Access: within(v, func(*http.Request) store.Scope { return scope }),
	})
	for name, c := range map[string]struct {
		scope store.Scope
		want  []string
		cause bool
	}{
		"a namespace of three": {
			store.Scope{Namespaces: []string{"shop"}},
			[]string{"1 in [shop]: Deployment api cannot pull image api:2"},
			false,
		},
		"without objects without a namespace": {
			store.Scope{Namespaces: []string{"default"}},
			[]string{"1 in [default]: Deployment web does not have its desired state"},
			true,
		},
		"with them": {
			store.Scope{Namespaces: []string{"default", ""}},
			[]string{`1 in [default]: Deployment web is refused by webhook "check.example.com"`},
			true,
		},
		"a hidden change": {
			store.Scope{Namespaces: []string{"default"}, Except: []trace.TraceID{spantest.Apply().ID}},
			[]string{"1 in [default]: Deployment web does not have its desired state"},
			false,
		},
		"another cluster": {store.Scope{Clusters: []string{"another"}}, []string{}, false},
	} {
		scope = c.scope
		res, body := s.get(t, "/api/v1/problems")
		var got problems.List
		s.into(t, "/api/v1/problems", &got)
		if diff := cmp.Diff(c.want, lines(got)); diff != "" {
			t.Errorf("%s: -want +got:\n%s", name, diff)
		}
		cause := len(got.Problems) > 0 && got.Problems[0].Cause != nil
		if cause != c.cause || strings.Contains(string(body), "elsewhere") || strings.Contains(string(body), "eve") {
			t.Errorf("%s: %d %s", name, res.StatusCode, body)
		}
	}
}

// TestProblemCause: the traces complete a cause of which the engine has the ID only.
func TestProblemCause(t *testing.T) {
	edit := spantest.New("edit")
	root := edit.Add(nil, "reconcile Deployment", "deployment-controller", deployment("default", "web"), 0, 9000,
		span.KeyActorUser.String("jane"))
	root.Outcome = span.Failed
	root.Events = []span.Event{{
		Time: root.Start.Time, Name: span.EventWrite, Attributes: []attribute.KeyValue{span.KeyVerb.String("update")},
	}}
	for i, path := range []string{"spec.replicas", "spec.paused"} {
		spantest.Write(root, span.Write{
			Verb: "update", Part: "desired", ResourceVersion: int64(i + 10), End: spantest.At(i * 1000).Time,
			Changes: []span.FieldChange{{Path: path, Operation: "replace", From: "1", To: "2"}},
		})
	}
	v := viewtest.New(t)
	v.Put(t, asOf, viewtest.Traces{Finished: []*span.Trace{edit.Trace}})
	f := failing(deployment("default", "web"), 5, "image", "cannot pull image web:2")
	f.Cause = &problems.Cause{TraceID: edit.Trace.ID.String()}
	known := failing(deployment("default", "api"), 6, "other image", "cannot pull image api:2")
	known.Cause = &problems.Cause{TraceID: edit.Trace.ID.String(), Who: "kubectl", Command: "kubectl apply"}
	of := root.Object
	want := &problems.Cause{
		TraceID: edit.Trace.ID.String(), Start: root.Start.Time.UTC(), Who: "jane", Object: &of, Verb: "update",
		Fields: []string{"spec.replicas"},
	}
	hub := tracked(f, known)
	s := start(t, Options{Access: v.Access, Problems: hub})
	for range 2 { // the second is remembered
		var got problems.List
		s.into(t, "/api/v1/problems", &got)
		if diff := cmp.Diff(want, got.Problems[0].Cause); diff != "" {
			t.Errorf("-want +got:\n%s", diff)
		}
		if c := got.Problems[1].Cause; c.Who != "jane" || c.Object != nil {
			t.Errorf("the user of a later event: got %+v", c)
		}
	}
	id := problems.Cause{TraceID: edit.Trace.ID.String()}
	access, _ := v.Access(nil)
	if got := s.CompleteCause(t.Context(), access, id); !cmp.Equal(got, *want) {
		t.Errorf("alone: %s", cmp.Diff(*want, got))
	}
	if c := hub.Now().Problems[1].Cause; c.Who != "kubectl" {
		t.Errorf("the shared list has %+v", c)
	}
}
