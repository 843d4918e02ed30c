// SPDX-License-Identifier: Apache-2.0

package pipeline

import (
	"bytes"
	"fmt"
	"io"
	"time"

	"github.com/kube-lifeline/lifeline/app/internal/cli"
	"github.com/kube-lifeline/lifeline/app/internal/insight"
	"github.com/kube-lifeline/lifeline/app/internal/render"
	"github.com/kube-lifeline/lifeline/app/internal/span"
)

// Print writes traces to standard output in the selected format.
func (p *Pipeline) Print(traces []*span.Trace, now time.Time) error {
	out := p.Options.Streams.Out
	return p.PrintTo(out, traces, now, cli.NewScreen(out, p.Options.Environment()))
}

// PrintTo writes traces to out, a screen or none.
func (p *Pipeline) PrintTo(out io.Writer, traces []*span.Trace, now time.Time, s cli.Screen) error {
	o := render.Options{Now: now, Cluster: p.Cluster, Full: p.Options.Full}
	if s.Terminal {
		o.Width, _ = s.Size()
		o.Color = s.Color
	}
	var err error
	switch p.Options.Output {
	case cli.OutputJSON:
		Mark(traces, now)
		err = render.JSON(out, traces, o)
	case cli.OutputYAML:
		Mark(traces, now)
		err = render.YAML(out, traces, o)
	case cli.OutputName:
		err = render.Names(out, traces)
	case cli.OutputMermaid:
		err = render.Mermaid(out, traces, o)
	case cli.OutputDOT:
		err = render.DOT(out, traces, o)
	case cli.OutputPerfetto:
		err = render.Perfetto(out, traces, o)
	case cli.OutputTable:
		err = render.Table(out, traces, o)
	default:
		err = render.Tree(out, traces, o)
	}
	if err != nil {
		return fmt.Errorf("cannot print the trace: %w", err)
	}
	return nil
}

// Mark sets the span attributes that depend on the whole trace.
func Mark(traces []*span.Trace, now time.Time) {
	for _, t := range traces {
		insight.Mark(t, now)
	}
}

// PrintAbove prints to standard output. On a shared terminal, it does not disturb the drawing
// below.
func (p *Pipeline) PrintAbove(traces []*span.Trace, now time.Time) error {
	if !p.Screen.Terminal || !cli.NewScreen(p.Options.Streams.Out, p.Options.Environment()).Terminal {
		return p.Print(traces, now)
	}
	var text bytes.Buffer
	if err := p.PrintTo(&text, traces, now, p.Screen); err != nil {
		return err
	}
	_, err := p.View.Write(text.Bytes())
	return err
}
