// SPDX-License-Identifier: Apache-2.0

package scheduler_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// tree prints the attempts, each span below its parent, in the order of their starts.
func tree(all []sdktrace.ReadOnlySpan) string {
	all = slices.Clone(all)
	slices.SortStableFunc(all, func(a, b sdktrace.ReadOnlySpan) int { return a.StartTime().Compare(b.StartTime()) })
	var out strings.Builder
	var add func(parent sdktrace.ReadOnlySpan, indent string)
	add = func(parent sdktrace.ReadOnlySpan, indent string) {
		out.WriteString(indent + parent.Name() + "\n")
		for _, s := range all {
			if s.Parent().SpanID() == parent.SpanContext().SpanID() {
				add(s, indent+"  ")
			}
		}
	}
	for _, s := range all {
		if s.Name() == "scheduling attempt" {
			add(s, "")
		}
	}
	return out.String()
}

// named returns the first span of a name.
func named(t *testing.T, all []sdktrace.ReadOnlySpan, name string) sdktrace.ReadOnlySpan {
	t.Helper()
	for _, s := range all {
		if s.Name() == name {
			return s
		}
	}
	t.Fatalf("no span %q in\n%s", name, tree(all))
	return nil
}

// want compares the named attributes of a span with their text.
func want(t *testing.T, s sdktrace.ReadOnlySpan, attributes map[string]string) {
	t.Helper()
	got := map[string]string{}
	for _, kv := range s.Attributes() {
		if _, wanted := attributes[string(kv.Key)]; wanted {
			got[string(kv.Key)] = kv.Value.String()
		}
	}
	if diff := cmp.Diff(attributes, got); diff != "" {
		t.Errorf("%s: -want +got\n%s", s.Name(), diff)
	}
}

func has(s sdktrace.ReadOnlySpan, key string) bool {
	return slices.ContainsFunc(s.Attributes(), func(kv attribute.KeyValue) bool { return string(kv.Key) == key })
}

func TestABoundPod(t *testing.T) {
	c := start(t, settings{traced: true, objects: []runtime.Object{
		node("a", "4", "8Gi"), node("b", "2", "8Gi"), node("c", "2", "8Gi", tainted),
		pod("web-1", "1", "1Gi", withContext("01")),
	}})
	if got := c.waitBound(1)["uid-web-1"]; got != "a" {
		t.Errorf("bound to %q, want a, the node with the most free processors", got)
	}
	all := c.spans(1)
	wanted := `scheduling attempt
  queue wait
  scheduling cycle
    PreFilter
      PreFilter NodeName
      PreFilter NodeUnschedulable
      PreFilter TaintToleration
      PreFilter NodeResourcesFit
    Filter
      Filter NodeName
      Filter NodeUnschedulable
      Filter TaintToleration
      Filter NodeResourcesFit
    PreScore
      PreScore TaintToleration
      PreScore NodeResourcesFit
      PreScore VolumeBinding
      PreScore NodeResourcesBalancedAllocation
    Score
      Score TaintToleration
      Score NodeResourcesFit
      Score VolumeBinding
      Score DynamicResources
      Score NodeResourcesBalancedAllocation
      Score ImageLocality
    Reserve
      Reserve VolumeBinding
      Reserve DynamicResources
  binding cycle
    Bind
      Bind DefaultBinder
`
	if diff := cmp.Diff(wanted, tree(all)); diff != "" {
		t.Errorf("the tree: -want +got\n%s", diff)
	}
	attempt := named(t, all, "scheduling attempt")
	if p := attempt.Parent(); p.SpanID().String() != parentSpan || !p.IsRemote() {
		t.Errorf("the parent is %s, want the Pod's context", p.SpanID())
	}
	want(t, attempt, map[string]string{
		"k8s.pod.uid":           "uid-web-1",
		"k8s.scheduler.outcome": "bound",
		"k8s.node.name":         "a",
		"k8s.scheduler.attempt": "1",
	})
	want(t, named(t, all, "Filter"), map[string]string{
		"k8s.scheduler.nodes.evaluated": "3", "k8s.scheduler.nodes.feasible": "2",
	})
	want(t, named(t, all, "Filter TaintToleration"), map[string]string{
		"k8s.scheduler.calls": "3", "k8s.scheduler.nodes.rejected": "1",
		"k8s.scheduler.reject.reasons":  `["node(s) had untolerated taint(s)"]`,
		"k8s.scheduler.reject.counts":   "[1]",
		"k8s.scheduler.reject.examples": `["c"]`,
	})
	want(t, named(t, all, "Score"), map[string]string{
		"k8s.node.name": "a", "k8s.scheduler.score": "452", "k8s.scheduler.score.equal": "0",
		"k8s.scheduler.score.second_node": "b", "k8s.scheduler.score.second": "433",
	})
	want(t, named(t, all, "Score NodeResourcesFit"), map[string]string{
		"k8s.scheduler.score": "81", "k8s.scheduler.score.second": "68",
	})
	for _, s := range all {
		if s.Status().Code != codes.Unset || s.EndTime().Before(s.StartTime()) {
			t.Errorf("%s: status %v, from %v to %v", s.Name(), s.Status(), s.StartTime(), s.EndTime())
		}
	}
}

