// SPDX-License-Identifier: Apache-2.0

package answer

import (
	"testing"
	"time"

	"go.opentelemetry.io/otel/trace"

	"github.com/kube-lifeline/lifeline/app/internal/object"
	"github.com/kube-lifeline/lifeline/app/internal/span"
	"github.com/kube-lifeline/lifeline/app/internal/span/spantest"
)

// TestRefused: a refused request is no failure of its object, and a Node with a refused eviction is not drained.
func TestRefused(t *testing.T) {
	settings, node := spantest.Ref("", "ConfigMap", "settings"), spantest.Ref("", "Node", "node-1")
	pod := spantest.Ref("", "Pod", "web-1")
	const evicted = "the eviction of Pod web-1 was refused: PodDisruptionBudget web needs 2 healthy Pods, and 2 are; " +
		"Node node-1 stays cordoned"
	// alone is a trace of a refused request. below adds a trace's further spans.
	alone := func(name string, of object.Ref, reason string, below ...*span.Span) *span.Trace {
		id := trace.TraceID{7}
		root := &span.Span{
			TraceID: id, ID: trace.SpanID{1}, Name: name, Object: of, Outcome: span.Refused, Service: "kubectl",
			Start: span.Time{Time: spantest.Epoch}, End: span.Time{Time: spantest.Epoch.Add(time.Second)},
		}
		root.Attributes = append(root.Attributes, span.KeyReason.String("invalid"),
			span.KeyReasonMessage.String(reason), span.KeyActorUser.String("jane"))
		return &span.Trace{ID: id, Outcome: span.Refused, Reason: reason, Spans: append([]*span.Span{root}, below...)}
	}
	child := func(name string, of object.Ref, n byte, outcome span.Outcome) *span.Span {
		return &span.Span{
			TraceID: trace.TraceID{7}, ID: trace.SpanID{n}, Parent: trace.SpanID{1}, Name: name, Object: of,
			Start: span.Time{Time: spantest.Epoch}, End: span.Time{Time: spantest.Epoch.Add(time.Second)},
			Outcome: outcome,
		}
	}
	const request = "Request: of jane at 12:00:00, trace 07000000.\n"
	for name, tc := range map[string]struct {
		trace *span.Trace
		of    object.Ref
		want  string
	}{
		"change": {
			alone("update ConfigMap", settings, "the change of ConfigMap settings was refused: data: Forbidden: "+
				"field is "+
				"immutable when `immutable` is set"), settings,
			"The change of ConfigMap settings was refused 59s ago: data: Forbidden: field is immutable when " +
				"`immutable` " +
				"is set. ConfigMap settings is as it was.\n" + request,
		},
		"creation": {
			alone("create ConfigMap", settings, "the creation of ConfigMap settings was refused: Forbidden"), settings,
			"The creation of ConfigMap settings was refused 59s ago: Forbidden.\n" + request,
		},
		"not found": {
			alone("update ConfigMap", settings, `the change of ConfigMap settings was refused: configmaps `+
				`"settings" not found`),
			settings,
			"The change of ConfigMap settings was refused 59s ago: configmaps \"settings\" not found.\n" + request,
		},
		"drain": {
			alone("reconcile Node", node, evicted, child("delete Pod", pod, 2, span.Refused)), node,
			"The eviction of Pod web-1 was refused 59s ago: PodDisruptionBudget web needs 2 healthy Pods, and 2 are; " +
				"Node node-1 stays cordoned.\n" + request,
		},
		"drain by a command": {
			alone(span.NameRun, object.Ref{}, evicted, child("reconcile Node", node, 2, span.Converged),
				child("delete Pod", pod, 3, span.Refused)), node,
			"The eviction of Pod web-1 was refused 59s ago: PodDisruptionBudget web needs 2 healthy Pods, and 2 are; " +
				"Node node-1 stays cordoned.\n" + request,
		},
		"another object of the command": {
			alone(span.NameRun, object.Ref{}, "the change of ConfigMap settings was refused: Forbidden",
				child("reconcile "+
					"Node", node, 2, span.Converged), child("update ConfigMap", settings, 3, span.Refused)), node,
			"Node node-1 converged 59s ago, in 1s.\n",
		},
	} {
		t.Run(name, func(t *testing.T) {
			a := Explain(tc.trace, tc.of, now)
			a.Next = ""
			if got := a.Text(now, "default"); got != tc.want {
				t.Errorf("got  %q\nwant %q", got, tc.want)
			}
		})
	}
}
