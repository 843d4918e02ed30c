// SPDX-License-Identifier: Apache-2.0

package answer

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.opentelemetry.io/otel/attribute"

	"github.com/kube-lifeline/lifeline/app/internal/kind"
	"github.com/kube-lifeline/lifeline/app/internal/object"
	"github.com/kube-lifeline/lifeline/app/internal/reason"
	"github.com/kube-lifeline/lifeline/app/internal/span"
	"github.com/kube-lifeline/lifeline/app/internal/span/spantest"
	"github.com/kube-lifeline/lifeline/app/internal/store"
)

// scheduler adds the spans of a scheduler's attempts to a trace.
type scheduler struct {
	*spantest.Builder
	pod, phase *span.Span
}

// attempts returns the scheduler of the first Pod of a trace.
func attempts(t *span.Trace) scheduler {
	s := scheduler{Builder: &spantest.Builder{Trace: t}}
	for _, own := range t.Spans {
		switch {
		case s.pod == nil && own.Name == "reconcile Pod":
			s.pod, own.Object.UID = own, "uid-of-pod"
		case s.phase == nil && own.Name == span.NameSchedule:
			s.phase = own
		}
	}
	return s
}

func (s scheduler) add(parent *span.Span, name string, at int, attrs ...attribute.KeyValue) *span.Span {
	out := s.Builder.Add(parent, name, "kube-scheduler", object.Ref{}, at, at+5, attrs...)
	out.Origin = &span.Origin{Scope: span.Scope{Name: span.ScopeName + "/scheduler"}}
	out.ID[0], out.ID[1] = byte(len(s.Trace.Spans)), 0xa7
	return out
}

// attempt adds an attempt, and returns its cycle.
func (s scheduler) attempt(n int, outcome string, attrs ...attribute.KeyValue) *span.Span {
	root := s.add(s.phase, span.NameAttempt, 1000*n, append(attrs, span.KeyPodUID.String(string(s.pod.Object.UID)),
		span.KeyAttemptNumber.Int(n), span.KeyAttemptOutcome.String(outcome))...)
	return s.add(root, span.NameCycle, 1000*n)
}

// deployment is the span above the Pod's ReplicaSet.
func (s scheduler) deployment() *span.Span {
	return Reconciliation(s.Trace, spantest.Ref("apps", "Deployment", "web"))
}

func (s scheduler) filter(cycle *span.Span, all, evaluated, feasible int) *span.Span {
	attrs := []attribute.KeyValue{span.KeyNodesEvaluated.Int(evaluated), span.KeyNodesFeasible.Int(feasible)}
	if all > 0 {
		attrs = append(attrs, span.KeyNodesAll.Int(all))
	}
	return s.add(cycle, span.NameFilter, 1000, attrs...)
}

func (s scheduler) rejects(
	filter *span.Span, plugin string, total int, reasons []string, counts []int, nodes ...string,
) {
	s.add(filter, "Filter "+plugin, 1000, span.KeyPlugin.String(plugin), span.KeyNodesRejected.Int(total),
		span.KeyRejectReasons.StringSlice(reasons), span.KeyRejectCounts.IntSlice(counts),
		span.KeyRejectExamples.StringSlice(nodes))
}

// waits is a Pod without a node. message is that of its condition.
func waits(message string) (*span.Trace, scheduler) {
	t := spantest.Unschedulable()
	t.Reason = "Pod web-6cf-x7 cannot be scheduled: " + message + " (and 2 more)"
	for _, one := range t.Spans {
		for i := range one.Attributes {
			if kv := &one.Attributes[i]; kv.Key == span.KeyReasonMessage {
				kv.Value = attribute.StringValue(t.Reason)
			}
		}
	}
	s := attempts(t)
	condition, _, _ := strings.Cut(message, reason.Deadlock)
	s.phase.Message = condition + ". preemption: 0/100 nodes are available: 100 No preemption victims found."
	return t, s
}

