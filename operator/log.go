// SPDX-License-Identifier: Apache-2.0

package operator

import (
	"context"

	"github.com/go-logr/logr"
	"sigs.k8s.io/controller-runtime/pkg/log"
)

// withTraceLog returns ctx with a logger that adds trace_id and span_id, OpenTelemetry's names, to
// each line. The lookup happens at each line, so a reconcile without log lines pays nothing.
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

// traceSink is a LogSink that adds the trace context of a work.
type traceSink struct {
	logr.LogSink
	work *work
}

func (s *traceSink) with(keysAndValues []any) []any {
	sc := s.work.logged()
	if !sc.IsValid() {
		return keysAndValues
	}
	return append(keysAndValues[:len(keysAndValues):len(keysAndValues)],
		"trace_id", sc.TraceID().String(), "span_id", sc.SpanID().String())
}

// Init does nothing, because the inner sink is already initialized.
func (s *traceSink) Init(logr.RuntimeInfo) {}

// Info logs a line with the trace context.
func (s *traceSink) Info(level int, msg string, keysAndValues ...any) {
	s.LogSink.Info(level, msg, s.with(keysAndValues)...)
}

// Error logs an error with the trace context.
func (s *traceSink) Error(err error, msg string, keysAndValues ...any) {
	s.LogSink.Error(err, msg, s.with(keysAndValues)...)
}

// WithValues returns a sink with the same trace context.
func (s *traceSink) WithValues(keysAndValues ...any) logr.LogSink {
	return &traceSink{s.LogSink.WithValues(keysAndValues...), s.work}
}

// WithName returns a sink with the same trace context.
func (s *traceSink) WithName(name string) logr.LogSink {
	return &traceSink{s.LogSink.WithName(name), s.work}
}

// WithCallDepth returns a sink with the same trace context and the caller's position.
func (s *traceSink) WithCallDepth(depth int) logr.LogSink {
	if deeper, ok := s.LogSink.(logr.CallDepthLogSink); ok {
		return &traceSink{deeper.WithCallDepth(depth), s.work}
	}
	return s
}
