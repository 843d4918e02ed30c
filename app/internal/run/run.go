// SPDX-License-Identifier: Apache-2.0

// Package run traces one command: it runs the command behind a proxy, follows the effects of its
// writes until they have settled, and prints, records and exports the trace.
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
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/kube-lifeline/lifeline/app/internal/cli"
	"github.com/kube-lifeline/lifeline/app/internal/commandline"
	"github.com/kube-lifeline/lifeline/app/internal/object"
	"github.com/kube-lifeline/lifeline/app/internal/observation"
	"github.com/kube-lifeline/lifeline/app/internal/pipeline"
	"github.com/kube-lifeline/lifeline/app/internal/source/proxy"
	"github.com/kube-lifeline/lifeline/app/internal/span"
	"github.com/kube-lifeline/lifeline/internal/message"
)

// Command is one traced command: `lifeline run -- CMD…`.
type Command struct {
	cli.Options
	// Args are the command and its arguments; at least one.
	Args []string
	// Timeout bounds the wait for the effects of the command to settle, from its end on.
	Timeout time.Duration
	// Record is the file to record to; empty for none.
	Record string
	// OTLP is the destination of spans, in addition to OTEL_EXPORTER_OTLP_*.
	OTLP string
	// Summary and JUnit are files for a CI system: Markdown and a JUnit report; empty for none.
	Summary, JUnit string
	// FailFast ends the wait as soon as nothing in sight can change what is stuck. A crash loop must last
	// for CrashLoop.
	FailFast  bool
	CrashLoop time.Duration
	// Server selects the server to announce the command to.
	Server cli.Server

	// Signals receives the user's interrupts; nil means those of the process.
	Signals <-chan os.Signal
}

// execution is a running Command.
type execution struct {
	*Command
	pipeline  *pipeline.Pipeline
	root      trace.SpanContext
	parent    string
	proxy     *proxy.Proxy
	followers *followers
	announcer *announcer
	child     *child
	code      int
	// last is the latest observation of the command.
	last *observation.Run

	interrupted bool
	settled     bool
	// hopeless is the reason that nothing in sight can change, for FailFast; "" if there is none.
	hopeless string
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
	if err := c.checkReports(); err != nil { // before the command changes something
		return cli.CodeError, err
	}
	signals, release := cli.Interrupts(c.Signals)
	defer release()
	x := &execution{Command: c}
	x.root, x.parent = newRoot(c.Env("TRACEPARENT"), c.Env("TRACESTATE"))
	args := readArgs(c.Args)
	for _, note := range args.notes {
		c.Say("%s", note)
	}
	var named *cli.Session
	if c.Server.Named { // a mistyped server must not go unnoticed
		if named, err = c.Connect(ctx, c.Server); err != nil {
			return cli.CodeError, err
		}
		if named != nil {
			defer named.Close()
		}
	}
	identity := pipeline.Identify(ctx, c.Kubeconfig.Current())
	dir, err := newTempDir()
	if err != nil {
		return cli.CodeError, err
	}
	defer dir.remove()
	cluster := <-identity
	x.pipeline, err = pipeline.New(ctx, c.Options, cluster, pipeline.Outputs{
		Record: c.Record, OTLP: c.OTLP, Files: c.Summary != "" || c.JUnit != "",
	})
	if err != nil {
		return cli.CodeError, err
	}
	defer func() { err = errors.Join(err, x.pipeline.Close()) }()
	x.followers = &followers{ctx: ctx, pipeline: x.pipeline}
	x.announcer = newAnnouncer(func(ctx context.Context) (*cli.Session, error) {
		if c.Server.Named {
			return named, nil
		}
		o := c.Options
		o.Streams.ErrOut = x.pipeline.View // the screen is in use
		s := c.Server
		s.Outside = true // the API server hands no announcement on
		return o.Connect(ctx, s)
	}, c.Time)
	x.proxy, err = proxy.Start(proxy.Options{
		Kubeconfig: c.Kubeconfig, Trace: x.root, Servers: args.servers, Now: c.Time,
		Emit: x.pipeline.Emit, Wrote: func(w proxy.Written) { x.wrote(ctx, w) },
		Refused:  func(w proxy.Written) { x.wrote(ctx, w) },
		Refusals: x.pipeline.Refusals(),
		Warn:     func(text string) { x.pipeline.Say("%s", text) },
	})
	if err != nil {
		return cli.CodeError, err
	}
	x.followers.config = x.proxy.REST
	defer func() {
		x.pipeline.Stop()
		x.followers.close()
		err = errors.Join(err, x.proxy.Close())
	}()
	config := filepath.Join(dir.path, "config")
	if err := x.proxy.WriteKubeconfig(config); err != nil {
		return cli.CodeError, err
	}
	return x.execute(ctx, path, config, signals)
}

// wrote follows the possible effects of a write, and announces it if the server watches its cluster. The server gets
// no text of unknown form: on a terminal, it has its values.
func (x *execution) wrote(ctx context.Context, w proxy.Written) {
	if w.Write.Failed() {
		x.followers.refused(w)
	} else {
		x.followers.wrote(w)
	}
	if to := x.proxy.REST(w.Upstream); to != nil && to.Host == x.Kubeconfig.Current().Host {
		announced := *w.Write
		announced.Message, announced.Kept, announced.Masked = message.Strict(announced.Message), false, false
		x.announcer.wrote(ctx, &announced)
	}
}

