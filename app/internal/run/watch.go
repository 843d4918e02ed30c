// SPDX-License-Identifier: Apache-2.0

package run

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"k8s.io/client-go/rest"

	"github.com/kube-lifeline/lifeline/app/internal/source/proxy"
	"github.com/kube-lifeline/lifeline/app/internal/source/watch"
	"github.com/kube-lifeline/lifeline/app/internal/span"
)

// Watch shows each change in a cluster, during and after it: `lifeline watch`.
type Watch struct {
	Options
	// Namespaces limits it to these; nil means the whole cluster.
	Namespaces []string
	// Names, each KIND/NAME, limits it to traces that contain these objects; nil means every trace.
	Names []string
	// Server selects the server. With Record or OTLP no server is used: it provides no
	// observations, and exports spans itself.
	Server Server
	// Record and OTLP are the same as in Command.
	Record, OTLP string
	// For ends it after that time; 0 waits for Signals.
	For     time.Duration
	Signals <-chan os.Signal

	// targets are the objects in Names.
	targets []Target
}

// Validate returns an error for invalid options. It sends no request.
func (w *Watch) Validate() error {
	for _, name := range w.Names {
		if err := CheckTarget(name); err != nil {
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
	signals, release := (&Command{Signals: w.Signals}).interrupts()
	defer release()
	if w.Record == "" && w.OTLP == "" {
		server, err := w.server(ctx, w.Server)
		if err != nil {
			return CodeError, err
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
		return CodeError, proxy.ErrNoConfig
	}
	if err := w.resolve(true); err != nil {
		return CodeError, err
	}
	p, watcher, err := observe(ctx, w.Options, w.Record, w.OTLP)
	if err != nil {
		return CodeError, err
	}
	defer func() { err = errors.Join(err, end(p, watcher)) }()
	if err := watcher.Watch(ctx, w.scope()); err != nil {
		return CodeError, err
	}
	listed, stop := listed(ctx, watcher)
	defer stop()
	return w.follow(p, listed, signals)
}

func (w *Watch) follow(p *pipeline, listed <-chan struct{}, signals <-chan os.Signal) (int, error) {
	ticker := time.NewTicker(lookEvery)
	defer ticker.Stop()
	enough, stop := after(w.For)
	defer stop()
	for {
		select {
		case o := <-p.in:
			p.observe(o)
		case <-listed:
			listed = nil
			p.say("watching %s; Ctrl-C ends it", w.what())
		case <-ticker.C:
			p.drain()
			if err := w.show(p); err != nil {
				return CodeError, err
			}
		case <-enough:
			return CodeOK, w.leave(p)
		case <-signals:
			return CodeInterrupted, w.leave(p)
		}
	}
}

// show prints the settled traces and draws the open ones.
func (w *Watch) show(p *pipeline) error {
	now := w.now()
	if now.Before(p.nextLook) {
		return nil
	}
	defer func() { p.nextLook = now.Add(4 * w.now().Sub(now)) }()
	if settled := w.wanted(p.engine.Take(now)); len(settled) > 0 {
		p.export(settled, now)
		if err := p.printAbove(settled, now); err != nil {
			return err
		}
	}
	p.exporter.Export(w.wanted(p.engine.Amendments()))
	if now.Sub(p.lastDraw) < drawEvery {
		return nil
	}
	p.lastDraw = now
	return p.view.Draw(w.wanted(open(p.engine.Traces(now))), now)
}

// leave prints the traces that have not settled.
func (w *Watch) leave(p *pipeline) error {
	p.drain()
	now := w.now()
	_ = p.view.Close()
	rest := w.wanted(append(p.engine.Take(now), open(p.engine.Traces(now))...))
	p.export(rest, now)
	if len(rest) == 0 {
		return nil
	}
	return p.print(rest, now)
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
		target, err := w.target(name, strict)
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

// printAbove prints to standard output. On a shared terminal, it does not disturb the drawing
// below.
func (p *pipeline) printAbove(traces []*span.Trace, now time.Time) error {
	if !p.screen.terminal || !newScreen(p.opts.Streams.Out, p.opts.environ()).terminal {
		return p.print(traces, now)
	}
	var text bytes.Buffer
	if err := p.printTo(&text, traces, now, p.screen); err != nil {
		return err
	}
	_, err := p.view.Write(text.Bytes())
	return err
}

// observe starts a pipeline with a Watcher as its source.
func observe(ctx context.Context, o Options, record, otlp string) (*pipeline, *watch.Watcher, error) {
	cfg := rest.CopyConfig(o.Kubeconfig.Current())
	cluster, err := watch.Identity(ctx, cfg)
	if err != nil {
		return nil, nil, err
	}
	p, err := newPipeline(ctx, o, cluster, record, otlp)
	if err != nil {
		return nil, nil, err
	}
	watcher, err := p.watcher(cfg)
	if err != nil {
		return nil, nil, errors.Join(err, p.close())
	}
	return p, watcher, nil
}

// end stops the pipeline and the Watcher of observe.
func end(p *pipeline, watcher *watch.Watcher) error {
	p.stop()
	watcher.Close()
	return p.close()
}

// after returns a channel that receives after d; never for 0.
func after(d time.Duration) (<-chan time.Time, func()) {
	if d <= 0 {
		return nil, func() {}
	}
	timer := time.NewTimer(d)
	return timer.C, func() { timer.Stop() }
}
