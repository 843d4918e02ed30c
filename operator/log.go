// SPDX-License-Identifier: Apache-2.0

package operator

import (
	"context"

	"github.com/go-logr/logr"
	"sigs.k8s.io/controller-runtime/pkg/log"
)

// withTraceLog returns ctx with its logger made to add trace_id and span_id to
// each line, as OpenTelemetry names them. They are looked up when a line is
// written: a reconcile that logs nothing pays nothing.
func withTraceLog(ctx context.Context, w *work) context.Context {
	l, err := logr.FromContext(ctx)
	if err != nil || l.GetSink() == nil {
		return ctx
	}
	sink := l.GetSink()
	if deeper, ok := sink.(logr.CallDepthLogSink); ok {
		sink = deeper.WithCallDepth(1)
	}
	return log.IntoContext(ctx, l.WithSink(&traceSink{LogSink: sink, work: w}))
}

// traceSink adds the trace context of a work.
type traceSink struct {
	logr.LogSink
	work *work
}

func (s *traceSink) with(keysAndValues []any) []any {
	sc := s.work.logged()
	if !sc.IsValid() {
		return keysAndValues
	}
	return append(
		keysAndValues[:len(keysAndValues):len(keysAndValues)],
		"trace_id",
		sc.TraceID().String(),
		"span_id",
		sc.SpanID().String(),
	)
}

// Init does nothing: the inner sink is initialised.
func (s *traceSink) Init(logr.RuntimeInfo) {}

// Info adds the context to a line.
func (s *traceSink) Info(level int, msg string, keysAndValues ...any) {
	s.LogSink.Info(level, msg, s.with(keysAndValues)...)
}

// Error adds the context to a line.
func (s *traceSink) Error(err error, msg string, keysAndValues ...any) {
	s.LogSink.Error(err, msg, s.with(keysAndValues)...)
}

// WithValues keeps the context.
func (s *traceSink) WithValues(keysAndValues ...any) logr.LogSink {
	return &traceSink{s.LogSink.WithValues(keysAndValues...), s.work}
}

// WithName keeps the context.
func (s *traceSink) WithName(name string) logr.LogSink {
	return &traceSink{s.LogSink.WithName(name), s.work}
}

// WithCallDepth keeps the context and the caller's place.
func (s *traceSink) WithCallDepth(depth int) logr.LogSink {
	if deeper, ok := s.LogSink.(logr.CallDepthLogSink); ok {
		return &traceSink{deeper.WithCallDepth(depth), s.work}
	}
	return s
}
