// SPDX-License-Identifier: Apache-2.0

package run

import (
	"context"
	"errors"
	"io"
	"time"

	"go.opentelemetry.io/otel/trace"

	"github.com/kube-lifeline/lifeline/app/internal/observation"
	"github.com/kube-lifeline/lifeline/app/internal/span"
)

// Replay feeds a recording to the engine and prints the traces in it: `lifeline
// replay FILE`.
type Replay struct {
	Options
	File string
	// OTLP is the same as in Command.
	OTLP string
}

// Run prints the trace of the recorded command or, for a recording of a whole cluster, every trace.
// For a damaged recording, it prints the part before the damage, and returns an error that names
// the line.
func (r *Replay) Run(ctx context.Context) (code int, err error) {
	file, err := observation.Open(r.File)
	if err != nil {
		return CodeError, err
	}
	defer file.Close() // only read
	p, err := newPipeline(ctx, r.Options, file.Header().Cluster, "", r.OTLP)
	if err != nil {
		return CodeError, err
	}
	defer func() { err = errors.Join(err, p.close()) }()
	last := file.Header().Started
	var runs []trace.TraceID
	var damage error
	seen := map[trace.TraceID]bool{}
	for ctx.Err() == nil {
		o, err := file.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			damage = err
			break
		}
		p.observe(o)
		last = later(last, o.Seen)
		if o.Run != nil {
			if id := traceOf(o.Run.TraceParent); !seen[id] {
				seen[id] = true
				runs = append(runs, id)
			}
		}
	}
	if err := ctx.Err(); err != nil {
		return CodeInterrupted, err
	}
	if err := r.print(p, runs, last); err != nil {
		return CodeError, err
	}
	if damage != nil {
		return CodeError, damage
	}
	return CodeOK, nil
}

func (r *Replay) print(p *pipeline, runs []trace.TraceID, now time.Time) error {
	var traces []*span.Trace
	for _, id := range runs {
		traces = append(traces, p.engine.Related(id, now)...)
	}
	if len(runs) == 0 {
		traces = p.engine.Traces(now)
	}
	if len(traces) == 0 && !r.machine() {
		p.say("%s holds no change", r.File)
		return nil
	}
	p.export(traces, now)
	return p.print(traces, now)
}

func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}