const twoReasons = "0/100 nodes are available: 40 node(s) had untolerated taint(s), 60 Insufficient memory"

// refuse adds a failed attempt with the reasons of twoReasons.
func (s scheduler) refuse(n int) *span.Span {
	cycle := s.attempt(n, span.AttemptUnschedulable)
	filter := s.filter(cycle, 100, 100, 0)
	s.rejects(filter, "TaintToleration", 40, []string{"node(s) had untolerated taint(s)"}, []int{40},
		"node-61, node-62")
	s.rejects(filter, "NodeResourcesFit", 60, []string{"Insufficient memory"}, []int{60},
		"node-1, node-2, node-3, node-4")
	return cycle
}

// TestNoNodeFits: the reason of a Pod without a node has the reasons of the last attempt.
func TestNoNodeFits(t *testing.T) {
	const stays = "Pod web-6cf-x7 cannot be scheduled: 0/100 nodes are available: "
	for name, tc := range map[string]struct {
		reason  string
		message string
		spans   func(scheduler)
		want    string
	}{
		"two reasons": {
			message: twoReasons, spans: func(s scheduler) { s.refuse(1) },
			want: "Pod web-6cf-x7 (and 2 more) cannot be scheduled: no node of 100 fits: " +
				"60 lack memory (NodeResourcesFit), 40 have an untolerated taint (TaintToleration).",
		},
		"a deadlock": {
			message: twoReasons + reason.Deadlock + "web cannot continue", spans: func(s scheduler) { s.refuse(1) },
			want: "Pod web-6cf-x7 (and 2 more) cannot be scheduled: no node of 100 fits: " +
				"60 lack memory (NodeResourcesFit), 40 have an untolerated taint (TaintToleration); " +
				"the rollout of Deployment web cannot continue.",
		},
		"the last attempt": {
			message: twoReasons,
			spans: func(s scheduler) {
				s.refuse(2)
				s.rejects(s.filter(s.attempt(1, span.AttemptUnschedulable), 90, 90, 0), "NodePorts", 90,
					[]string{"node(s) didn't have free ports"}, []int{90})
			},
			want: "no node of 100 fits: 60 lack memory",
		},
		"left out before": {
			message: "0/100 nodes are available: 3 Insufficient cpu, " +
				"97 node(s) didn't satisfy plugin(s) [NodeAffinity]",
			spans: func(s scheduler) {
				cycle := s.attempt(1, span.AttemptUnschedulable)
				s.add(s.add(cycle, span.NamePreFilter, 1000), "PreFilter NodeAffinity", 1000,
					span.KeyPlugin.String("NodeAffinity"), span.KeyNodesKept.Int(3))
				s.rejects(s.filter(cycle, 100, 3, 0), "NodeResourcesFit", 3, []string{"Insufficient cpu"},
					[]int{3}, "node-1")
			},
			want: "no node of 100 fits: 97 were left out (NodeAffinity), 3 lack CPU (NodeResourcesFit).",
		},
		"one node": {
			message: "0/2 nodes are available: 1 Insufficient cpu, 1 node(s) had custom trouble",
			spans: func(s scheduler) {
				filter := s.filter(s.attempt(1, span.AttemptUnschedulable), 2, 2, 0)
				s.rejects(filter, "NodeResourcesFit", 1, []string{"Insufficient cpu"}, []int{1})
				s.rejects(filter, "Own", 1, []string{"node(s) had custom trouble"}, []int{1})
			},
			want: "no node of 2 fits: 1 lacks CPU (NodeResourcesFit), 1 had custom trouble (Own).",
		},
		"all at once": {
			message: "0/100 nodes are available: pod has unbound immediate PersistentVolumeClaims",
			spans: func(s scheduler) {
				cycle := s.attempt(1, span.AttemptUnschedulable)
				s.add(s.add(cycle, span.NamePreFilter, 1000), "PreFilter VolumeBinding", 1000,
					span.KeyPlugin.String("VolumeBinding"),
					span.KeyPluginMessage.String("pod has unbound immediate PersistentVolumeClaims"))
			},
			want: "no node fits: pod has unbound immediate PersistentVolumeClaims (VolumeBinding).",
		},
		"many reasons": {
			message: "0/100 nodes are available: 1 r0, 2 r1, 3 r2, 4 r3, 5 r4, 6 r5, 7 r6, 8 r7, 9 r8",
			spans: func(s scheduler) {
				filter := s.filter(s.attempt(1, span.AttemptUnschedulable), 100, 100, 0)
				for i := range 9 {
					s.rejects(filter, fmt.Sprint("P", i), i+1, []string{fmt.Sprint("r", i)}, []int{i + 1})
				}
			},
			want: "no node of 100 fits: 9 r8 (P8), 8 r7 (P7), 7 r6 (P6), 6 r5 (P5), and 5 more reasons.",
		},
		"one more reason": {
			message: "0/100 nodes are available: 1 r0, 2 r1, 3 r2, 4 r3, 5 r4",
			spans: func(s scheduler) {
				filter := s.filter(s.attempt(1, span.AttemptUnschedulable), 100, 100, 0)
				for i := range 5 {
					s.rejects(filter, fmt.Sprint("P", i), i+1, []string{fmt.Sprint("r", i)}, []int{i + 1})
				}
			},
			want: "2 r1 (P1), and 1 more reason.",
		},
		"an extender": {
			reason: "the extender rejected 2 of the 3 nodes that the keeper left",
			message: "0/10 nodes are available: 1 Insufficient cpu, 2 no GPU, " +
				"7 node(s) didn't satisfy plugin(s) [NodeAffinity]",
			spans: func(s scheduler) {
				cycle := s.attempt(1, span.AttemptUnschedulable)
				s.add(s.add(cycle, span.NamePreFilter, 1000), "PreFilter NodeAffinity", 1000,
					span.KeyPlugin.String("NodeAffinity"), span.KeyNodesKept.Int(3))
				filter := s.filter(cycle, 10, 3, 0)
				s.rejects(filter, "NodeResourcesFit", 1, []string{"Insufficient cpu"}, []int{1})
				s.add(filter, "Filter extender", 1000, span.KeyExtender.String("gpu.example:80"),
					span.KeyNodesRejected.Int(2), span.KeyRejectReasons.StringSlice([]string{"no GPU"}),
					span.KeyRejectCounts.IntSlice([]int{2}),
					span.KeyRejectExamples.StringSlice([]string{"node-1, node-2"}))
			},
			want: "no node of 10 fits: 7 were left out (NodeAffinity), 2 no GPU (extender gpu.example:80), " +
				"1 lacks CPU (NodeResourcesFit).",
		},
		"rejections without a reason": {
			reason:  "the only keeper left all nodes",
			message: "0/10 nodes are available: 4 Insufficient cpu",
			want:    "no node of 10 fits: 4 lack CPU (NodeResourcesFit).",
			spans: func(s scheduler) {
				cycle := s.attempt(1, span.AttemptUnschedulable)
				s.add(s.add(cycle, span.NamePreFilter, 1000), "PreFilter NodeAffinity", 1000,
					span.KeyPlugin.String("NodeAffinity"), span.KeyNodesKept.Int(10))
				s.rejects(s.filter(cycle, 10, 10, 0), "NodeResourcesFit", 4, []string{"Insufficient cpu"}, []int{4})
			},
		},
		"a second reason of the same nodes": {
			reason:  "the condition is about another attempt: the spans have all reasons of a node",
			message: "0/100 nodes are available: 100 Insufficient cpu, 100 Insufficient memory",
			spans: func(s scheduler) {
				filter := s.filter(s.attempt(1, span.AttemptUnschedulable), 100, 100, 0)
				s.rejects(filter, "NodeResourcesFit", 100, []string{"Insufficient cpu"}, []int{100})
			},
			want: "0/100 nodes are available: 100 Insufficient cpu, 100 Insufficient memory (and 2 more).",
		},
		"two reasons of the same nodes": {
			reason:  "the spans have all reasons of a node",
			message: "0/100 nodes are available: 100 Insufficient cpu, 100 Insufficient memory",
			spans: func(s scheduler) {
				filter := s.filter(s.attempt(1, span.AttemptUnschedulable), 100, 100, 0)
				s.rejects(filter, "NodeResourcesFit", 100, []string{"Insufficient cpu", "Insufficient memory"},
					[]int{100, 100})
			},
			want: "no node of 100 fits: 100 lack CPU (NodeResourcesFit), 100 lack memory (NodeResourcesFit).",
		},
		"more nodes since the attempt": {
			reason:  "the condition is about a later attempt",
			message: "0/10 nodes are available: 4 node(s) were unschedulable, 6 Insufficient memory",
			spans: func(s scheduler) {
				filter := s.filter(s.attempt(1, span.AttemptUnschedulable), 6, 6, 0)
				s.rejects(filter, "NodeResourcesFit", 6, []string{"Insufficient memory"}, []int{6})
			},
			want: "0/10 nodes are available: 4 node(s) were unschedulable",
		},
		"a reason more than the attempt has": {
			reason:  "the condition is about a later attempt",
			message: "0/10 nodes are available: 4 node(s) were unschedulable, 6 Insufficient memory",
			spans: func(s scheduler) {
				filter := s.filter(s.attempt(1, span.AttemptUnschedulable), 0, 6, 0)
				s.rejects(filter, "NodeResourcesFit", 6, []string{"Insufficient memory"}, []int{6})
			},
			want: "0/10 nodes are available: 4 node(s) were unschedulable",
		},
		"a later attempt without spans": {
			reason:  "the condition is about another attempt",
			message: "0/100 nodes are available: 41 node(s) had untolerated taint(s), 59 Insufficient memory",
			spans:   func(s scheduler) { s.refuse(1) }, want: stays + "41 node(s)",
		},
		"another Pod": {
			message: twoReasons,
			spans: func(s scheduler) {
				s.pod.Object.UID = "other"
				s.refuse(1)
				s.pod.Object.UID = "uid-of-pod"
			},
			want: stays,
		},
		"another scope": {
			message: twoReasons,
			spans: func(s scheduler) {
				s.refuse(1)
				for _, one := range s.Trace.Spans {
					if one.Origin != nil {
						one.Origin.Scope.Name = "other"
					}
				}
			},
			want: stays,
		},
		"a node fitted": {
			reason: "a plugin of Permit refused it", message: twoReasons,
			spans: func(s scheduler) { s.filter(s.attempt(1, span.AttemptUnschedulable), 0, 100, 1) }, want: stays,
		},
		"no spans": {message: twoReasons, spans: func(scheduler) {}, want: stays},
	} {
		t.Run(name, func(t *testing.T) {
			trace, s := waits(tc.message)
			tc.spans(s)
			a := Explain(trace, spantest.Ref("apps", "Deployment", "web"), now)
			if text := a.Text(now, "default"); a.State != Stuck || !strings.Contains(text, tc.want) {
				t.Errorf("%s: got %q, want %q in it", tc.reason, text, tc.want)
			}
			if detailed := !strings.Contains(tc.want, "are available"); (a.Attempt != nil) != detailed {
				t.Errorf("got %+v", a.Attempt)
			}
		})
	}
}

