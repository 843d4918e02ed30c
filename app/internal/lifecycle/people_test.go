// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.opentelemetry.io/otel/trace"

	"github.com/kube-lifeline/lifeline/app/internal/span"
)

// TestSeveralPeople replays a recording of several people who change the same objects, seconds
// apart, without an audit log. Each change is a separate trace. Its author is known unless the
// write left no mark: an uncordon and the removal of a label.
func TestSeveralPeople(t *testing.T) {
	seen := read(t, "testdata/several-people.kwok.jsonl.gz")
	var got []string
	ids := map[trace.TraceID]bool{}
	for _, tr := range observe(seen).Traces(seen[len(seen)-1].Seen.Add(time.Minute)) {
		root := tr.Root()
		if root.Object.Name == "kubernetes" { // the API server's own Service
			continue
		}
		if ids[tr.ID] {
			t.Errorf("two traces have the ID %s", tr.ID)
		}
		ids[tr.ID] = true
		author, fields := "-", "-"
		for _, kv := range root.Attributes {
			switch kv.Key {
			case span.KeyActor:
				author = kv.Value.AsString()
			case span.KeyFields:
				fields = strings.Join(kv.Value.AsStringSlice(), " ")
			}
		}
		got = append(got, fmt.Sprintf("%s %s: %s, %s", root.Object.Kind.Kind, author, fields, tr.Outcome))
	}
	want := []string{
		"ConfigMap user-a: -, converged",
		"Service user-a: -, converged",
		"Deployment user-a: -, converged",
		"Deployment user-a: metadata.labels.tier, converged",
		"Deployment user-b: metadata.labels.tier, converged",
		"Deployment user-c: metadata.labels.tier, converged",
		"Node user-a: spec.unschedulable, converged",
		"Node -: spec.unschedulable, converged",
		"Node user-b: spec.unschedulable, converged",
		"Node -: spec.unschedulable, converged",
		"Deployment user-a: spec.template.spec.containers[name=web].image, converged",
		"Deployment user-b: metadata.annotations.note, converged",
		"Deployment kubectl: spec.replicas, converged",
		"Deployment -: metadata.labels.tier, converged",
		"Deployment user-b: metadata.annotations.note, converged",
		"Deployment user-b: metadata.annotations.note, converged",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}

	// A server looks all the time, and hands out each trace once.
	e, at := New(Options{Cluster: "test"}), seen[0].Seen
	var taken []trace.TraceID
	look := func(until time.Time) {
		for ; at.Before(until); at = at.Add(500 * time.Millisecond) {
			for _, tr := range e.Take(at) {
				if tr.Root().Object.Name != "kubernetes" {
					taken = append(taken, tr.ID)
				}
			}
		}
	}
	for _, o := range seen {
		look(o.Seen)
		e.Observe(o)
	}
	look(at.Add(time.Minute))
	for _, id := range taken {
		if !ids[id] {
			t.Errorf("trace %s was handed out twice, or is not among those of the whole recording", id)
		}
		delete(ids, id)
	}
	if len(ids) > 0 {
		t.Errorf("%d traces were not handed out", len(ids))
	}
}

// TestForgottenVersion sends a version again that the engine has forgotten. It starts no trace.
func TestForgottenVersion(t *testing.T) {
	seen := read(t, "testdata/several-people.kwok.jsonl.gz")
	e, end := observe(seen), seen[len(seen)-1].Seen.Add(10*time.Minute)
	if len(e.Take(end)) == 0 {
		t.Fatal("no traces")
	}
	e.Take(end.Add(10 * time.Minute))
	for _, o := range seen {
		if o.State == nil || e.index.Objects()[o.State.UID] == nil {
			continue // it was forgotten altogether
		}
		again := *o
		again.Seen = end.Add(20 * time.Minute)
		again.Listed = true
		e.Observe(&again)
	}
	for _, tr := range e.Take(end.Add(40 * time.Minute)) {
		t.Errorf("trace %s of %s is handed out again", tr.ID, tr.Root().Object.Name)
	}
}