func (x *execution) execute(ctx context.Context, path, kubeconfig string, signals <-chan os.Signal) (int, error) {
	run := observation.Run{
		TraceParent: traceParent(x.root), Parent: x.parent,
		Command: span.Bound(commandline.Text(x.Args)), Start: x.Time(),
	}
	x.pipeline.Observe(&observation.Observation{Seen: run.Start, Source: observation.SourceRun, Run: &run})
	x.announcer.command(run)
	var err error
	x.child, err = start(path, x.Args, x.streams(), append(x.Environment(),
		"KUBECONFIG="+kubeconfig, "TRACEPARENT="+run.TraceParent), x.Time)
	if err != nil {
		return cli.CodeNotRunnable, err
	}
	x.await(signals, x.ending(ctx), &run)
	return x.finish()
}

// finish prints and exports the result.
func (x *execution) finish() (int, error) {
	now := x.Time()
	// The second observation makes a recording end at the printed moment.
	x.pipeline.Observe(&observation.Observation{Seen: now, Source: observation.SourceRun, Run: x.last})
	traces := x.pipeline.Engine.Related(x.root.TraceID(), now)
	if !x.pipeline.Screen.Terminal {
		_ = x.pipeline.View.Draw(traces, now) // the changes since the last look
	}
	x.pipeline.View.Close() //nolint:errcheck // a terminal that is gone
	changed := x.changed(traces)
	if !changed {
		x.explainSilence()
	}
	code := x.verdict(traces)
	var err error
	if changed || x.Machine() {
		err = x.pipeline.Print(traces, now)
	}
	err = errors.Join(err, x.report(traces, now))
	x.pipeline.Export(traces, now)
	server, unannounced := x.announcer.close()
	if err != nil {
		return cli.CodeError, err
	}
	if unannounced != nil {
		x.pipeline.Say("no server has this trace: %s", cli.Shown(unannounced.Error()))
	}
	if changed && x.Output == cli.OutputTree {
		x.sayWhereToLook(traces, server)
	}
	return code, nil
}

// sayWhereToLook prints the command that shows the change later. server has the trace; empty means
// none.
func (x *execution) sayWhereToLook(traces []*span.Trace, server string) {
	ask := x.question(traces, server)
	if ask == "" {
		return
	}
	if x.interrupted && traces[0].Outcome == span.Unfinished {
		x.pipeline.Say("the change goes on in the cluster; to see it: %s", ask)
		return
	}
	x.pipeline.Say("to see this change again: %s", ask)
}

// question returns the command that shows the change later; "" if there is none.
func (x *execution) question(traces []*span.Trace, server string) string {
	if server != "" {
		ask := "lifeline trace " + traces[0].ID.String()[:shortID]
		if x.Server.Named {
			ask += " --server " + cli.Shown(server)
		}
		return ask
	}
	subject := mainObject(traces[0])
	if subject.Name == "" {
		return ""
	}
	ask := "lifeline trace " + cli.Argument(subject)
	if subject.Namespace != "" && subject.Namespace != x.Kubeconfig.Namespace() {
		ask += " -n " + cli.Shown(subject.Namespace)
	}
	return ask
}

// shortID is the length of a shortened trace ID.
const shortID = 16

// mainObject returns the object with the most spans below it, among those that the command wrote;
// the zero value if it wrote none.
func mainObject(t *span.Trace) object.Ref {
	root := t.Root()
	if root == nil {
		return object.Ref{}
	}
	byID := map[trace.SpanID]*span.Span{}
	for _, s := range t.Spans {
		byID[s.ID] = s
	}
	below := map[*span.Span]int{}
	var best *span.Span
	for _, s := range t.Spans {
		top := s
		for top.Parent != root.ID && byID[top.Parent] != nil {
			top = byID[top.Parent]
		}
		if top.Parent != root.ID || top.Object.Name == "" {
			continue
		}
		if below[top]++; best == nil || below[top] > below[best] {
			best = top
		}
	}
	if best == nil {
		return object.Ref{}
	}
	return best.Object
}

// verdict returns the exit code, and prints the reason if the code is lifeline's own.
func (x *execution) verdict(traces []*span.Trace) int {
	if x.interrupted {
		return cli.CodeInterrupted
	}
	own := cli.CodeOK
	for _, t := range traces {
		if t.Outcome.InVain() {
			if x.changed(traces) && !x.treeOnTerminal() { // its header has the reason
				x.pipeline.Say("%s: %s", t.Outcome, cli.First(t.Reason, "see the trace"))
			}
			own = cli.CodeFailed
		}
	}
	if x.hopeless != "" && own == cli.CodeOK {
		x.pipeline.Say("failed: %s (nothing in sight can change it)", x.hopeless)
		own = cli.CodeFailed
	}
	if !x.settled && own == cli.CodeOK {
		x.pipeline.Say(
			"not settled within %s: %s",
			x.Timeout,
			cli.First(unfinishedReason(traces), "the cluster has not said more"),
		)
		own = cli.CodeUnsettled
	}
	if x.code != 0 {
		return x.code
	}
	return own
}

// treeOnTerminal reports whether the tree appears on the terminal of the messages.
func (x *execution) treeOnTerminal() bool {
	return x.Output == cli.OutputTree && x.pipeline.Screen.Terminal &&
		cli.NewScreen(x.Streams.Out, x.Environment()).Terminal
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
		x.pipeline.Say("nothing changed: what was written was there already")
	case x.code != 0: // the command has printed why
	case x.proxy.Requests() == 0:
		x.pipeline.Say("no request came through lifeline's proxy: %q does not use KUBECONFIG, or needs no cluster",
			x.Args[0])
	default:
		x.pipeline.Say("nothing changed: the command wrote nothing")
	}
}

// streams returns the streams of the command. Where standard output must be a single document, the
// command's output goes to standard error.
func (c *Command) streams() genericiooptions.IOStreams {
	streams := c.Streams
	if c.Machine() {
		streams.Out = streams.ErrOut
	}
	return streams
}