// TestNoNodeFitsElsewhere: the attempt is in no answer without its reason.
func TestNoNodeFitsElsewhere(t *testing.T) {
	for name, tc := range map[string]struct {
		of     object.Ref
		change func(scheduler)
	}{
		"another ReplicaSet": {
			of: spantest.Ref("apps", "ReplicaSet", "web-old"),
			change: func(s scheduler) {
				old := s.Add(s.deployment(), "reconcile ReplicaSet", "deployment-controller",
					spantest.Ref("apps", "ReplicaSet", "web-old"), 10, 20)
				old.Outcome = span.Converged
			},
		},
		"an open ConfigMap": {
			of: spantest.Ref("", "ConfigMap", "web"),
			change: func(s scheduler) {
				s.Add(s.deployment(), "reconcile ConfigMap", "operator", spantest.Ref("", "ConfigMap", "web"), 10, -1)
			},
		},
		"a Pod that was deleted while it waited": {
			of: object.Ref{Kind: object.Kind{Kind: "Pod"}, Namespace: "default", Name: "web-6cf-x7"},
			change: func(s scheduler) {
				s.pod.End, s.pod.Outcome, s.pod.Message = spantest.At(3000), span.Deleted, ""
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			trace, s := waits(twoReasons)
			s.refuse(1)
			tc.change(s)
			a := Explain(trace, tc.of, now)
			if text := a.Text(now, "default"); a.Attempt != nil || len(a.Suspects()) != 0 ||
				a.Object.Name != tc.of.Name || strings.Contains(text, "Examples") {
				t.Errorf("got %+v, %q", a.Attempt, text)
			}
		})
	}
}

