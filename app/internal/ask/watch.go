// SPDX-License-Identifier: Apache-2.0

package ask

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/kube-lifeline/lifeline/app/internal/cli"
	"github.com/kube-lifeline/lifeline/app/internal/pipeline"
	"github.com/kube-lifeline/lifeline/app/internal/source/proxy"
	"github.com/kube-lifeline/lifeline/app/internal/source/watch"
	"github.com/kube-lifeline/lifeline/app/internal/span"
)

// Watch shows each change in a cluster, during and after it: `lifeline watch`.
type Watch struct {
	cli.Options
	// Namespaces limits it to these; nil means the whole cluster.
	Namespaces []string
	// Names, each KIND/NAME, limits it to traces that contain these objects; nil means every trace.
	Names []string
	// Server selects the server. With Record or OTLP no server is used: it provides no
	// observations, and exports spans itself.
	Server cli.Server
	// Record and OTLP are the same as in Command.
	Record, OTLP string
	// For ends it after that time; 0 waits for Signals.
	For     time.Duration
	Signals <-chan os.Signal

	// targets are the objects in Names.
	targets []cli.Target
}

// Validate returns an error for invalid options. It sends no request.
func (w *Watch) Validate() error {
	for _, name := range w.Names {
		if err := cli.CheckTarget(name); err != nil {
			return err
		}
	}
	if w.Server.URL == "" || w.Server.Direct {
		return nil
	}
	if w.Record != "" {
		return errors.New("--record sees the cluster itself: it does not go with --server")
	}
	if w.OTLP != "" {
		return errors.New("--otlp does not go with --server: the server sends the spans")
	}
	return nil
}

// Run watches until an interrupt, then prints the open traces. It uses a server if there is one,
// otherwise the cluster itself.
func (w *Watch) Run(ctx context.Context) (code int, err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	signals, release := cli.Interrupts(w.Signals)
	defer release()
	if w.Record == "" && w.OTLP == "" {
		server, err := w.Connect(ctx, w.Server)
		if err != nil {
			return cli.CodeError, err
		}
		if server != nil {
			defer server.Close()
			return w.ask(ctx, server, signals)
		}
	}
	return w.direct(ctx, signals)
}

// direct watches the cluster itself.
func (w *Watch) direct(ctx context.Context, signals <-chan os.Signal) (code int, err error) {
	if w.Kubeconfig == nil {
		return cli.CodeError, proxy.ErrNoConfig
	}
	if err := w.resolve(true); err != nil {
		return cli.CodeError, err
	}
	p, watcher, err := pipeline.Watching(ctx, w.Options, pipeline.Outputs{Record: w.Record, OTLP: w.OTLP})
	if err != nil {
		return cli.CodeError, err
	}
	defer func() { err = errors.Join(err, pipeline.End(p, watcher)) }()
	if err := watcher.Watch(ctx, w.scope()); err != nil {
		return cli.CodeError, err
	}
	listed, stop := pipeline.Synced(ctx, watcher)
	defer stop()
	return w.follow(p, listed, signals)
}

func (w *Watch) follow(p *pipeline.Pipeline, listed <-chan struct{}, signals <-chan os.Signal) (int, error) {
	ticker := time.NewTicker(pipeline.LookEvery)
	defer ticker.Stop()
	enough, stop := pipeline.After(w.For)
	defer stop()
	for {
		select {
		case o := <-p.In:
			p.Observe(o)
		case <-listed:
			listed = nil
			p.Say("watching %s; Ctrl-C ends it", w.what())
		case <-ticker.C:
			p.Drain()
			if err := w.show(p); err != nil {
				return cli.CodeError, err
			}
		case <-enough:
			return cli.CodeOK, w.leave(p)
		case <-signals:
			return cli.CodeInterrupted, w.leave(p)
		}
	}
}

// show prints the settled traces and draws the open ones.
func (w *Watch) show(p *pipeline.Pipeline) error {
	now := w.Time()
	if now.Before(p.NextLook) {
		return nil
	}
	defer func() { p.NextLook = now.Add(4 * w.Time().Sub(now)) }()
	if settled := w.wanted(p.Engine.Take(now)); len(settled) > 0 {
		p.Export(settled, now)
		if err := p.PrintAbove(settled, now); err != nil {
			return err
		}
	}
	p.Exporter.Export(w.wanted(p.Engine.Amendments()))
	if now.Sub(p.LastDraw) < pipeline.DrawEvery {
		return nil
	}
	p.LastDraw = now
	return p.View.Draw(w.wanted(open(p.Engine.Traces(now))), now)
}

// leave prints the traces that have not settled.
func (w *Watch) leave(p *pipeline.Pipeline) error {
	p.Drain()
	now := w.Time()
	_ = p.View.Close()
	rest := w.wanted(append(p.Engine.Take(now), open(p.Engine.Traces(now))...))
	p.Export(rest, now)
	if len(rest) == 0 {
		return nil
	}
	return p.Print(rest, now)
}

// wanted returns the traces that contain a target.
func (w *Watch) wanted(traces []*span.Trace) []*span.Trace {
	if len(w.targets) == 0 {
		return traces
	}
	var out []*span.Trace
	for _, t := range traces {
		if w.concerns(t) {
			out = append(out, t)
		}
	}
	return out
}

func (w *Watch) concerns(t *span.Trace) bool {
	for _, s := range t.Spans {
		for _, target := range w.targets {
			if s.Object.Name == target.Name && s.Object.Is(target.Kind.Group, target.Kind.Kind) {
				return true
			}
		}
	}
	return false
}

// resolve determines the targets of the names.
func (w *Watch) resolve(strict bool) error {
	w.targets = nil
	for _, name := range w.Names {
		target, err := w.Target(name, strict)
		if err != nil {
			return fmt.Errorf("cannot watch %s: %w", name, err)
		}
		w.targets = append(w.targets, target)
	}
	return nil
}

func (w *Watch) scope() watch.Scope {
	scope := watch.Scope{Namespaces: w.Namespaces}
	for _, t := range w.targets {
		scope.Resources = append(scope.Resources, t.Resource.GroupResource())
	}
	return scope
}

func (w *Watch) what() string {
	if w.Namespaces == nil {
		return "the whole cluster"
	}
	return "namespace " + w.Namespaces[0]
}

func open(traces []*span.Trace) []*span.Trace {
	var out []*span.Trace
	for _, t := range traces {
		if t.Outcome == span.Unfinished {
			out = append(out, t)
		}
	}
	return out
}
