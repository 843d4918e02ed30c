// SPDX-License-Identifier: Apache-2.0

package run

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/kube-lifeline/lifeline/app/internal/insight"
	"github.com/kube-lifeline/lifeline/app/internal/render"
	"github.com/kube-lifeline/lifeline/app/internal/span"
)

// The output formats.
const (
	OutputTree  = "tree"
	OutputTable = "table"
	OutputJSON  = "json"
)

// Outputs returns the output formats, the default first.
func Outputs() []string { return []string{OutputTree, OutputTable, OutputJSON} }

// CheckOutput returns an error for an unknown output format.
func CheckOutput(name string) error {
	if slices.Contains(Outputs(), name) {
		return nil
	}
	return fmt.Errorf("unknown output %q: known are %s", name, strings.Join(Outputs(), ", "))
}

// print writes traces to standard output in the selected format.
func (p *pipeline) print(traces []*span.Trace, now time.Time) error {
	out := p.opts.Streams.Out
	return p.printTo(out, traces, now, newScreen(out, p.opts.environ()))
}

func (p *pipeline) printTo(out io.Writer, traces []*span.Trace, now time.Time, s screen) error {
	o := render.Options{Now: now, Cluster: p.cluster, Full: p.opts.Full}
	if s.terminal {
		o.Width, _ = s.size()
		o.Color = s.color
	}
	var err error
	switch p.opts.Output {
	case OutputJSON:
		mark(traces, now)
		err = render.JSON(out, traces, o)
	case OutputTable:
		err = render.Table(out, traces, o)
	default:
		err = render.Tree(out, traces, o)
	}
	if err != nil {
		return fmt.Errorf("cannot print the trace: %w", err)
	}
	return nil
}

// mark sets the span attributes that depend on the whole trace.
func mark(traces []*span.Trace, now time.Time) {
	for _, t := range traces {
		insight.Mark(t, now)
	}
}

// streams returns the streams of the command. Where standard output must be a single document, the
// command's output goes to standard error.
func (o *Options) streams() genericiooptions.IOStreams {
	streams := o.Streams
	if o.machine() {
		streams.Out = streams.ErrOut
	}
	return streams
}

func first(texts ...string) string {
	for _, t := range texts {
		if t != "" {
			return t
		}
	}
	return ""
}
