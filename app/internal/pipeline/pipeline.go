// SPDX-License-Identifier: Apache-2.0

// Package pipeline connects the sources of one command to the engine, and the engine to the
// screen, a recording and an OTLP endpoint. One goroutine owns the engine.
package pipeline

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"k8s.io/client-go/rest"

	"github.com/kube-lifeline/lifeline/app/internal/cli"
	"github.com/kube-lifeline/lifeline/app/internal/export"
	"github.com/kube-lifeline/lifeline/app/internal/lifecycle"
	"github.com/kube-lifeline/lifeline/app/internal/observation"
	"github.com/kube-lifeline/lifeline/app/internal/render"
	"github.com/kube-lifeline/lifeline/app/internal/source/request"
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
	// LookEvery is the interval of checks of the engine.
	LookEvery = 100 * time.Millisecond
	// DrawEvery is the minimum interval of redraws.
	DrawEvery = 200 * time.Millisecond
	// SyncPatience bounds the wait for the first lists.
	SyncPatience = 30 * time.Second
)

// Pipeline is the engine with its inputs and outputs. Only Emit and Say are safe for concurrent
// use.
type Pipeline struct {
	Options cli.Options
	// Cluster is the cluster's identity.
	Cluster string
	Engine  *lifecycle.Engine
	// In is the queue in front of the engine.
	In       chan *observation.Observation
	Exporter *export.Exporter
	Screen   cli.Screen
	View     View

	messages messages

	quit     chan struct{}
	stopOnce sync.Once
	file     *observation.File

	// NextLook and LastDraw are for the goroutine that owns the engine.
	NextLook, LastDraw time.Time
}

// View shows the progress: redrawn on a terminal, as lines elsewhere.
type View interface {
	io.Writer
	Draw(traces []*span.Trace, now time.Time) error
	Close() error
}

// Outputs are the outputs of a pipeline besides its screen. The zero value has none.
type Outputs struct {
	// Record is the file to record to, and OTLP the destination of spans in addition to OTEL_EXPORTER_OTLP_*.
	Record, OTLP string
	// Files means that the caller writes traces or observations to files of its own.
	Files bool
}

// New returns a pipeline.
func New(ctx context.Context, o cli.Options, cluster string, out Outputs) (*Pipeline, error) {
	p := NewDisplay(o, cluster)
	p.messages = newMessages(o.Env(EnvMessages), onTerminal(&o) && out.Record == "" && !out.Files)
	p.Engine = lifecycle.New(lifecycle.Options{Cluster: cluster})
	p.In, p.quit = make(chan *observation.Observation, backlog), make(chan struct{})
	var err error
	p.Exporter, err = export.New(ctx, export.Options{Endpoint: out.OTLP, Cluster: cluster, Warn: p.Say})
	if err != nil {
		return nil, err
	}
	if out.Record != "" {
		if p.file, err = observation.Create(
			out.Record, observation.Header{Cluster: cluster, Started: o.Time()},
		); err != nil {
			return nil, errors.Join(err, p.Exporter.Close(ctx))
		}
	}
	return p, nil
}

// NewDisplay returns a pipeline for output only: without engine, sources and export.
func NewDisplay(o cli.Options, cluster string) *Pipeline {
	p := &Pipeline{
		Options: o, Cluster: cluster, Screen: cli.NewScreen(o.Streams.ErrOut, o.Environment()),
		messages: newMessages(o.Env(EnvMessages), onTerminal(&o)),
	}
	if p.Screen.Terminal {
		p.View = render.NewLive(o.Streams.ErrOut, p.Screen.Size, render.Options{
			Color: p.Screen.Color, Settle: lifecycle.DefaultSettle,
		})
	} else {
		p.View = render.NewPlain(o.Streams.ErrOut, render.Options{})
	}
	return p
}

