// SPDX-License-Identifier: Apache-2.0

// Package replay builds the traces in a recording. Recordings are read by
// package observation and printed by package render.
package replay

import (
	"context"
	"errors"
	"io"
	"time"

	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"

	"github.com/kube-lifeline/lifeline/app/internal/lifecycle"
	"github.com/kube-lifeline/lifeline/app/internal/observation"
	"github.com/kube-lifeline/lifeline/app/internal/span"
)

// Result is the content of a recording.
type Result struct {
	// Traces are the traces of the recorded commands and of their causes and
	// effects; without a command, all traces.
	Traces []*span.Trace
	// End is the time of the last observation. Open spans reach that far.
	End time.Time
}

// Traces reads a recording to its end. If the recording is damaged, it returns
// the traces before the damage, and an error that names the line.
func Traces(ctx context.Context, in *observation.Reader) (Result, error) {
	engine := lifecycle.New(lifecycle.Options{Cluster: in.Header().Cluster})
	end := in.Header().Started
	var commands []trace.TraceID
	seen := map[trace.TraceID]bool{}
	var damage error
	for ctx.Err() == nil {
		o, err := in.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			damage = err
			break
		}
		engine.Observe(o)
		if o.Seen.After(end) {
			end = o.Seen
		}
		if o.Run == nil {
			continue
		}
		if id := traceID(o.Run); !seen[id] {
			seen[id] = true
			commands = append(commands, id)
		}
	}
	if err := ctx.Err(); err != nil {
		return Result{}, err
	}
	// The last versions count as lasting: the recorder may have seen nothing else for an hour.
	now := end.Add(lifecycle.Confirmation + time.Nanosecond)
	if len(commands) == 0 {
		return Result{Traces: engine.Traces(now), End: end}, damage
	}
	var traces []*span.Trace
	for _, id := range commands {
		traces = append(traces, engine.Related(id, now)...)
	}
	return Result{Traces: traces, End: end}, damage
}

// traceID is the trace of a recorded command.
func traceID(run *observation.Run) trace.TraceID {
	carrier := propagation.MapCarrier{"traceparent": run.TraceParent}
	ctx := propagation.TraceContext{}.Extract(context.Background(), carrier)
	return trace.SpanContextFromContext(ctx).TraceID()
}