func TestSampling(t *testing.T) {
	for name, test := range map[string]struct {
		reason  string
		context func(*corev1.Pod)
		sampler sdktrace.Sampler
		sampled bool
	}{
		"its context is not sampled": {
			reason: "the context decides", context: withContext("00"), sampler: sdktrace.AlwaysSample(),
		},
		"no context, and none begin": {
			reason:  "the sampler decides for a Pod without a context",
			context: func(*corev1.Pod) {}, sampler: sdktrace.ParentBased(sdktrace.NeverSample()),
		},
		"its context is sampled, and none begin": {
			reason: "the context decides", context: withContext("01"), sampled: true,
			sampler: sdktrace.ParentBased(sdktrace.NeverSample()),
		},
		"no context": {
			reason:  "the default samples it, to be joined by its UID",
			context: func(*corev1.Pod) {}, sampled: true,
		},
	} {
		t.Run(name, func(t *testing.T) {
			c := start(t, settings{traced: true, sampler: test.sampler, objects: []runtime.Object{
				node("a", "4", "8Gi"), pod("one", "1", "1Gi", test.context),
			}})
			c.waitBound(1)
			if test.sampled {
				c.spans(1)
				return
			}
			// A sampled Pod after it shows that the first one has ended.
			if _, err := c.client.CoreV1().Pods("default").Create(
				t.Context(),
				pod("two", "1", "1Gi"),
				metav1.CreateOptions{},
			); err != nil {
				t.Fatal(err)
			}
			c.waitBound(2)
			c.stop() // spans are made after the binding
			for _, s := range c.recorder.Ended() {
				if s.Name() == "scheduling attempt" &&
					slices.Contains(s.Attributes(), attribute.String("k8s.pod.uid", "uid-one")) {
					t.Errorf("the Pod has spans: %s", test.reason)
				}
			}
		})
	}
}

func TestNoNodeFits(t *testing.T) {
	objects := []runtime.Object{pod("big-1", "1", "64Gi")}
	for i := range 6 {
		objects = append(objects, node(fmt.Sprintf("small-%d", i), "4", "8Gi"))
	}
	for i := range 4 {
		objects = append(objects, node(fmt.Sprintf("tainted-%d", i), "4", "128Gi", tainted))
	}
	c := start(t, settings{traced: true, objects: objects})
	all := c.spans(1)
	attempt := named(t, all, "scheduling attempt")
	want(t, attempt, map[string]string{
		"k8s.scheduler.outcome": "unschedulable", "k8s.scheduler.rejectors": `["NodeResourcesFit","TaintToleration"]`,
	})
	if s := attempt.Status(); s.Code != codes.Error ||
		!strings.HasPrefix(
			s.Description,
			"0/10 nodes are available: 4 node(s) had untolerated taint(s), 6 Insufficient memory",
		) {
		t.Errorf("status %v, want the scheduler's message", s)
	}
	fit := named(t, all, "Filter NodeResourcesFit")
	want(t, fit, map[string]string{
		"k8s.scheduler.nodes.rejected": "6", "k8s.scheduler.reject.reasons": `["Insufficient memory"]`,
		"k8s.scheduler.reject.counts": "[6]",
	})
	for _, kv := range fit.Attributes() {
		if kv.Key == "k8s.scheduler.reject.examples" && strings.Count(kv.Value.AsStringSlice()[0], "small-") != 3 {
			t.Errorf("examples %v, want three nodes", kv.Value.AsStringSlice())
		}
	}
	named(t, all, "PostFilter DefaultPreemption")
	if strings.Contains(tree(all), "binding cycle") {
		t.Errorf("a Pod without a node has a binding cycle:\n%s", tree(all))
	}

	// A node for it: the second attempt knows why it waited.
	if _, err := c.client.CoreV1().Nodes().Create(
		t.Context(),
		node("large", "4", "128Gi"),
		metav1.CreateOptions{},
	); err != nil {
		t.Fatal(err)
	}
	c.waitBound(1)
	all = c.spans(2)
	var waits []sdktrace.ReadOnlySpan
	for _, s := range all {
		if s.Name() == "queue wait" {
			waits = append(waits, s)
		}
	}
	want(t, waits[len(waits)-1], map[string]string{
		"k8s.scheduler.queue.rejectors":    `["NodeResourcesFit","TaintToleration"]`,
		"k8s.scheduler.queue.event":        "NodeAdd",
		"k8s.scheduler.queue.event.object": "Node large",
	})
	if !has(waits[len(waits)-1], "k8s.scheduler.queue.event.plugin") || has(waits[0], "k8s.scheduler.queue.event") {
		t.Errorf("waits %v, %v: want the event of the second one only", waits[0].Attributes(),
			waits[len(waits)-1].Attributes())
	}
	if has(waits[0], "k8s.scheduler.queue.rejectors") {
		t.Error("the first wait has rejectors")
	}
}

