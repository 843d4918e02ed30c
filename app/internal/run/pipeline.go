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
	// identityPatience bounds the question which cluster it is.
	identityPatience = 3 * time.Second
	// flushPatience bounds the last sending of spans.
	flushPatience = 10 * time.Second
	// backlog is how many observations may wait for the engine.
	backlog = 4096
)

// Options are what every command has.
type Options struct {
	// Kubeconfig may be nil for what can do with a server alone.
	Kubeconfig *proxy.Kubeconfig
	// Mapper finds out which kinds the kubeconfig's cluster has; nil if there
	// is none.
	Mapper  Mapper
	Streams genericiooptions.IOStreams
	// Output is tree, table or json. Full has the tree at the end drawn
	// with every span.
	Output string
	Full   bool
	// Version names this build to API servers.
	Version string
	// Now is the clock; nil means time.Now.
	Now func() time.Time
	// Environ is the environment; nil means the process' own.
	Environ []string
}

func (o *Options) now() time.Time {
	if o.Now != nil {
		return o.Now()
	}
	return time.Now()
}

// machine reports whether the output is a document for programs, in which
// nothing else may stand.
func (o *Options) machine() bool { return o.Output == OutputJSON }

// pipeline is the engine with what feeds it and what it feeds. All but emit and
// say is for one goroutine.
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

// view is how progress is shown: redrawn on a terminal, told elsewhere.
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
		if p.file, err = observation.Create(record, observation.Header{Cluster: cluster, Started: o.now()}); err != nil {
			return nil, errors.Join(err, p.exporter.Close(ctx))
		}
	}
	return p, nil
}

// newDisplay makes a pipeline that only shows: without engine, sources and
// export.
func newDisplay(o Options, cluster string) *pipeline {
	p := &pipeline{opts: o, cluster: cluster, screen: newScreen(o.Streams.ErrOut, o.environ())}
	if p.screen.terminal {
		p.view = render.NewLive(o.Streams.ErrOut, p.screen.size, render.Options{Color: p.screen.color})
	} else {
		p.view = render.NewPlain(o.Streams.ErrOut, render.Options{})
	}
	return p
}

// emit hands an observation to the goroutine that owns the engine. It waits
// while that is busy, and drops nothing until the pipeline is stopped.
func (p *pipeline) emit(o *observation.Observation) {
	select {
	case p.in <- o:
	case <-p.quit:
	}
}

// stop lets sources end that wait to hand something on.
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

// drain observes what is waiting.
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

// say tells the user one line.
func (p *pipeline) say(format string, args ...any) {
	_, _ = fmt.Fprintf(p.view, "lifeline: "+format+"\n", args...)
}

// say tells the user one line before there is a pipeline.
func (o *Options) say(format string, args ...any) {
	_, _ = fmt.Fprintf(o.Streams.ErrOut, "lifeline: "+format+"\n", args...)
}

// watcher makes a Watcher that feeds the pipeline.
func (p *pipeline) watcher(cfg *rest.Config) (*watch.Watcher, error) {
	cfg.UserAgent = userAgent(p.opts.Version)
	return watch.New(watch.Config{REST: cfg, Now: p.opts.Now, Emit: p.emit, Warn: p.say})
}

// export sends what has ended; what is still open ends now, as unfinished, so
// that no span is without its parent.
func (p *pipeline) export(traces []*span.Trace, now time.Time) {
	mark(traces, now)
	p.exporter.Export(span.EndOpen(traces, now))
}

// close ends the recording and sends the last spans. Spans that could not be
// sent are said, but are no failure of what was asked for.
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

// identify asks which cluster it is, in the background. A cluster that cannot
// be asked has its address for a name: the command will say that it is
// unreachable.
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
