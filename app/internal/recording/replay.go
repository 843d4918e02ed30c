// SPDX-License-Identifier: Apache-2.0

package recording

import (
	"context"
	"errors"

	"github.com/kube-lifeline/lifeline/app/internal/cli"
	"github.com/kube-lifeline/lifeline/app/internal/observation"
	"github.com/kube-lifeline/lifeline/app/internal/pipeline"
	"github.com/kube-lifeline/lifeline/app/internal/replay"
)

// Replay feeds a recording to the engine and prints the traces in it: `lifeline
// replay FILE`.
type Replay struct {
	cli.Options
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
		return cli.CodeError, err
	}
	defer file.Close() // only read
	p, err := pipeline.New(ctx, r.Options, file.Header().Cluster, pipeline.Outputs{OTLP: r.OTLP})
	if err != nil {
		return cli.CodeError, err
	}
	defer func() { err = errors.Join(err, p.Close()) }()
	result, damage := replay.Traces(ctx, file.Reader)
	if ctx.Err() != nil {
		return cli.CodeInterrupted, damage
	}
	if err := r.print(p, result); err != nil {
		return cli.CodeError, err
	}
	if damage != nil {
		return cli.CodeError, damage
	}
	return cli.CodeOK, nil
}

func (r *Replay) print(p *pipeline.Pipeline, result replay.Result) error {
	if len(result.Traces) == 0 && !r.Machine() {
		p.Say("%s holds no change", r.File)
		return nil
	}
	p.Export(result.Traces, result.End)
	return p.Print(result.Traces, result.End)
}
