// SPDX-License-Identifier: Apache-2.0

package run

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"k8s.io/cli-runtime/pkg/genericiooptions"
	"k8s.io/client-go/rest"

	"github.com/kube-lifeline/lifeline/app/internal/export"
	"github.com/kube-lifeline/lifeline/app/internal/lifecycle"
	"github.com/kube-lifeline/lifeline/app/internal/observation"
	"github.com/kube-lifeline/lifeline/app/internal/render"
	"github.com/kube-lifeline/lifeline/app/internal/source/proxy"
	"github.com/kube-lifeline/lifeline/app/internal/source/watch"
	"github.com/kube-lifeline/lifeline/app/internal/span"
)

const (
	// identityPatience bounds the request for the cluster's identity.
	identityPatience = 3 * time.Second
	// flushPatience bounds the final export of spans.
	flushPatience = 10 * time.Second
	// backlog is the capacity of the queue in front of the engine.
	backlog = 4096
)

// Options are common to all commands.
type Options struct {
	// Kubeconfig may be nil for commands that need only a server.
	Kubeconfig *proxy.Kubeconfig
	// Mapper returns the kinds of the kubeconfig's cluster; nil without a cluster.
	Mapper  Mapper
	Streams genericiooptions.IOStreams
	// Output is tree, table or json. Full draws every span in the final tree.
	Output string
	Full   bool
	// Version is the build version in requests to API servers.
	Version string
	// Now is the clock; nil means time.Now.
	Now func() time.Time
	// Environ is the environment; nil means that of the process.
	Environ []string
}

func (o *Options) now() time.Time {
	if o.Now != nil {
		return o.Now()
	}
	return time.Now()
}

// machine reports whether the output is a document for programs, without any other text.
func (o *Options) machine() bool { return o.Output == OutputJSON }

// pipeline is the engine with its inputs and outputs. Only emit and say are safe for concurrent
// use.
type pipeline struct {
	opts     Options
	cluster  string
	engine   *lifecycle.Engine
	in       chan *observation.Observation
	quit     chan struct{}
	stopOnce sync.Once
	file     *observation.File
	exporter *export.Exporter
	screen   screen
	view     view

	nextLook, lastDraw time.Time
}

// view shows the progress: redrawn on a terminal, as lines elsewhere.
type view interface {
	io.Writer
	Draw(traces []*span.Trace, now time.Time) error
	Close() error
}

func newPipeline(ctx context.Context, o Options, cluster, record, otlp string) (*pipeline, error) {
	p := newDisplay(o, cluster)
	p.engine = newEngine(cluster)
	p.in, p.quit = make(chan *observation.Observation, backlog), make(chan struct{})
	var err error
	p.exporter, err = export.New(ctx, export.Options{Endpoint: otlp, Cluster: cluster, Warn: p.say})
	if err != nil {
		return nil, err
	}
	if record != "" {
		if p.file, err = observation.Create(
			record, observation.Header{Cluster: cluster, Started: o.now()},
		); err != nil {
			return nil, errors.Join(err, p.exporter.Close(ctx))
		}
	}
	return p, nil
}

// newDisplay returns a pipeline for output only: without engine, sources and export.
func newDisplay(o Options, cluster string) *pipeline {
	p := &pipeline{opts: o, cluster: cluster, screen: newScreen(o.Streams.ErrOut, o.environ())}
	if p.screen.terminal {
		p.view = render.NewLive(o.Streams.ErrOut, p.screen.size, render.Options{Color: p.screen.color})
	} else {
		p.view = render.NewPlain(o.Streams.ErrOut, render.Options{})
	}
	return p
}

// emit sends an observation to the goroutine that owns the engine. It blocks while the queue is
// full, and drops nothing until the pipeline is stopped.
func (p *pipeline) emit(o *observation.Observation) {
	select {
	case p.in <- o:
	case <-p.quit:
	}
}

// stop releases sources blocked in emit.
func (p *pipeline) stop() { p.stopOnce.Do(func() { close(p.quit) }) }

func (p *pipeline) observe(o *observation.Observation) {
	if p.file != nil {
		if err := p.file.Write(o); err != nil {
			p.say("the recording ends here: %v", err)
			_ = p.file.Close()
			p.file = nil
		}
	}
	p.engine.Observe(o)
}

// drain observes all queued observations.
func (p *pipeline) drain() {
	for {
		select {
		case o := <-p.in:
			p.observe(o)
		default:
			return
		}
	}
}

// say prints one line for the user.
func (p *pipeline) say(format string, args ...any) {
	_, _ = fmt.Fprintf(p.view, "lifeline: "+format+"\n", args...)
}

// say prints one line for the user before a pipeline exists.
func (o *Options) say(format string, args ...any) {
	_, _ = fmt.Fprintf(o.Streams.ErrOut, "lifeline: "+format+"\n", args...)
}

// watcher returns a Watcher that feeds the pipeline.
func (p *pipeline) watcher(cfg *rest.Config) (*watch.Watcher, error) {
	cfg.UserAgent = userAgent(p.opts.Version)
	return watch.New(watch.Config{REST: cfg, Now: p.opts.Now, Emit: p.emit, Warn: p.say})
}

// export sends the ended spans. It ends open spans now as unfinished, so that no span lacks its
// parent.
func (p *pipeline) export(traces []*span.Trace, now time.Time) {
	mark(traces, now)
	p.exporter.Export(span.EndOpen(traces, now))
}

// close ends the recording and sends the last spans. It only prints export errors, because they are
// no failure of the command.
func (p *pipeline) close() error {
	p.stop()
	ctx, cancel := context.WithTimeout(context.Background(), flushPatience)
	defer cancel()
	if err := p.exporter.Close(ctx); err != nil {
		p.say("%v", err)
	}
	if p.file != nil {
		return p.file.Close()
	}
	return nil
}

// identify requests the cluster's identity in the background. An unreachable cluster is named by
// its address; the command itself reports the failure.
func identify(ctx context.Context, cfg *rest.Config) <-chan string {
	answer := make(chan string, 1)
	go func() {
		ctx, cancel := context.WithTimeout(ctx, identityPatience)
		defer cancel()
		id, err := watch.Identity(ctx, rest.CopyConfig(cfg))
		if err != nil {
			id = cfg.Host
		}
		answer <- id
	}()
	return answer
}

func userAgent(version string) string { return "lifeline/" + first(version, "devel") }

func (o *Options) environ() []string {
	if o.Environ != nil {
		return o.Environ
	}
	return os.Environ()
}
