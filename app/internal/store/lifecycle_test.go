// SPDX-License-Identifier: Apache-2.0

package store_test

import (
	"errors"
	"io"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"

	"github.com/kube-lifeline/lifeline/app/internal/lifecycle"
	"github.com/kube-lifeline/lifeline/app/internal/object"
	"github.com/kube-lifeline/lifeline/app/internal/observation"
	"github.com/kube-lifeline/lifeline/app/internal/question"
	"github.com/kube-lifeline/lifeline/app/internal/span"
	"github.com/kube-lifeline/lifeline/app/internal/span/spantest"
	"github.com/kube-lifeline/lifeline/app/internal/store"
)

// pod returns a trace of a Pod with two overlapping pulls, a backoff that is open or not, and a
// readiness.
func pod(end int, facts *span.Facts) *span.Trace {
	b := spantest.New("pod")
	ref := spantest.Ref("", "Pod", "web-1")
	set := b.Add(
		nil,
		"reconcile ReplicaSet",
		"replicaset-controller",
		spantest.Ref("apps", "ReplicaSet", "web"),
		0,
		end,
	)
	s := b.Add(set, "reconcile Pod", "kubelet", ref, 100, end, span.KeyNode.String("node-1"),
		span.KeyZone.String("zone-a"), span.KeyRegion.String("eu"), span.KeyInstanceType.String("m7i.large"),
		span.KeyRuntime.String("containerd"), span.KeyRuntimeVersion.String("2.3.7"),
		span.KeyActor.String("replicaset-controller"), span.KeyRevision.String("7"),
		span.KeyFields.StringSlice([]string{"spec.replicas", "spec.paused"}))
	s.Facts = facts
	s.Events = []span.Event{{Time: spantest.At(100).Time, Name: span.EventWrite, Attributes: []attribute.KeyValue{
		span.KeyVerb.String("create"),
	}}}
	b.Add(s, "sandbox", "kubelet", ref, 100, 300, span.KeyVolumes.Int(3))
	b.Add(s, "pull image", "kubelet", ref, 300, 1300, span.KeyImage.String("nginx:1"))
	b.Add(s, "pull image", "kubelet", ref, 800, 1800, span.KeyImage.String("envoy:1"))
	b.Add(s, "pull image", "kubelet", ref, 3000, 3500, span.KeyImage.String("nginx:1"))
	b.Add(s, "readiness", "kubelet", ref, 4000, end)
	if end >= 0 {
		set.Outcome, s.Outcome = span.Converged, span.Converged
	}
	return b.Trace
}