// TestSeveralReasons: a node can have more than one reason, as in Kubernetes' message.
func TestSeveralReasons(t *testing.T) {
	c := start(t, settings{traced: true, objects: []runtime.Object{
		node("a", "4", "8Gi"), node("b", "4", "8Gi"), node("c", "64", "8Gi"), pod("big-1", "8", "64Gi"),
	}})
	all := c.spans(1)
	if s := named(t, all, "scheduling attempt").Status(); !strings.HasPrefix(
		s.Description, "0/3 nodes are available: 2 Insufficient cpu, 3 Insufficient memory",
	) {
		t.Errorf("status %v, want the scheduler's message", s)
	}
	want(t, named(t, all, "Filter NodeResourcesFit"), map[string]string{
		"k8s.scheduler.nodes.rejected": "3", "k8s.scheduler.reject.counts": "[3,2]",
		"k8s.scheduler.reject.reasons": `["Insufficient memory","Insufficient cpu"]`,
	})
}

// TestANominatedNode: the scheduler filters a nominated node before the others, and again if it is
// rejected.
func TestANominatedNode(t *testing.T) {
	big := pod("big-1", "1", "64Gi", func(p *corev1.Pod) { p.Status.NominatedNodeName = "a" })
	c := start(t, settings{traced: true, objects: []runtime.Object{
		node("a", "4", "8Gi"), node("b", "4", "8Gi"), big,
	}})
	all := c.spans(1)
	want(t, named(t, all, "Filter"), map[string]string{"k8s.scheduler.nodes.evaluated": "2"})
	want(t, named(t, all, "Filter NodeResourcesFit"), map[string]string{
		"k8s.scheduler.calls": "2", "k8s.scheduler.nodes.rejected": "2", "k8s.scheduler.reject.counts": "[2]",
	})
}

