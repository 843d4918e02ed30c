// SPDX-License-Identifier: Apache-2.0

// Package spantest supplies traces for tests of rendering, export and analysis. They are small,
// fixed and in the engine's form.
package spantest

import (
	"cmp"
	"strconv"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kube-lifeline/lifeline/app/internal/object"
	"github.com/kube-lifeline/lifeline/app/internal/span"
)

// Epoch is the start of every sample.
var Epoch = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// At returns a moment ms milliseconds after Epoch, with the watch as its source.
func At(ms int) span.Time {
	return span.Time{Time: Epoch.Add(time.Duration(ms) * time.Millisecond), Source: span.TimeWatch}
}

// Ref returns an object in namespace default with a UID derived from its name.
func Ref(group, kind, name string) object.Ref {
	return object.Ref{
		Kind:      object.Kind{Group: group, Version: "v1", Kind: kind},
		Namespace: "default",
		Name:      name,
		UID:       types.UID("uid-" + name),
	}
}

// Builder adds spans to a trace, parents first. Make one with New.
type Builder struct {
	Trace *span.Trace
}

// New begins a trace with an ID derived from name.
func New(name string) *Builder {
	return &Builder{Trace: &span.Trace{ID: span.DeriveTraceID(name), Outcome: span.Converged}}
}

// Add appends a span of service from start to end, in milliseconds; end < 0
// leaves it open. Parent is nil for a root.
func (b *Builder) Add(
	parent *span.Span, name, service string, ref object.Ref, start, end int, attrs ...attribute.KeyValue,
) *span.Span {
	s := &span.Span{
		TraceID:    b.Trace.ID,
		ID:         span.DeriveID(b.Trace.ID, name, string(ref.UID), strconv.Itoa(len(b.Trace.Spans))),
		Name:       name,
		Service:    service,
		Object:     ref,
		Start:      At(start),
		Attributes: attrs,
	}
	if end >= 0 {
		s.End = At(end)
	}
	if parent != nil {
		s.Parent, s.Evidence = parent.ID, span.ByOwner
	}
	b.Trace.Spans = append(b.Trace.Spans, s)
	return s
}

// Apply is `kubectl apply` of a Deployment of one Pod. It converges in 4.21 s.
func Apply() *span.Trace {
	b := New("apply")
	b.Trace.ID = trace.TraceID{
		0x4b, 0xf9, 0x2f, 0x35, 0x77, 0xb3, 0x4d, 0xa6, 0xa3, 0xce, 0x92, 0x9d, 0x0e, 0x0e, 0x47, 0x36,
	}
	run := b.Run("kubectl apply -f web.yaml", 0, 4210)
	d := b.Deployment(run, 5, 4210)
	b.Pod(b.ReplicaSet(d, 60, 4180), "web-6cf-x7", 90, 4170)
	return b.Trace
}

// Run adds the root of a command.
func (b *Builder) Run(command string, start, end int) *span.Span {
	run := b.Add(nil, "run", "kubectl", object.Ref{}, start, end,
		span.KeyCommand.String(command), span.KeyExitCode.Int(0))
	run.Outcome = outcome(end)
	return run
}

// Deployment adds the reconciliation of Deployment web, and its creation by
// kubectl in 12 ms.
func (b *Builder) Deployment(parent *span.Span, start, end int) *span.Span {
	ref := Ref("apps", "Deployment", "web")
	d := b.Add(parent, "reconcile Deployment", "deployment-controller", ref, start, end)
	d.Outcome, d.Evidence = outcome(end), span.ByRequest
	d.Events = []span.Event{{
		Time: At(start).Time, Name: span.EventWrite,
		Attributes: []attribute.KeyValue{span.KeyVerb.String("create"), span.KeyActor.String("kubectl")},
	}}
	Write(d, span.Write{Verb: "create", Actor: "kubectl", Start: d.Start.Time, End: d.Start.Time})
	w := b.Add(d, "create Deployment", "kubectl", ref, start, start+12,
		span.KeyVerb.String("create"), span.KeyStatusCode.Int(201))
	w.Start.Source, w.End.Source, w.Evidence = span.TimeRequest, span.TimeRequest, span.ByRequest
	Write(w, span.Write{
		Verb: "create", Actor: "kubectl", Start: w.Start.Time, End: w.End.Time, Source: span.TimeRequest,
	})
	return d
}

// Write adds a stored write to the facts of s. Without a Source, a watch has seen it.
func Write(s *span.Span, w span.Write) {
	if s.Facts == nil {
		s.Facts = &span.Facts{}
	}
	w.Source = cmp.Or(w.Source, span.TimeWatch)
	s.Facts.Writes = append(s.Facts.Writes, w)
}

// ReplicaSet adds the reconciliation of ReplicaSet web-6cf.
func (b *Builder) ReplicaSet(parent *span.Span, start, end int) *span.Span {
	rs := b.Add(parent, "reconcile ReplicaSet", "replicaset-controller", Ref("apps", "ReplicaSet", "web-6cf"), start,
		end)
	rs.Outcome = outcome(end)
	return rs
}

// Pod adds the reconciliation of a Pod with all its phases. The image pull fills the time between
// start and end that the other phases leave.
func (b *Builder) Pod(parent *span.Span, name string, start, end int) *span.Span {
	ref := Ref("", "Pod", name)
	pod := b.Add(parent, "reconcile Pod", "kubelet", ref, start, end, span.KeyNode.String("node-1"))
	pod.Outcome = outcome(end)
	pulled := end - 920
	b.Add(pod, "schedule", "kube-scheduler", ref, start, start+18, span.KeyNode.String("node-1"))
	b.Add(pod, "sandbox", "kubelet", ref, start+18, start+228)
	pull := b.Add(pod, "pull image", "kubelet", ref, start+230, pulled, span.KeyImage.String("nginx:1.27"))
	pull.Start.Source, pull.End.Source = span.TimeEvent, span.TimeEvent
	b.Add(pod, "start container", "kubelet", ref, pulled, pulled+47,
		span.KeyContainer.String("web"), span.KeyImage.String("nginx:1.27"))
	b.Add(pod, "readiness", "kubelet", ref, pulled+47, end)
	return pod
}

func outcome(end int) span.Outcome {
	if end < 0 {
		return ""
	}
	return span.Converged
}
