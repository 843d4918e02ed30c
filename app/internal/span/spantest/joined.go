// SPDX-License-Identifier: Apache-2.0

package spantest

import (
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"

	"github.com/kube-lifeline/lifeline/app/internal/object"
	"github.com/kube-lifeline/lifeline/app/internal/span"
)

// Joined is Apply with spans of the API server, etcd, the kubelet and containerd: the request that
// created the Deployment, and the work on the Pod.
func Joined() *span.Trace {
	b := Builder{Apply()}
	named := map[string]*span.Span{}
	for _, s := range b.Trace.Spans {
		named[s.Name] = s
	}
	made := map[string]*span.Resource{}
	add := func(parent *span.Span, service string, kind trace.SpanKind, name string, start, end int,
		attrs ...attribute.KeyValue) *span.Span {
		s := b.Add(parent, name, service, object.Ref{}, start, end, attrs...)
		s.Evidence, s.Start.Source, s.End.Source = "", "", ""
		if made[service] == nil {
			made[service] = &span.Resource{
				Attributes: []attribute.KeyValue{
					attribute.String("service.name", service), attribute.String("host.name", "node-1"),
				},
			}
		}
		s.Origin = &span.Origin{
			TraceID: span.DeriveTraceID(service), Parent: parent.ID, Kind: kind,
			Scope: span.Scope{Name: "otel/" + service, Version: "1"}, Resource: made[service],
		}
		return s
	}
	top := func(s *span.Span, by span.Evidence) *span.Span {
		s.Evidence, s.Origin.Parent = by, trace.SpanID{}
		return s
	}
	post := top(add(named["create Deployment"], "apiserver", trace.SpanKindServer,
		"POST /apis/apps/v1/namespaces/{:namespace}/deployments", 7, 16,
		attribute.String("audit-id", "5b4c")), span.ByRequest)
	create := add(add(post, "apiserver", trace.SpanKindInternal, "authorization", 7, 16), "apiserver",
		trace.SpanKindInternal, "Create", 8, 15)
	txn := add(create, "apiserver", trace.SpanKindClient, "etcdserverpb.KV/Txn", 9, 14)
	add(txn, "etcd", trace.SpanKindServer, "etcdserverpb.KV/Txn", 10, 13)
	sync := top(add(named["reconcile Pod"], "kubelet", trace.SpanKindInternal, "syncPod", 110, 3400), span.ByIdentity)
	run := add(sync, "kubelet", trace.SpanKindClient, "runtime.v1.RuntimeService/RunPodSandbox", 120, 310)
	add(add(run, "containerd", trace.SpanKindServer, "runtime.v1.RuntimeService/RunPodSandbox", 121, 309),
		"containerd", trace.SpanKindInternal, "cri.sandbox.run", 125, 300, span.KeyCorrection.Float64(0.25))
	add(sync, "kubelet", trace.SpanKindClient, "runtime.v1.ImageService/ImageStatus", 312, 313)
	pull := add(sync, "kubelet", trace.SpanKindClient, "runtime.v1.ImageService/PullImage", 320, 3250)
	refused := add(add(pull, "containerd", trace.SpanKindServer, "runtime.v1.ImageService/PullImage", 321, 3249),
		"containerd", trace.SpanKindClient, "HTTP HEAD", 330, 340)
	refused.Status, refused.Message = span.StatusError, "connection refused"
	add(sync, "kubelet", trace.SpanKindClient, "runtime.v1.RuntimeService/StartContainer", 3255, 3297)
	b.Trace.Spans = span.TreeOrder(b.Trace.Spans)
	return b.Trace
}