// TestNoNodeFitsExamples: a few nodes for each reason, and their bounds.
func TestNoNodeFitsExamples(t *testing.T) {
	trace, s := waits(twoReasons)
	s.refuse(1)
	a := Explain(trace, s.pod.Object, now)
	want := "Examples: node-1, node-2, node-3 (lack memory); node-61, node-62 (have an untolerated taint).\n"
	if text := a.Text(now, "default"); !strings.Contains(text, want) {
		t.Errorf("got %q, want %q", text, want)
	}
}

// TestChoice: the chosen node, and what made the difference.
func TestChoice(t *testing.T) {
	type score struct{ plugin, first, second int }
	for name, tc := range map[string]struct {
		feasible, score, second, equal int
		runner                         string
		plugins                        []score
		want                           string
	}{
		"one plugin": {
			40, 452, 433, 0, "node-3", []score{{1, 81, 68}, {2, 100, 94}, {3, 10, 10}},
			"node-7 with score 452; second node-3 with 433: P1 (+13) and P2 (+6) made the difference.",
		},
		"against another": {
			40, 452, 433, 0, "node-3", []score{{1, 99, 68}, {2, 80, 92}},
			"node-7 with score 452; second node-3 with 433: P1 made the difference.",
		},
		"without plugins": {40, 452, 433, 0, "node-3", nil, "node-7 with score 452; second node-3 with 433."},
		"not all of it": {
			40, 452, 433, 0, "node-3", []score{{1, 81, 68}}, "node-7 with score 452; second node-3 with 433.",
		},
		"four plugins": {
			40, 452, 433, 0, "node-3", []score{{1, 10, 4}, {2, 10, 5}, {3, 10, 6}, {4, 10, 6}},
			"node-7 with score 452; second node-3 with 433: P1 (+6), P2 (+5) and P3 (+4) made the difference.",
		},
		"equal": {
			40, 452, 452, 12, "node-3", []score{{1, 5, 5}},
			"node-7 with score 452, equal to that of node-3 and 11 more.",
		},
		"only one":   {1, 0, 0, 0, "", nil, "node-7, the only one of 100 nodes that fits."},
		"not scored": {2, 0, 0, 0, "", nil, "node-7."},
	} {
		t.Run(name, func(t *testing.T) {
			trace := spantest.Apply()
			s := attempts(trace)
			cycle := s.attempt(1, span.AttemptBound, span.KeyNode.String("node-7"))
			s.filter(cycle, 0, 100, tc.feasible)
			if tc.score > 0 {
				point := s.add(cycle, span.NameScore, 1000, span.KeyNode.String("node-7"), span.KeyScore.Int(tc.score),
					span.KeyScoreSecond.Int(tc.second), span.KeyScoreSecondNode.String(tc.runner),
					span.KeyScoreEqual.Int(tc.equal))
				for _, p := range tc.plugins {
					s.add(point, "Score P", 1000, span.KeyPlugin.String(fmt.Sprint("P", p.plugin)),
						span.KeyScore.Int(p.first), span.KeyScoreSecond.Int(p.second))
				}
			}
			a := Explain(trace, s.pod.Object, now)
			if text := a.Text(now, "default"); !strings.Contains(text, "\nThe scheduler chose "+tc.want+"\n") {
				t.Errorf("got %q, want %q", text, tc.want)
			}
			of := Explain(trace, spantest.Ref("apps", "Deployment", "web"), now)
			if of.Attempt != nil {
				t.Errorf("the Deployment has the choice of one of its Pods: %+v", of.Attempt)
			}
		})
	}
}

