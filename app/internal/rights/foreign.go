// SPDX-License-Identifier: Apache-2.0

package rights

import (
	"slices"
	"strings"

	"go.opentelemetry.io/otel/attribute"

	"github.com/kube-lifeline/lifeline/app/internal/kind"
	"github.com/kube-lifeline/lifeline/app/internal/object"
	"github.com/kube-lifeline/lifeline/app/internal/span"
)

// named returns the object that a span of another component names in its attributes; zero without one.
func named(s *span.Span) (out object.Ref) {
	if s.Origin == nil || s.Object != (object.Ref{}) {
		return out
	}
	for _, kv := range s.Attributes {
		switch kv.Key {
		case span.KeyGroup:
			out.Group = kv.Value.AsString()
		case span.KeyKind:
			out.Kind.Kind = kv.Value.AsString()
		case span.KeyNamespace:
			out.Namespace = kv.Value.AsString()
		case span.KeyName:
			out.Name = kv.Value.AsString()
		}
	}
	if out.Namespace == "" && out.Name == "" {
		return object.Ref{} // all objects of a kind
	}
	return out
}

// ofOthers are the attributes of the scheduler about Nodes and Pods of any namespace.
var ofOthers = []attribute.Key{span.KeyRejectExamples, span.KeyScoreSecondNode, span.KeyMoveObject}

// ofScheduler reports whether an attribute of the scheduler is about other objects than its Pod.
func ofScheduler(key attribute.Key) bool {
	return slices.Contains(ofOthers, key) || strings.HasPrefix(string(key), span.PrefixPreemption)
}

// outside reports whether the user sees no objects of the cluster itself, such as Nodes.
func (p *projection) outside() bool { return !p.sees.Object(object.Ref{Kind: kind.Node.Kind}) }

// concealed reports whether the resource of s describes a hidden Pod: that of its sender, or the machine of a component
// without one.
func (p *projection) concealed(s *span.Span) bool {
	return s.Origin != nil && s.Origin.Resource != nil && p.sender(s.Origin.Resource) != s.Origin.Resource
}

// sender returns a resource as far as the user sees it: with a hidden Pod, it has only the name and the version of the
// program.
func (p *projection) sender(r *span.Resource) *span.Resource {
	if known := p.senders[r]; known != nil {
		return known
	}
	pod := object.Ref{Kind: kind.Pod.Kind}
	for _, kv := range r.Attributes {
		if kv.Key == "k8s.namespace.name" {
			pod.Namespace = kv.Value.AsString()
		}
	}
	out := r
	if !p.sees.Object(pod) && slices.ContainsFunc(r.Attributes, ofMachine) {
		of := *r
		of.Attributes, out = slices.DeleteFunc(slices.Clone(r.Attributes), ofMachine), &of
	}
	p.senders[r] = out
	return out
}

// ofMachine reports whether an attribute of a resource is not about the program alone.
func ofMachine(kv attribute.KeyValue) bool {
	return kv.Key != "service.name" && kv.Key != "service.version" && !strings.HasPrefix(string(kv.Key), "telemetry.")
}
