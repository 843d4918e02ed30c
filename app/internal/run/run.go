// SPDX-License-Identifier: Apache-2.0

// Package run drives the pipeline of each command that observes a cluster. It starts the sources,
// feeds the engine from one goroutine and shows the progress. Then it prints, records and exports
// the result.
//
// Package lifecycle defines changes and when they have settled; package render draws them.
package run

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"time"

	"go.opentelemetry.io/otel/trace"

	"github.com/kube-lifeline/lifeline/app/internal/commandline"
	"github.com/kube-lifeline/lifeline/app/internal/lifecycle"
	"github.com/kube-lifeline/lifeline/app/internal/observation"
	"github.com/kube-lifeline/lifeline/app/internal/source/proxy"
	"github.com/kube-lifeline/lifeline/app/internal/span"
)

// Lifeline's own exit codes. The traced command's failure code takes precedence.
const (
	CodeOK          = 0
	CodeError       = 1
	CodeUnsettled   = 3
	CodeFailed      = 4
	CodeNotRunnable = 126
	CodeNotFound    = 127
	CodeInterrupted = 130
)

// Command is one traced command: `lifeline run -- CMD…`.
type Command struct {
	Options
	// Args are the command and its arguments; at least one.
	Args []string
	// Timeout bounds the wait for the effects of the command to settle, from its end on.
	Timeout time.Duration
	// Record is the file to record to; empty for none.
	Record string
	// OTLP is the destination of spans, in addition to OTEL_EXPORTER_OTLP_*.
	OTLP string

	// Signals receives the user's interrupts; nil means those of the process.
	Signals <-chan os.Signal
}

// execution is a running Command.
type execution struct {
	*Command
	*pipeline
	root      trace.SpanContext
	parent    string
	proxy     *proxy.Proxy
	followers *followers
	child     *child
	code      int
	// last is the latest observation of the command.
	last *observation.Run

	interrupted bool
	settled     bool
	// lost is since when the cluster has given up on the trace.
	lost time.Time
}

// Run runs the command, follows its effects until they have settled, and prints them. code is the
// exit code of the process. err is a failure of lifeline itself that was not printed yet.
func (c *Command) Run(ctx context.Context) (code int, err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	path, code, err := lookUp(c.Args[0])
	if err != nil {
		return code, err
	}
	signals, release := c.interrupts()
	defer release()
	x := &execution{Command: c}
	x.root, x.parent = newRoot(c.env("TRACEPARENT"), c.env("TRACESTATE"))
	args := readArgs(c.Args)
	for _, note := range args.notes {
		c.say("%s", note)
	}
	identity := identify(ctx, c.Kubeconfig.Current())
	dir, err := newTempDir()
	if err != nil {
		return CodeError, err
	}
	defer dir.remove()
	cluster := <-identity
	x.pipeline, err = newPipeline(ctx, c.Options, cluster, c.Record, c.OTLP)
	if err != nil {
		return CodeError, err
	}
	defer func() { err = errors.Join(err, x.pipeline.close()) }()
	x.followers = &followers{ctx: ctx, pipeline: x.pipeline}
	x.proxy, err = proxy.Start(proxy.Options{
		Kubeconfig: c.Kubeconfig, Trace: x.root, Servers: args.servers, Now: c.now,
		Emit: x.emit, Wrote: x.followers.wrote, Warn: func(text string) { x.say("%s", text) },
	})
	if err != nil {
		return CodeError, err
	}
	x.followers.config = x.proxy.REST
	defer func() {
		x.stop()
		x.followers.close()
		err = errors.Join(err, x.proxy.Close())
	}()
	config := filepath.Join(dir.path, "config")
	if err := x.proxy.WriteKubeconfig(config); err != nil {
		return CodeError, err
	}
	return x.execute(ctx, path, config, signals)
}

func (x *execution) execute(ctx context.Context, path, kubeconfig string, signals <-chan os.Signal) (int, error) {
	run := observation.Run{
		TraceParent: traceParent(x.root), Parent: x.parent,
		Command: span.Bound(commandline.Text(x.Args)), Start: x.now(),
	}
	x.observe(&observation.Observation{Seen: run.Start, Source: observation.SourceRun, Run: &run})
	var err error
	x.child, err = start(path, x.Args, x.streams(), append(x.environ(),
		"KUBECONFIG="+kubeconfig, "TRACEPARENT="+run.TraceParent), x.now)
	if err != nil {
		return CodeNotRunnable, err
	}
	x.await(signals, x.ending(ctx), &run)
	return x.finish()
}

// finish prints and exports the result.
func (x *execution) finish() (int, error) {
	now := x.now()
	// The second observation makes a recording end at the printed moment.
	x.observe(&observation.Observation{Seen: now, Source: observation.SourceRun, Run: x.last})
	traces := x.engine.Related(x.root.TraceID(), now)
	if !x.screen.terminal {
		_ = x.view.Draw(traces, now) // the changes since the last look
	}
	x.view.Close() //nolint:errcheck // a terminal that is gone
	changed := x.changed(traces)
	if !changed {
		x.explainSilence()
	}
	code := x.verdict(traces)
	var err error
	if changed || x.machine() {
		err = x.print(traces, now)
	}
	x.export(traces, now)
	if err != nil {
		return CodeError, err
	}
	return code, nil
}

// verdict returns the exit code, and prints the reason if the code is lifeline's own.
func (x *execution) verdict(traces []*span.Trace) int {
	if x.interrupted {
		return CodeInterrupted
	}
	own := CodeOK
	for _, t := range traces {
		if t.Outcome == span.Failed {
			x.say("failed: %s", first(t.Reason, "see the trace"))
			own = CodeFailed
		}
	}
	if !x.settled && own == CodeOK {
		x.say("not settled within %s: %s", x.Timeout, first(unfinishedReason(traces), "the cluster has not said more"))
		own = CodeUnsettled
	}
	if x.code != 0 {
		return x.code
	}
	return own
}

func unfinishedReason(traces []*span.Trace) string {
	for _, t := range traces {
		if t.Outcome == span.Unfinished && t.Reason != "" {
			return t.Reason
		}
	}
	return ""
}

// changed reports whether the traces contain more than the command itself. With concurrent writers,
// a response can look like a stored write that the watch later disproves.
func (x *execution) changed(traces []*span.Trace) bool {
	return len(traces) > 1 || len(traces) == 1 && len(traces[0].Spans) > 1
}

// explainSilence prints why there is no trace to show.
func (x *execution) explainSilence() {
	switch {
	case x.proxy.Unchanged()+x.proxy.Writes() > 0:
		x.say("nothing changed: what was written was there already")
	case x.code != 0: // the command has printed why
	case x.proxy.Requests() == 0:
		x.say("no request came through lifeline's proxy: %q does not use KUBECONFIG, or needs no cluster", x.Args[0])
	default:
		x.say("nothing changed: the command wrote nothing")
	}
}

func newEngine(cluster string) *lifecycle.Engine {
	return lifecycle.New(lifecycle.Options{Cluster: cluster})
}