// TestHostileAttempt: texts of spans are bounded and escaped.
func TestHostileAttempt(t *testing.T) {
	const evil = "\x1b[31mred\u202e\n"
	long := strings.Repeat("x", 5000)
	trace, s := waits("0/100 nodes are available: 40 " + evil)
	filter := s.filter(s.attempt(1, span.AttemptUnschedulable), 100, 100, 0)
	s.rejects(filter, evil+long, 40, []string{evil, long}, []int{40}, evil+long+", a, b, c, d")
	s.rejects(filter, "P", 40, []string{long, long, long}, []int{-1, 0})
	a := Explain(trace, s.pod.Object, now)
	if a.Attempt == nil || len(a.Attempt.Rejections[0].Examples) != maxExamples {
		t.Fatalf("got %+v", a.Attempt)
	}
	if text := a.Text(now, ""); strings.ContainsAny(text, "\x1b\u202e") || len(text) > 5000 {
		t.Errorf("not escaped, or too long: %q", text)
	}
}

// TestSuspects: the writes of a node that explain why the scheduler rejected it.
func TestSuspects(t *testing.T) {
	change := func(part string, changes ...span.FieldChange) store.Write {
		w := store.Write{}
		w.Verb, w.Part, w.Changes = "update", part, changes
		return w
	}
	cordon := change("desired", span.FieldChange{Path: "spec.unschedulable", Operation: span.FieldAdded, To: "true"})
	uncordon := change("desired", span.FieldChange{Path: "spec.unschedulable", Operation: span.FieldRemoved})
	taint := func(operation span.Operation, effect string) store.Write {
		return change("desired", span.FieldChange{
			Path: "spec.taints[key=dedicated,effect=" + effect + "].key", Operation: operation,
		})
	}
	label := change("metadata", span.FieldChange{Path: "metadata.labels.disk", Operation: span.FieldReplaced})
	domain := change("metadata", span.FieldChange{
		Path: "metadata.labels[example.com/disk]", Operation: span.FieldReplaced,
	})
	other := change("metadata", span.FieldChange{Path: "metadata.labelsets.disk", Operation: span.FieldReplaced})
	status, unknown := change("observed"), change("desired")
	of := func(node string, w store.Write) store.Write {
		w.Object.Name = node
		return w
	}
	hard := change("desired", span.FieldChange{Path: "spec.hard.pods", Operation: span.FieldReplaced})
	created := store.Write{}
	created.Verb = "create"
	cut := change("desired", span.FieldChange{Path: "spec.providerID", Operation: span.FieldAdded})
	cut.MoreChanges = 1
	for name, tc := range map[string]struct {
		what   string
		writes []store.Write
		want   int
	}{
		"cordoned":        {Cordoned, []store.Write{status, label, cordon, uncordon}, 2},
		"uncordoned":      {Cordoned, []store.Write{uncordon, cordon}, -1},
		"unknown fields":  {Cordoned, []store.Write{unknown, cordon}, -1},
		"not all fields":  {Cordoned, []store.Write{cut, cordon}, -1},
		"tainted":         {Tainted, []store.Write{label, taint(span.FieldAdded, "NoSchedule")}, 1},
		"taint for later": {Tainted, []store.Write{taint(span.FieldAdded, "PreferNoSchedule")}, -1},
		"taint that is gone": {
			Tainted, []store.Write{taint(span.FieldRemoved, "NoExecute"), taint(span.FieldAdded, "NoExecute")}, -1,
		},
		"another taint went": {
			Tainted, []store.Write{taint(span.FieldRemoved, "NoSchedule"), taint(span.FieldAdded, "NoExecute")}, 1,
		},
		"relabelled":           {Relabelled, []store.Write{cordon, label}, 1},
		"relabelled twice":     {Relabelled, []store.Write{label, domain}, 0},
		"another domain":       {Relabelled, []store.Write{other, domain}, 1},
		"nothing":              {Relabelled, nil, -1},
		"of another node":      {Cordoned, []store.Write{of("a", uncordon), of("b", cordon), of("a", cordon)}, 1},
		"limited":              {Limited, []store.Write{status, hard, created}, 1},
		"a new quota":          {Limited, []store.Write{status, created}, 1},
		"no label was changed": {Relabelled, []store.Write{cordon}, -1},
	} {
		t.Run(name, func(t *testing.T) {
			got, s := -1, Suspect{What: tc.what}
			if w := s.Find(tc.writes); w != nil {
				for i := range tc.writes {
					if w == &tc.writes[i] {
						got = i
					}
				}
			}
			if got != tc.want {
				t.Errorf("got write %d, want %d", got, tc.want)
			}
		})
	}
	since := spantest.Epoch.Add(time.Hour)
	a := Answer{Since: since, Attempt: &Attempt{End: since.Add(time.Second), Rejections: []Rejection{
		{Plugin: "NodeResourcesFit", Examples: []string{"a"}}, {Plugin: "NodeUnschedulable", Examples: []string{"b"}},
		{Plugin: "TaintToleration", Examples: []string{"c", "d"}}, {Plugin: "TaintToleration", Examples: []string{"e"}},
	}}}
	want := []Suspect{
		{Node: "b", What: Cordoned, Until: a.Attempt.End},
		{Node: "c", What: Tainted, Since: since.Add(-shortly), Until: a.Attempt.End},
		{Node: "d", What: Tainted, Since: since.Add(-shortly), Until: a.Attempt.End},
	}
	if diff := cmp.Diff(want, a.Suspects()); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
}

