// SPDX-License-Identifier: Apache-2.0

package api

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kube-lifeline/lifeline/app/internal/object"
	problems "github.com/kube-lifeline/lifeline/app/internal/problem"
	"github.com/kube-lifeline/lifeline/app/internal/span"
	"github.com/kube-lifeline/lifeline/app/internal/span/spantest"
	"github.com/kube-lifeline/lifeline/app/internal/view/viewtest"
)

// changed is a finished change of an object, from a second of the Epoch on, which took 30 s.
func changed(name string, of object.Ref, second int, outcome span.Outcome) *span.Trace {
	b := spantest.New(name)
	root := b.Add(nil, "reconcile Deployment", "deployment-controller", of, second*1000, second*1000+30_000)
	root.Outcome, b.Trace.Outcome = outcome, outcome
	return b.Trace
}

// TestNow: a list has the present state of an object beside the outcome of its newest change.
func TestNow(t *testing.T) {
	web, api, job := deployment("shop", "web"), deployment("shop", "api"), deployment("shop", "job")
	sure, gone, fine := deployment("shop", "sure"), deployment("shop", "gone"), deployment("shop", "fine")
	traces := []*span.Trace{
		changed("web-1", web, 1, span.Failed), changed("web-2", web, 40, span.Failed),
		changed("api", api, 2, span.Converged), changed("job", job, 3, span.Failed),
		changed("sure", sure, 4, span.Superseded), changed("gone", gone, 5, span.Deleted),
		changed("fine", fine, 6, span.Converged), changed("config", deployment("shop", "config"), 7, span.Converged),
		changed("command", object.Ref{}, 8, span.Converged),
	}
	hub := &ProblemHub{}
	tracker := problems.NewTracker("cluster-1")
	for of, since := range map[object.Ref]time.Time{
		web: spantest.At(1000).Time, api: spantest.At(32_000).Time, job: spantest.At(90_000).Time,
		sure: spantest.At(4000).Time, deployment("shop", "other"): spantest.At(8000).Time,
	} {
		f := failing(of, 0, of.Name, "fails")
		if f.Onset.At = since; of.Name == "other" {
			f.Cause = &problems.Cause{TraceID: traces[8].ID.String()}
		}
		tracker.Lacks(f, asOf)
	}
	stopped := failing(deployment("shop", "stopped"), 0, "stopped", "is over the quota")
	stopped.Cause = &problems.Cause{TraceID: traces[7].ID.String()}
	tracker.Lacks(stopped, asOf)
	hub.Publish(tracker.Snapshot(asOf))
	v := viewtest.New(t)
	v.Put(t, asOf, viewtest.Traces{Finished: traces})
	s := start(t, Options{Access: v.Access, Problems: hub})
	names := map[string]string{}
	for i, name := range []string{"web-1", "web-2", "api", "job", "sure", "gone", "fine", "config", "command"} {
		names[traces[i].ID.String()] = name
	}
	want := map[string]string{
		"web-2": "still: Deployment web fails", "api": "since: Deployment api fails",
		"job": "since: Deployment job fails", "command": "still: Deployment other fails",
	}
	for _, query := range []string{"", "?where=true&since=3650d"} {
		var page Page
		s.into(t, "/api/v1/traces"+query, &page)
		got := map[string]string{}
		for _, row := range page.Traces {
			if row.Now != nil {
				got[names[row.TraceID]] = row.Now.State + ": " + row.Now.Reason
			}
		}
		if diff := cmp.Diff(want, got); diff != "" || len(page.Traces) != len(traces) {
			t.Errorf("%q: %d traces; -want +got:\n%s", query, len(page.Traces), diff)
		}
	}
	for i, of := range traces {
		var doc struct{ Lifeline Detail }
		var tree Tree
		s.into(t, "/api/v1/traces/"+of.ID.String(), &doc)
		s.into(t, "/api/v1/traces/"+of.ID.String()+"/tree", &tree)
		for path, sum := range map[string]*Summary{"document": &doc.Lifeline.Summary, "tree": tree.Summary} {
			got := ""
			if sum.Now != nil {
				got = sum.Now.State + ": " + sum.Now.Reason
			}
			want := want[names[of.ID.String()]]
			if i == 0 {
				want = "still: Deployment web fails" // also beside an earlier change of the object
			}
			if got != want {
				t.Errorf("%s of %s: got %q, want %q", path, names[of.ID.String()], got, want)
			}
		}
	}
}
