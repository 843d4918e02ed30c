// SPDX-License-Identifier: Apache-2.0

package spantest

import (
	"go.opentelemetry.io/otel/attribute"

	"github.com/kube-lifeline/lifeline/app/internal/object"
	"github.com/kube-lifeline/lifeline/app/internal/span"
)

// Rejected is Unschedulable with the spans of the scheduler's last attempt: of ten nodes, six lack memory
// and four are cordoned.
func Rejected() *span.Trace {
	t := unschedulable("rejected", "0/10 nodes are available: 4 node(s) were unschedulable, 6 Insufficient memory")
	b := &Builder{Trace: t}
	var phase *span.Span
	for _, s := range t.Spans {
		if s.Name == span.NameSchedule {
			phase = s
		}
	}
	add := func(parent *span.Span, name string, start int, attrs ...attribute.KeyValue) *span.Span {
		s := b.Add(parent, name, "kube-scheduler", object.Ref{}, start, 2000, attrs...)
		s.Evidence, s.Start.Source, s.End.Source = "", span.TimeOTLP, span.TimeOTLP
		s.Origin = &span.Origin{
			TraceID: span.DeriveTraceID("attempt"), Parent: parent.ID,
			Scope: span.Scope{Name: span.ScopeName + "/scheduler"},
			Resource: &span.Resource{Attributes: []attribute.KeyValue{
				attribute.String("service.name", "kube-scheduler"),
			}},
		}
		return s
	}
	attempt := add(phase, span.NameAttempt, 1990, span.KeyPodUID.String(string(phase.Object.UID)),
		span.KeyAttemptNumber.Int(2), span.KeyAttemptOutcome.String(span.AttemptUnschedulable))
	attempt.Evidence = span.ByIdentity
	filter := add(add(attempt, span.NameCycle, 1991), span.NameFilter, 1992, span.KeyNodesAll.Int(10),
		span.KeyNodesEvaluated.Int(10), span.KeyNodesFeasible.Int(0))
	rejects := func(plugin, reason string, nodes int, examples string) {
		add(filter, "Filter "+plugin, 1993, span.KeyPlugin.String(plugin), span.KeyNodesRejected.Int(nodes),
			span.KeyRejectReasons.StringSlice([]string{reason}), span.KeyRejectCounts.IntSlice([]int{nodes}),
			span.KeyRejectExamples.StringSlice([]string{examples}))
	}
	rejects("NodeUnschedulable", "node(s) were unschedulable", 4, "node-7, node-8, node-9")
	rejects("NodeResourcesFit", "Insufficient memory", 6, "node-1, node-2")
	return t
}

// Cordon is alice's cordon of a node, at a number of milliseconds.
func Cordon(node string, at int) *span.Trace {
	b := New("cordon " + node)
	ref := Ref("", "Node", node)
	ref.Namespace = ""
	s := b.Add(nil, "reconcile Node", "kubectl", ref, at, at+10, span.KeyActor.String("kubectl"),
		span.KeyActorUser.String("alice"), span.KeyFields.StringSlice([]string{"spec.unschedulable"}),
		span.KeyEdits.StringSlice([]string{"unschedulable <none> → true"}))
	s.Outcome = span.Converged
	s.Facts = &span.Facts{Verb: "update", Writes: []span.Write{{
		Verb: "update", Part: "desired", ResourceVersion: int64(at), Actor: "kubectl", User: "alice",
		Start: At(at).Time, End: At(at).Time, Source: span.TimeWatch,
		Changes: []span.FieldChange{{Path: "spec.unschedulable", Operation: span.FieldAdded, To: "true"}},
	}}}
	return b.Trace
}
