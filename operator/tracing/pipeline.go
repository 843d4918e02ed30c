// SPDX-License-Identifier: Apache-2.0

package tracing

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
)

const (
	// flushes is the number of concurrent flushes with room in the queue in addition to spans.
	flushes = 64
	// grace is the time for an exporter to return after the end of its context.
	grace = time.Second
)

// pipeline sends spans in batches from a bounded queue that never blocks. It is the SDK's batch
// processor with two additions: it counts every lost span, and Shutdown leaves nothing running
// after the end of its context.
type pipeline struct {
	batch    sdktrace.SpanProcessor
	exporter sdktrace.SpanExporter
	room     int64           // maximum of pending
	pending  atomic.Int64    // spans accepted, neither sent nor lost
	closed   atomic.Bool     // pending spans are lost
	dropped  *atomic.Int64   // count across switches
	life     context.Context // its end cancels exports
	halt     context.CancelFunc
}

var (
	_ sdktrace.SpanProcessor = (*pipeline)(nil)
	_ sdktrace.SpanExporter  = (*counted)(nil)
)

// newPipeline starts a goroutine, which Shutdown ends.
func newPipeline(exporter sdktrace.SpanExporter, dropped *atomic.Int64) *pipeline {
	p := &pipeline{exporter: exporter, dropped: dropped}
	p.life, p.halt = context.WithCancel(context.Background())
	p.batch = sdktrace.NewBatchSpanProcessor((*counted)(p), func(o *sdktrace.BatchSpanProcessorOptions) {
		// The limit is enforced here, where a drop can be counted.
		p.room = int64(o.MaxQueueSize)
		o.MaxQueueSize += flushes
	})
	return p
}

// OnStart implements sdktrace.SpanProcessor.
func (*pipeline) OnStart(context.Context, sdktrace.ReadWriteSpan) {}

// OnEnd queues a span if there is room, and counts it as dropped otherwise.
func (p *pipeline) OnEnd(span sdktrace.ReadOnlySpan) {
	if p.pending.Add(1) > p.room {
		p.pending.Add(-1)
		p.dropped.Add(1)
	} else {
		p.batch.OnEnd(span)
	}
	p.settle()
}

// ForceFlush sends the queued spans.
func (p *pipeline) ForceFlush(ctx context.Context) error { return p.batch.ForceFlush(ctx) }

// Shutdown sends the queued spans until ctx ends; the others are lost.
func (p *pipeline) Shutdown(ctx context.Context) error {
	defer p.halt()
	defer context.AfterFunc(ctx, p.halt)()
	before := p.dropped.Load()
	var last, err error
	done := make(chan struct{})
	go func() {
		defer close(done)
		last = p.batch.Shutdown(context.WithoutCancel(ctx))
	}()
	select {
	case <-done:
		err = last
	case <-ctx.Done():
		err = context.Cause(ctx)
		select {
		case <-done:
		case <-time.After(grace):
		}
	}
	p.closed.Store(true)
	p.settle()
	if err == nil && p.dropped.Load() > before {
		// The processor drops a batch after the end of its context, and reports no error.
		err = context.Cause(ctx)
	}
	if err != nil {
		return fmt.Errorf("cannot send the last spans: %w", err)
	}
	return nil
}

// settle counts pending spans as lost after the end. Call it after each change of pending. An
// export that returns after the end makes pending negative, and settle then subtracts its spans
// from the count.
func (p *pipeline) settle() {
	if p.closed.Load() {
		p.dropped.Add(p.pending.Swap(0))
	}
}

// counted is the exporter that the batch processor calls.
type counted pipeline

// ExportSpans implements sdktrace.SpanExporter.
func (c *counted) ExportSpans(ctx context.Context, spans []sdktrace.ReadOnlySpan) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(c.life, cancel)()
	err := c.life.Err()
	if err == nil {
		err = c.exporter.ExportSpans(ctx, spans)
	}
	if err != nil {
		c.dropped.Add(int64(len(spans)))
	}
	c.pending.Add(-int64(len(spans)))
	(*pipeline)(c).settle()
	return err
}

// Shutdown implements sdktrace.SpanExporter.
func (c *counted) Shutdown(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(c.life, cancel)()
	return c.exporter.Shutdown(ctx)
}