// TestNodeChange: of several changes of a kind the latest is named, with its author.
func TestNodeChange(t *testing.T) {
	a := Answer{State: Stuck, Reason: "it cannot"}
	var writes []NodeWrite
	for i, node := range []string{"node-1", "node-2", "node-3"} {
		w := NodeWrite{Suspect: Suspect{Node: node, What: Cordoned}}
		w.Write.Object = spantest.Ref("", "Node", node)
		w.End = spantest.Epoch.Add(time.Duration(i%2) * time.Minute)
		writes = append(writes, w)
	}
	for _, w := range Latest(writes) {
		sum := store.Summary{
			User: "alice", Verb: "update", Object: spantest.Ref("", "Node", w.Node), Edits: []string{"cordon"},
		}
		sum.Object.Namespace = ""
		a.Add(w, &sum)
	}
	want := "\nNode node-2 was cordoned: alice changed Node node-2 (cordon) at "
	if text := a.Text(now, ""); len(a.Nodes) != 1 || !strings.Contains(text, want) {
		t.Errorf("got %q, want %q", text, want)
	}
}

// TestNodeChangeSince: a change during the wait was not shortly before it.
func TestNodeChangeSince(t *testing.T) {
	for name, tc := range map[string]struct {
		what  string
		after time.Duration
		want  string
	}{
		"before":      {Tainted, -time.Minute, "\nShortly before, Node node-1 got a taint: "},
		"meanwhile":   {Tainted, 3 * time.Hour, "\nSince then, Node node-1 got a taint: "},
		"relabelled":  {Relabelled, 3 * time.Hour, "\nSince then, Node node-1 got other labels: "},
		"cordoned":    {Cordoned, 3 * time.Hour, "\nNode node-1 was cordoned: "},
		"long before": {Relabelled, -time.Hour, "\nNode node-1 got other labels: "},
	} {
		t.Run(name, func(t *testing.T) {
			a := Answer{State: Stuck, Reason: "it cannot", Since: spantest.Epoch}
			w := NodeWrite{Suspect: Suspect{Node: "node-1", What: tc.what}}
			w.Write.Object = spantest.Ref("", "Node", "node-1")
			w.End = spantest.Epoch.Add(tc.after)
			a.Add(w, &store.Summary{})
			if text := a.Text(now, ""); !strings.Contains(text, tc.want) {
				t.Errorf("got %q, want %q", text, tc.want)
			}
		})
	}
}