// Emit sends an observation to the goroutine that owns the engine. It blocks while the queue is
// full, and drops nothing until the pipeline is stopped.
func (p *Pipeline) Emit(o *observation.Observation) {
	select {
	case p.In <- o:
	case <-p.quit:
	}
}

// Stop releases sources blocked in Emit.
func (p *Pipeline) Stop() { p.stopOnce.Do(func() { close(p.quit) }) }

// Observe records an observation, and gives it to the engine.
func (p *Pipeline) Observe(o *observation.Observation) {
	if p.file != nil {
		if err := p.file.Write(o); err != nil {
			p.Say("the recording ends here: %v", err)
			_ = p.file.Close()
			p.file = nil
		}
	}
	p.Engine.Observe(o)
}

// Drain observes all queued observations.
func (p *Pipeline) Drain() {
	for {
		select {
		case o := <-p.In:
			p.Observe(o)
		default:
			return
		}
	}
}

// Say prints one line for the user.
func (p *Pipeline) Say(format string, args ...any) {
	_, _ = fmt.Fprintf(p.View, "lifeline: "+format+"\n", args...)
}

// Watcher returns a Watcher that feeds the pipeline.
func (p *Pipeline) Watcher(cfg *rest.Config) (*watch.Watcher, error) {
	cfg.UserAgent = p.Options.UserAgent()
	return watch.New(p.WatchConfig(cfg, p.Emit))
}

// WatchConfig returns the configuration of a Watcher with the pipeline's clock, warnings and treatment of messages.
func (p *Pipeline) WatchConfig(cfg *rest.Config, emit func(*observation.Observation)) watch.Config {
	m := &p.messages
	return watch.Config{
		REST: cfg, Now: p.Options.Now, Emit: emit, Warn: p.Say,
		Key: m.key, Messages: m.refusals.Messages, Memory: m.refusals.Memory,
	}
}

// Refusals returns the treatment of refused requests.
func (p *Pipeline) Refusals() request.Refusals { return p.messages.refusals }

// Export sends the ended spans. It ends open spans now as unfinished, so that no span lacks its
// parent.
func (p *Pipeline) Export(traces []*span.Trace, now time.Time) {
	Mark(traces, now)
	p.Exporter.Export(span.EndOpen(traces, now))
}

// Close ends the recording and sends the last spans. It prints export errors and does not return
// them: the command itself succeeded.
func (p *Pipeline) Close() error {
	p.Stop()
	ctx, cancel := context.WithTimeout(context.Background(), flushPatience)
	defer cancel()
	if err := p.Exporter.Close(ctx); err != nil {
		p.Say("%v", err)
	}
	if p.file != nil {
		return p.file.Close()
	}
	return nil
}

// Identify requests the cluster's identity in the background. An unreachable cluster is named by
// its address; the command itself reports the failure.
func Identify(ctx context.Context, cfg *rest.Config) <-chan string {
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

// Watching starts a pipeline with a Watcher as its source.
func Watching(ctx context.Context, o cli.Options, out Outputs) (*Pipeline, *watch.Watcher, error) {
	cfg := rest.CopyConfig(o.Kubeconfig.Current())
	cluster, err := watch.Identity(ctx, cfg)
	if err != nil {
		return nil, nil, err
	}
	p, err := New(ctx, o, cluster, out)
	if err != nil {
		return nil, nil, err
	}
	watcher, err := p.Watcher(cfg)
	if err != nil {
		return nil, nil, errors.Join(err, p.Close())
	}
	return p, watcher, nil
}

// End stops the pipeline and the Watcher of Watching.
func End(p *Pipeline, watcher *watch.Watcher) error {
	p.Stop()
	watcher.Close()
	return p.Close()
}

// After returns a channel that receives after d; never for 0.
func After(d time.Duration) (<-chan time.Time, func()) {
	if d <= 0 {
		return nil, func() {}
	}
	timer := time.NewTimer(d)
	return timer.C, func() { timer.Stop() }
}
