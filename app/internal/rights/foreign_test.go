// SPDX-License-Identifier: Apache-2.0

package rights

import (
	"slices"
	"strings"
	"testing"

	"go.opentelemetry.io/otel/attribute"

	"github.com/kube-lifeline/lifeline/app/internal/kind"
	"github.com/kube-lifeline/lifeline/app/internal/object"
	"github.com/kube-lifeline/lifeline/app/internal/span"
	"github.com/kube-lifeline/lifeline/app/internal/span/spantest"
)

// TestProjectForeign: the spans of other components name no Node, no Pod of another namespace, and no object of a
// guarded kind. What a component says of the own Pod stays.
func TestProjectForeign(t *testing.T) {
	b := spantest.New("foreign")
	web := b.Deployment(nil, 0, 900)
	pod := b.Pod(web, "web-1", 10, 800)
	add := func(name string, resource []attribute.KeyValue, attrs ...attribute.KeyValue) *span.Span {
		s := b.Add(pod, name, "another", object.Ref{}, 20, 30, attrs...)
		s.Origin = &span.Origin{Resource: &span.Resource{Attributes: resource}}
		return s
	}
	service, version := attribute.String("service.name", "another"), attribute.String("service.version", "1")
	scheduler := add("Filter", []attribute.KeyValue{service, version, attribute.String("host.name", "secret-host")},
		span.KeyPodUID.String(string(pod.Object.UID)), span.KeyNodesRejected.Int(3),
		span.KeyRejectExamples.StringSlice([]string{"secret-node"}), span.KeyScoreSecondNode.String("secret-node"),
		span.KeyMoveObject.String("Pod secret-pod"),
		attribute.StringSlice("k8s.scheduler.preemption.victim.names", []string{"secret-namespace/secret-pod"}))
	from := func(namespace, pod string) []attribute.KeyValue {
		return []attribute.KeyValue{
			service, attribute.String("k8s.namespace.name", namespace), attribute.String("k8s.pod.name", pod),
		}
	}
	ns := pod.Object.Namespace
	operator := add("get Secret", from("secret-operators", "secret-pod"),
		span.KeyKind.String("Secret"), span.KeyNamespace.String(ns), span.KeyName.String("secret-key"))
	own := add("handle", from(ns, "web-1"),
		span.KeyKind.String("Deployment"), span.KeyNamespace.String(ns), span.KeyName.String(web.Object.Name))
	sees := all
	sees.Object = func(o object.Ref) bool {
		return o == (object.Ref{}) || o.Namespace == ns && !kind.Secret.Is(o.Kind)
	}

	got := Project(b.Trace, sees)
	if text := string(span.ToJSON([]*span.Trace{got}, "c")); strings.Contains(text, "secret-") {
		t.Errorf("a hidden object is left: %s", text)
	}
	part := func(of *span.Span) *span.Span {
		if i := slices.IndexFunc(got.Spans, func(s *span.Span) bool { return s.ID == of.ID }); i >= 0 {
			return got.Spans[i]
		}
		return nil
	}
	if part(operator) != nil {
		t.Error("the span of a hidden object is left")
	}
	if one := part(own); one == nil || one.Origin.Resource != own.Origin.Resource {
		t.Errorf("the own Pod is not described: %+v", one)
	}
	one := part(scheduler)
	if one == nil || !slices.Equal(one.Origin.Resource.Attributes, []attribute.KeyValue{service, version}) ||
		len(one.Attributes) != 2 {
		t.Errorf("got %+v", one)
	}
	if Project(b.Trace, all) != b.Trace {
		t.Error("everything is not the trace itself")
	}
	want := object.Ref{Kind: object.Kind{Kind: "Secret"}, Namespace: ns, Name: "secret-key"}
	if mentioned := Mentioned(b.Trace); !slices.Equal(mentioned, []object.Ref{want}) {
		t.Errorf("mentioned: %v", mentioned)
	}
}