// TestUnnamed: without the spans of a scheduler, the category of the reason gives the changes to search for.
func TestUnnamed(t *testing.T) {
	since := spantest.Epoch.Add(time.Hour)
	quota := object.Ref{Kind: kind.ResourceQuota.Kind, Namespace: "default", Name: "few"}
	for name, tc := range map[string]struct {
		category reason.Category
		reason   string
		heals    string
		want     []Suspect
		part     string
	}{
		"cordon": {reason.UnschedulableCordon, "", "", []Suspect{{What: Cordoned}}, "desired"},
		"taint": {
			reason.UnschedulableTaint, "", "", []Suspect{{What: Tainted, Since: since.Add(-shortly)}}, "desired",
		},
		"label": {
			reason.UnschedulableNodeSelector, "", "", []Suspect{{What: Relabelled, Since: since.Add(-shortly)}},
			"metadata",
		},
		"a replaced Pod": {reason.UnschedulableNodeSelector, "", "Pod web", []Suspect{{What: Relabelled}}, "metadata"},
		"quota": {
			reason.QuotaExceeded, "cannot create its Pods: exceeded quota: few, requested: pods=1", "",
			[]Suspect{{Quota: &quota, What: Limited, Since: since.Add(-shortly)}}, "",
		},
		"unknown quota": {reason.QuotaExceeded, "failed quota", "", nil, ""},
		"another":       {reason.UnschedulableCPU, "", "", nil, ""},
	} {
		t.Run(name, func(t *testing.T) {
			a := Answer{
				Object: spantest.Ref("apps", "Deployment", "web"), Category: string(tc.category), Reason: tc.reason,
				Since: since, Cause: Cause{Heals: tc.heals},
			}
			got := a.Suspects()
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("-want +got\n%s", diff)
			}
			if len(got) > 0 && got[0].Part() != tc.part {
				t.Errorf("got part %q, want %q", got[0].Part(), tc.part)
			}
		})
	}
}

// TestRelevantEdits: the fields that the scheduler's reasons are about come first.
func TestRelevantEdits(t *testing.T) {
	a := &Attempt{Rejections: []Rejection{
		{Plugin: "NodeResourcesFit", Reason: "Insufficient memory"}, {Plugin: "NodeAffinity"},
	}}
	got := a.relevantFirst([]string{
		"image a → b", "requests.memory 1Gi → 9Gi", "replicas 1 → 2", "nodeSelector.disk ssd added",
	})
	want := []string{"requests.memory 1Gi → 9Gi", "nodeSelector.disk ssd added", "image a → b", "replicas 1 → 2"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
}
