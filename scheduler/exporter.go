// SPDX-License-Identifier: Apache-2.0

package scheduler

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"go.opentelemetry.io/otel/exporters/otlp/otlptrace"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	commonpb "go.opentelemetry.io/proto/otlp/common/v1"
	resourcepb "go.opentelemetry.io/proto/otlp/resource/v1"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"k8s.io/klog/v2"
)

// Exporter sends the spans of scheduling attempts in batches. It encodes them itself; a client of
// OpenTelemetry transports them. When the receiver is slow, it drops spans rather than wait.
type Exporter struct {
	client   otlptrace.Client
	resource *resourcepb.Resource
	sampler  sdktrace.Sampler
	batching batching

	mu sync.Mutex
	// filling is the batch that grows, and full are those to be sent. waiting counts the spans of both.
	filling batch
	full    []batch
	waiting int
	// one has the spans of one attempt. spare is the memory of a sent batch, and largest that of
	// the largest one.
	one     wire
	spare   []byte
	largest int

	due        chan struct{} // a batch is full
	quit, done chan struct{}
	cancel     context.CancelFunc // of the requests of run
	stopped    sync.Once
}

// batch is encoded spans of some attempts.
type batch struct {
	wire            []byte
	spans, attempts int
}

// NewExporter returns an exporter that sends through client, such as otlptracegrpc.NewClient(). It
// starts the client. service describes the process, and may be nil. sampler decides about Pods
// without a trace context; nil samples all of them. The environment variables OTEL_BSP_* set the
// batches. The caller calls Shutdown.
func NewExporter(
	ctx context.Context, client otlptrace.Client, service *resource.Resource, sampler sdktrace.Sampler,
) (*Exporter, error) {
	if sampler == nil {
		sampler = sdktrace.ParentBased(sdktrace.AlwaysSample())
	}
	batching, err := batchingFromEnvironment()
	if err != nil {
		return nil, err
	}
	if err := client.Start(ctx); err != nil {
		return nil, fmt.Errorf("cannot start the OTLP client of the spans: %w", err)
	}
	e := &Exporter{
		client: client, resource: resourceOf(service), sampler: sampler, batching: batching,
		due: make(chan struct{}, 1), quit: make(chan struct{}), done: make(chan struct{}),
	}
	ctx, e.cancel = context.WithCancel(context.WithoutCancel(ctx))
	go e.run(ctx)
	return e, nil
}

func resourceOf(service *resource.Resource) *resourcepb.Resource {
	out := &resourcepb.Resource{}
	for _, kv := range service.Attributes() {
		out.Attributes = append(out.Attributes, &commonpb.KeyValue{
			Key: string(kv.Key),
			Value: &commonpb.AnyValue{
				Value: &commonpb.AnyValue_StringValue{StringValue: kv.Value.String()},
			},
		})
	}
	return out
}

// add encodes the spans of an attempt. It reports false, and encodes nothing, when too many spans
// wait.
func (e *Exporter) add(encode func(*wire) int) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.waiting >= e.batching.queue {
		return false
	}
	e.one.clear()
	spans := encode(&e.one)
	e.filling.append(e.one.encoded(), e.largest)
	e.filling.spans += spans
	e.filling.attempts++
	e.waiting += spans
	if e.filling.spans >= e.batching.size {
		e.turn()
		select {
		case e.due <- struct{}{}:
		default:
		}
	}
	return true
}

// append adds encoded spans. largest is the memory of another batch. The memory of a batch grows in few
// steps: each of them is work for the garbage collector.
func (b *batch) append(encoded []byte, largest int) {
	if need := len(b.wire) + len(encoded); need > cap(b.wire) {
		grown := make([]byte, len(b.wire), max(need, largest, 2*cap(b.wire)))
		copy(grown, b.wire)
		b.wire = grown
	}
	b.wire = append(b.wire, encoded...)
}

// turn begins a new batch. The caller holds the lock.
func (e *Exporter) turn() {
	if e.filling.spans > 0 {
		e.full = append(e.full, e.filling)
		e.largest = max(e.largest, len(e.filling.wire)*9/8) // the next one can be somewhat larger
		e.filling = batch{wire: e.spare[:0]}
		e.spare = nil
	}
}

// take removes the oldest of the batches to be sent.
func (e *Exporter) take() (batch, bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if len(e.full) == 0 {
		return batch{}, false
	}
	b := e.full[0]
	e.full = e.full[1:]
	return b, true
}

// run sends full batches at once, and the others after a delay.
func (e *Exporter) run(ctx context.Context) {
	defer close(e.done)
	ticker := time.NewTicker(e.batching.delay)
	defer ticker.Stop()
	for {
		all := false
		select {
		case <-e.due:
		case <-ticker.C:
			all = true
		case <-e.quit:
			return
		}
		e.drain(ctx, all)
	}
}

// drain sends batches until none is left. all includes the batch that grows, as it is at the start.
func (e *Exporter) drain(ctx context.Context, all bool) {
	if all {
		e.mu.Lock()
		e.turn()
		e.mu.Unlock()
	}
	for {
		b, ok := e.take()
		if !ok {
			return
		}
		e.send(ctx, b)
		e.mu.Lock()
		e.waiting -= b.spans
		e.spare = b.wire
		e.mu.Unlock()
	}
}

// send sends one batch. The client repeats a request as OTLP allows; then the batch is lost.
func (e *Exporter) send(ctx context.Context, b batch) {
	ctx, cancel := context.WithTimeout(ctx, e.batching.timeout)
	defer cancel()
	spans := &tracepb.ScopeSpans{Scope: &commonpb.InstrumentationScope{Name: scopeName}}
	// The encoded spans are fields of the message, so the client's encoding appends them as they are.
	spans.ProtoReflect().SetUnknown(b.wire)
	err := e.client.UploadTraces(ctx, []*tracepb.ResourceSpans{
		{Resource: e.resource, ScopeSpans: []*tracepb.ScopeSpans{spans}},
	})
	if err != nil {
		dropped.WithLabelValues("unsent").Add(float64(b.attempts))
		klog.Background().Error(err, "Cannot send the spans of scheduling attempts", "spans", b.spans)
	}
}

// Shutdown sends the last spans and stops the client. Spans that come later are lost. When the context
// ends, spans that wait are lost, too, and Shutdown returns an error.
func (e *Exporter) Shutdown(ctx context.Context) error {
	var err error
	e.stopped.Do(func() {
		defer e.cancel()
		defer context.AfterFunc(ctx, e.cancel)()
		close(e.quit)
		<-e.done
		e.drain(ctx, true)
		if ctx.Err() != nil {
			err = fmt.Errorf("cannot send the last spans in time: %w", ctx.Err())
		}
		if stopErr := e.client.Stop(ctx); stopErr != nil {
			err = errors.Join(err, fmt.Errorf("cannot stop the OTLP client of the spans: %w", stopErr))
		}
	})
	return err
}
