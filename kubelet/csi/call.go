// SPDX-License-Identifier: Apache-2.0

package csi

import (
	"context"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"

	"github.com/kube-lifeline/lifeline/kubelet/internal/tracing"
)

// ServiceName is the service of the spans, unless the environment names another: the driver does the
// work.
const ServiceName = "csi-driver"

// ScopeName is the name of the tracer. Lifeline joins its spans to Pods.
const ScopeName = "github.com/kube-lifeline/lifeline/kubelet/csi"

// Attributes of OpenTelemetry's semantic conventions.
const (
	keyPodUID     = attribute.Key("k8s.pod.uid")
	keyPodName    = attribute.Key("k8s.pod.name")
	keyNamespace  = attribute.Key("k8s.namespace.name")
	keyVolumeName = attribute.Key("k8s.volume.name")
	keyVolumeID   = attribute.Key("container.csi.volume.id")
	keyDriver     = attribute.Key("container.csi.plugin.name")
)

// call is one traced call.
type call struct {
	method  string
	request request
	span    trace.Span
	// again means that the volume was at its target already.
	again bool
	start time.Time
}

// begin starts the span of a call. It returns nil for a call without a span, and the context for the
// driver.
func (p *Proxy) begin(ctx context.Context, method string, data []byte) (context.Context, *call) {
	r, traced := read(method, data)
	if !traced {
		return ctx, nil
	}
	c := &call{method: method, request: r, start: time.Now()}
	switch method {
	case methodPublish:
		c.again = p.volumes.isPublished(r.target)
		p.volumes.use(r.volume, r.pod)
	case methodUnpublish:
		p.volumes.unpublish(r.target)
	case methodUnstage:
		c.request.pod = p.volumes.user(r.volume)
		p.volumes.release(r.volume, pod{}) // a later publication is that of another staging
	}
	if c.again {
		return ctx, c
	}
	return p.start(ctx, c), c
}

// start starts the span.
func (p *Proxy) start(ctx context.Context, c *call) context.Context {
	attributes := append(tracing.Called(c.method), keyVolumeID.String(c.request.volume))
	if c.request.name != "" {
		attributes = append(attributes, keyVolumeName.String(c.request.name))
	}
	ctx, c.span = p.tracer.Start(ctx, c.method[1:], trace.WithSpanKind(trace.SpanKindClient),
		trace.WithTimestamp(c.start), trace.WithAttributes(append(attributes, c.request.pod.attributes()...)...))
	return ctx
}

// end ends the span of a call, or lets it wait for its Pod.
func (p *Proxy) end(ctx context.Context, c *call, err error) {
	if c == nil {
		return
	}
	now := time.Now()
	if c.span == nil {
		if err == nil {
			return // the repeated publication changed nothing
		}
		p.start(ctx, c)
	}
	tracing.Answered(c.span, err)
	if driver := p.name.Load(); driver != nil && *driver != "" {
		c.span.SetAttributes(keyDriver.String(*driver))
	}
	switch c.method {
	case methodStage:
		p.volumes.hold(c.request.volume, c.span, now)
		return
	case methodPublish:
		if err == nil {
			p.volumes.publish(c.request.target)
		}
	case methodUnpublish:
		p.volumes.use(c.request.volume, c.request.pod)
	case methodUnstage:
		if err == nil {
			p.volumes.unstage(c.request.volume)
		}
	}
	c.span.End(trace.WithTimestamp(now))
}
