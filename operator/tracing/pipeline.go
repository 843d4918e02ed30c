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
	// flushes is how many flushes at a time have room in the queue beside spans.
	flushes = 64
	// grace is how long an exporter has to return once its context has ended.
	grace = time.Second
)

// pipeline sends spans in batches, behind a bounded queue that never blocks. It
// is the SDK's batch processor with two things added: every span that is lost
// is counted, and Shutdown leaves nothing running when its context ends.
type pipeline struct {
	batch    sdktrace.SpanProcessor
	exporter sdktrace.SpanExporter
	room     int64           // spans that may be pending
	pending  atomic.Int64    // spans taken, neither sent nor lost
	closed   atomic.Bool     // what is pending now is lost
	dropped  *atomic.Int64   // the count that is kept across switches
	life     context.Context // ends when exports are to be given up
	halt     context.CancelFunc
}

var (
	_ sdktrace.SpanProcessor = (*pipeline)(nil)
	_ sdktrace.SpanExporter  = (*counted)(nil)
)

// newPipeline starts a goroutine that Shutdown ends.
func newPipeline(exporter sdktrace.SpanExporter, dropped *atomic.Int64) *pipeline {
	p := &pipeline{exporter: exporter, dropped: dropped}
	p.life, p.halt = context.WithCancel(context.Background())
	p.batch = sdktrace.NewBatchSpanProcessor((*counted)(p), func(o *sdktrace.BatchSpanProcessorOptions) {
		// The bound is kept here, where a drop can be counted.
		p.room = int64(o.MaxQueueSize)
		o.MaxQueueSize += flushes
	})
	return p
}

// OnStart implements sdktrace.SpanProcessor.
func (*pipeline) OnStart(context.Context, sdktrace.ReadWriteSpan) {}

// OnEnd queues a span if there is room.
func (p *pipeline) OnEnd(span sdktrace.ReadOnlySpan) {
	if p.pending.Add(1) > p.room {
		p.pending.Add(-1)
		p.dropped.Add(1)
	} else {
		p.batch.OnEnd(span)
	}
	p.settle()
}

// ForceFlush sends what is queued.
func (p *pipeline) ForceFlush(ctx context.Context) error { return p.batch.ForceFlush(ctx) }

// Shutdown sends what is queued until ctx ends; the rest is lost.
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
		// The processor drops a batch whose context has ended and reports nothing.
		err = context.Cause(ctx)
	}
	if err != nil {
		return fmt.Errorf("cannot send the last spans: %w", err)
	}
	return nil
}

// settle counts what is pending after the end as lost. Who changes pending calls
// it afterwards: an export that comes back only now has made pending negative,
// and its spans are taken off again.
func (p *pipeline) settle() {
	if p.closed.Load() {
		p.dropped.Add(p.pending.Swap(0))
	}
}

// counted is the exporter as the batch processor sees it.
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