func TestAGate(t *testing.T) {
	gated := pod("gated-1", "1", "1Gi")
	gated.Spec.SchedulingGates = []corev1.PodSchedulingGate{{Name: "example.com/wait"}}
	c := start(t, settings{traced: true, objects: []runtime.Object{node("a", "4", "8Gi"), gated}})
	for { // until the queue has it behind its gate
		if _, summary := c.sched.SchedulingQueue.PendingPods(); strings.Contains(summary, "unschedulableEntities:1") {
			break
		}
		time.Sleep(time.Millisecond)
	}
	open := gated.DeepCopy()
	open.Spec.SchedulingGates, open.ResourceVersion = nil, "2"
	if _, err := c.client.CoreV1().Pods("default").Update(t.Context(), open, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	c.waitBound(1)
	all := c.spans(1)
	wait := named(t, all, "queue wait")
	want(t, wait, map[string]string{
		"k8s.scheduler.queue.rejectors":    `["SchedulingGates"]`,
		"k8s.scheduler.queue.event":        "TargetPodUpdatePodSchedulingGatesEliminated",
		"k8s.scheduler.queue.event.object": "Pod default/gated-1",
		"k8s.scheduler.queue.event.plugin": "SchedulingGates",
	})
	var events []string
	for _, e := range wait.Events() {
		events = append(events, e.Name)
	}
	slices.Sort(events)
	if !has(wait, "k8s.scheduler.queue.gated") || !slices.Equal(events, []string{"moved", "ungated"}) {
		t.Errorf("attributes %v, events %v: want the end of the gate", wait.Attributes(), events)
	}
	gate := named(t, all, "PreEnqueue SchedulingGates")
	if gate.Parent().SpanID() != wait.SpanContext().SpanID() || gate.StartTime().Before(wait.StartTime()) ||
		!gate.EndTime().Before(wait.EndTime()) || !gate.EndTime().After(gate.StartTime()) {
		t.Errorf("the gate is from %v to %v, the wait from %v to %v", gate.StartTime(), gate.EndTime(),
			wait.StartTime(), wait.EndTime())
	}
}

// withPriority sets the priority of a Pod, and on sets its node.
func withPriority(n int32) func(*corev1.Pod) {
	return func(p *corev1.Pod) { p.Spec.Priority = &n }
}

func on(node string) func(*corev1.Pod) {
	return func(p *corev1.Pod) { p.Spec.NodeName = node }
}

func TestPreemption(t *testing.T) {
	never := corev1.PreemptNever
	for name, test := range map[string]struct {
		reason    string
		objects   []runtime.Object
		preemptor []func(*corev1.Pod)
		want      map[string]string
	}{
		"one node": {
			reason:  "without another candidate there is no choice",
			objects: []runtime.Object{node("a", "4", "8Gi"), pod("low-1", "3", "1Gi", withPriority(1), on("a"))},
			want: map[string]string{
				"k8s.node.name": "a", "k8s.scheduler.nodes.evaluated": "1",
				"k8s.scheduler.preemption.candidates":        "1",
				"k8s.scheduler.preemption.decided_by":        "only_candidate",
				"k8s.scheduler.preemption.victims":           "1",
				"k8s.scheduler.preemption.victim.names":      `["default/low-1"]`,
				"k8s.scheduler.preemption.victim.priorities": "[1]",
			},
		},
		"two nodes": {
			reason: "the node whose highest victim has the lower priority is chosen",
			objects: []runtime.Object{
				node("a", "4", "8Gi"), pod("middle-1", "3", "1Gi", withPriority(5), on("a")),
				node("b", "4", "8Gi"), pod("low-1", "2", "1Gi", withPriority(1), on("b")),
				pod("low-2", "2", "1Gi", withPriority(2), on("b")),
				node("c", "1", "8Gi"), pod("low-3", "1", "1Gi", withPriority(1), on("c")),
			},
			want: map[string]string{
				"k8s.node.name": "b", "k8s.scheduler.nodes.evaluated": "2", // c is too small for the Pod
				"k8s.scheduler.preemption.candidates":           "2",
				"k8s.scheduler.preemption.candidate.nodes":      `["b","a"]`,
				"k8s.scheduler.preemption.candidate.victims":    "[2,1]",
				"k8s.scheduler.preemption.candidate.priorities": "[2,5]",
				"k8s.scheduler.preemption.candidate.violations": "[0,0]",
				"k8s.scheduler.preemption.decided_by":           "highest_priority",
				"k8s.scheduler.preemption.victims":              "2",
				"k8s.scheduler.preemption.victim.names":         `["default/low-2","default/low-1"]`,
				"k8s.scheduler.preemption.victim.priorities":    "[2,1]",
			},
		},
		"it may not preempt": {
			reason:  "the status says why there are no candidates",
			objects: []runtime.Object{node("a", "4", "8Gi"), pod("low-1", "3", "1Gi", withPriority(1), on("a"))},
			preemptor: []func(*corev1.Pod){func(p *corev1.Pod) {
				p.Spec.PreemptionPolicy = &never
			}},
			want: map[string]string{"k8s.scheduler.status": "Unschedulable"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			preemptor := pod("high-1", "3", "1Gi", append(test.preemptor, withPriority(100))...)
			c := start(t, settings{traced: true, objects: append(test.objects, preemptor)})
			all := c.spans(1)
			attempt := named(t, all, "scheduling attempt")
			want(t, attempt, map[string]string{"k8s.scheduler.outcome": "unschedulable"})
			plugin := named(t, all, "PostFilter DefaultPreemption")
			want(t, plugin, test.want)
			chosen := test.want["k8s.node.name"]
			if has(plugin, "k8s.scheduler.preemption.decided_by") != (chosen != "") {
				t.Errorf("attributes %v: %s", plugin.Attributes(), test.reason)
			}
			if chosen == "" {
				return
			}
			want(t, attempt, map[string]string{"k8s.scheduler.nominated_node": chosen})
			if test.want["k8s.scheduler.preemption.victims"] != "1" {
				return // on this fake client, the scheduler can miss the end of several victims, also without spans
			}
			if got := c.waitBound(1)["uid-high-1"]; got != chosen {
				t.Errorf("the Pod is on %s, want %s", got, chosen)
			}
		})
	}
}
