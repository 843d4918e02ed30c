// SPDX-License-Identifier: Apache-2.0

package operatortest

import (
	"sync"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
)

// recording is a SpanRecorder that tells when a span ends.
type recording struct {
	*tracetest.SpanRecorder
	mu    sync.Mutex
	ended chan struct{} // closed, and replaced, when the next span ends
}

func newRecording() *recording {
	return &recording{SpanRecorder: tracetest.NewSpanRecorder(), ended: make(chan struct{})}
}

// OnEnd implements sdktrace.SpanProcessor.
func (r *recording) OnEnd(span sdktrace.ReadOnlySpan) {
	r.SpanRecorder.OnEnd(span)
	r.mu.Lock()
	defer r.mu.Unlock()
	close(r.ended)
	r.ended = make(chan struct{})
}

// next is closed when another span has ended.
func (r *recording) next() <-chan struct{} {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.ended
}