// TestLifecyclesOf: data, and lengths of phases that overlap or are open.
func TestLifecyclesOf(t *testing.T) {
	facts := &span.Facts{
		Verb:     "create",
		Reason:   "crash_loop",
		Workload: "Deployment/web",
		Labels:   []object.Label{{Key: "app", Value: "web"}},
		Pod: &span.PodFacts{
			Volumes: 2,
			Node:    "node-2",
			Zone:    "zone-b",
			Images:  []string{"nginx:1", "b:1", "nginx:1"},

			Restarts: 2, Ended: true, ExitCode: 137,
		},
	}
	base := question.Lifecycle{
		Trace: spantest.New("pod").Trace.ID, Object: spantest.Ref("", "Pod", "web-1"), Start: spantest.At(100).Time,
		Values: map[string]any{
			"verb": "create", "actor": "replicaset-controller", "workload": "Deployment/web", "reason": "crash_loop",
			"author": "replicaset-controller",
			"labels": map[string]string{"app": "web"}, "volumes": int64(2), "images": []string{"b:1", "nginx:1"},
			"node": "node-2", "zone": "zone-b", "region": "eu", "instance_type": "m7i.large",
			"runtime": "containerd://2.3.7", "restarts": int64(2), "exit_code": int64(137), "revision": "7",
			"changed": []string{"spec.paused", "spec.replicas"},
		},
	}
	base.Object.Version = ""
	steps := func(ready time.Time) []question.Step {
		step := func(phase string, from, to int) question.Step {
			return question.Step{Phase: phase, Start: spantest.At(from).Time, End: spantest.At(to).Time}
		}
		last := step("readiness", 4000, 0)
		last.End = ready
		return []question.Step{
			step("sandbox", 100, 300), step("pull", 300, 1300), step("pull", 800, 1800), step("pull", 3000, 3500), last,
		}
	}
	base.Steps = steps(spantest.At(5000).Time)
	ms := func(n int) time.Duration { return time.Duration(n) * time.Millisecond }
	for name, tc := range map[string]struct {
		reason string
		trace  *span.Trace
		want   func(l *question.Lifecycle)
	}{
		"converged": {"time in common counts once", pod(5000, facts), func(l *question.Lifecycle) {
			l.Outcome, l.Duration = "converged", ms(4900)
			l.Phases = map[string]time.Duration{
				"sandbox": ms(200), "pull": ms(2000), "readiness": ms(1000), "startup": ms(4900),
			}
		}},
		"open": {"it is not ready", pod(-1, facts), func(l *question.Lifecycle) {
			l.Duration, l.Steps = ms(9900), steps(time.Time{})
			l.Phases = map[string]time.Duration{"sandbox": ms(200), "pull": ms(2000), "readiness": ms(6000)}
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Log(tc.reason)
			want := base
			tc.want(&want)
			got := store.LifecyclesOf(tc.trace, spantest.At(10_000).Time)
			if len(got) != 2 {
				t.Fatalf("%d lifecycles, want 2", len(got))
			}
			if d := cmp.Diff(want, got[1].Lifecycle); d != "" {
				t.Errorf("-want +got:\n%s", d)
			}
			if got[1].Span != tc.trace.Spans[1].ID {
				t.Errorf("span %s", got[1].Span)
			}
			if got[0].Steps != nil {
				t.Errorf("the steps of the Pod are those of its ReplicaSet, too: %v", got[0].Steps)
			}
		})
	}
}

// TestLifecyclesOfOthers: spans of other components and second spans with an ID are no lifecycles. A
// cycle of parents has no end.
func TestLifecyclesOfOthers(t *testing.T) {
	tr := pod(5000, nil)
	foreign := *tr.Spans[1]
	foreign.ID, foreign.Origin = trace.SpanID{1}, &span.Origin{}
	again := *tr.Spans[1]
	a, b := *tr.Spans[2], *tr.Spans[2]
	a.ID, b.ID = trace.SpanID{2}, trace.SpanID{3}
	a.Parent, b.Parent = b.ID, a.ID
	want := store.LifecyclesOf(tr, spantest.Epoch)
	tr.Spans = append(tr.Spans, &foreign, &again, &a, &b)
	if d := cmp.Diff(want, store.LifecyclesOf(tr, spantest.Epoch)); d != "" {
		t.Errorf("-without +with:\n%s", d)
	}
}

// TestFactsOfRecordings: the engine gives the data of Pods on a real node.
func TestFactsOfRecordings(t *testing.T) {
	in, err := observation.Open("../lifecycle/testdata/create.real.jsonl.gz")
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	e := lifecycle.New(lifecycle.Options{Cluster: "recorded"})
	var last time.Time
	for {
		o, err := in.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		if o.State != nil && o.State.Pod != nil {
			o.State.Labels = []object.Label{{Key: "app", Value: "x"}}
		}
		e.Observe(o)
		last = o.Seen
	}
	pods := 0
	for _, tr := range e.Traces(last.Add(time.Minute)) {
		for _, l := range store.LifecyclesOf(tr, last) {
			if l.Object.Kind.Kind != "Pod" {
				continue
			}
			pods++
			ready := l.Phases["startup"]
			for _, name := range []string{"workload", "volumes", "images", "node"} {
				if l.Values[name] == nil {
					t.Errorf("%s has no %s", l.Object, name)
				}
			}
			labels, _ := l.Values["labels"].(map[string]string)
			if l.Text("verb") != "create" || labels["app"] != "x" ||
				l.Outcome == "converged" && (ready <= 0 || ready > l.Duration) {
				t.Errorf("%+v", l)
			}
		}
	}
	if pods == 0 {
		t.Error("no Pods")
	}
}
