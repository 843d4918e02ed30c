// SPDX-License-Identifier: Apache-2.0

package operatortest

import (
	"sync"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
)

// recording is a SpanRecorder that signals the end of each span.
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

// next returns a channel that is closed when another span ends.
func (r *recording) next() <-chan struct{} {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.ended
}
