// SPDX-License-Identifier: Apache-2.0

package deviceplugin

import (
	"context"
	"os"
	"path/filepath"
	"sync"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"
	"google.golang.org/protobuf/proto"
	plugin "k8s.io/kubelet/pkg/apis/deviceplugin/v1beta1"

	"github.com/kube-lifeline/lifeline/kubelet/internal/tracing"
)

// ServiceName is the service of the spans, unless the environment names another: the plugin does the work.
const ServiceName = "device-plugin"

// ScopeName is the name of the tracer. Lifeline joins its spans to Pods.
const ScopeName = "github.com/kube-lifeline/lifeline/kubelet/deviceplugin"

// Attributes of OpenTelemetry's semantic conventions.
const (
	keyPodUID    = attribute.Key("k8s.pod.uid")
	keyContainer = attribute.Key("k8s.container.name")
)

// Attributes of devices. KeyDevices are the first IDs of KeyDeviceCount devices.
const (
	KeyResource    = attribute.Key("k8s.device.resource")
	KeyDevices     = attribute.Key("k8s.device.ids")
	KeyDeviceCount = attribute.Key("k8s.device.count")
)

// The traced methods.
const (
	methodAllocate = "/v1beta1.DevicePlugin/Allocate"
	methodPrepare  = "/v1beta1.DevicePlugin/PreStartContainer"
)

const (
	// maxDevices bounds the IDs on a span.
	maxDevices = 8
	// maxWait is how long a finished span waits for its Pod. The kubelet writes its checkpoint after the devices
	// of all resources of a container are allocated.
	maxWait, pollEvery = 10 * time.Second, 50 * time.Millisecond
	// maxWaiting bounds these spans.
	maxWaiting = 256
	// coarse is the most by which the clock of files is behind.
	coarse = 20 * time.Millisecond
)

// observer makes the spans of the calls to one plugin.
type observer struct {
	tracer   trace.Tracer
	resource string
	// checkpoint is the path of the kubelet's file.
	checkpoint string
	// ctx ends the waits for Pods.
	ctx     context.Context //nolint:containedctx // it is the life of the observer
	waiting chan struct{}
	waits   sync.WaitGroup
}

func newObserver(ctx context.Context, tracer trace.Tracer, dir, resource string) *observer {
	return &observer{
		tracer: tracer, resource: tracing.Text(resource), checkpoint: filepath.Join(dir, checkpointName), ctx: ctx,
		waiting: make(chan struct{}, maxWaiting),
	}
}

// Observes implements relay.Observer.
func (o *observer) Observes(method string) bool {
	return method == methodAllocate || method == methodPrepare
}

// Begin implements relay.Observer. A request that is no protobuf has no span.
func (o *observer) Begin(ctx context.Context, method string, request []byte) (context.Context, func(error)) {
	devices, err := devicesOf(method, request)
	if err != nil {
		return ctx, nil
	}
	ids := make([]string, 0, maxDevices)
	for _, id := range devices[:min(len(devices), maxDevices)] {
		ids = append(ids, tracing.Text(id))
	}
	attributes := append(tracing.Called(method),
		KeyResource.String(o.resource), KeyDevices.StringSlice(ids), KeyDeviceCount.Int(len(devices)))
	ctx, span := o.tracer.Start(ctx, method[1:], trace.WithSpanKind(trace.SpanKindClient),
		trace.WithAttributes(attributes...))
	return ctx, func(err error) { o.end(span, method, devices, err) }
}

// devicesOf returns the IDs of the devices in a request.
func devicesOf(method string, request []byte) ([]string, error) {
	if method == methodPrepare {
		var in plugin.PreStartContainerRequest
		err := proto.Unmarshal(request, &in)
		return in.GetDevicesIds(), err
	}
	var in plugin.AllocateRequest
	err := proto.Unmarshal(request, &in)
	var out []string
	for _, c := range in.GetContainerRequests() {
		out = append(out, c.GetDevicesIds()...)
	}
	return out, err
}

// end ends the span of a call. That of an allocation waits for its Pod.
func (o *observer) end(span trace.Span, method string, devices []string, err error) {
	now := time.Now()
	tracing.Answered(span, err)
	finish := func(by user) {
		if by.pod != "" {
			span.SetAttributes(keyPodUID.String(by.pod))
		}
		if by.container != "" {
			span.SetAttributes(keyContainer.String(by.container))
		}
		span.End(trace.WithTimestamp(now))
	}
	switch {
	case len(devices) == 0, method == methodAllocate && err != nil: // the kubelet notes no refused device
		finish(user{})
	case method == methodPrepare:
		finish(o.find(devices[0], time.Time{}))
	default:
		select {
		case o.waiting <- struct{}{}:
			o.waits.Go(func() {
				finish(o.await(devices[0], now))
				<-o.waiting
			})
		default:
			finish(user{})
		}
	}
}

// await returns the user of the device, from a checkpoint that is not older than since.
func (o *observer) await(device string, since time.Time) user {
	ctx, cancel := context.WithTimeout(o.ctx, maxWait)
	defer cancel()
	tick := time.NewTicker(pollEvery)
	defer tick.Stop()
	for {
		if by := o.find(device, since); by.pod != "" {
			return by
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return user{}
		}
	}
}

// find returns the user of the device, unless the checkpoint is older than since.
func (o *observer) find(device string, since time.Time) user {
	if info, err := os.Stat(o.checkpoint); err != nil || info.ModTime().Before(since.Add(-coarse)) {
		return user{}
	}
	c, changed, err := readCheckpoint(o.checkpoint)
	if err != nil || changed.Before(since.Add(-coarse)) {
		return user{}
	}
	return c.user(o.resource, device)
}
