// SPDX-License-Identifier: Apache-2.0

package ask

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"os"
	"slices"
	"sync"
	"time"

	"go.opentelemetry.io/otel/trace"

	"github.com/kube-lifeline/lifeline/app/internal/api/client"
	"github.com/kube-lifeline/lifeline/app/internal/cli"
	"github.com/kube-lifeline/lifeline/app/internal/object"
	"github.com/kube-lifeline/lifeline/app/internal/pipeline"
	"github.com/kube-lifeline/lifeline/app/internal/span"
)

// maxPrinted is the approximate number of printed traces to remember.
const maxPrinted = 4096

// stream shows the events of a server, as Watch.follow shows observations.
type stream struct {
	*Watch
	p    *pipeline.Pipeline
	open map[trace.TraceID]*span.Trace
	// printed are the recently printed traces, before the older ones.
	printed, before map[trace.TraceID]bool
}

// told is the next event or error from the server.
type told struct {
	event client.Event
	err   error
}

// ask shows the server's events until the user ends it.
func (w *Watch) ask(ctx context.Context, server *cli.Session, signals <-chan os.Signal) (int, error) {
	if err := w.resolve(false); err != nil {
		return cli.CodeError, err
	}
	x := &stream{Watch: w, p: pipeline.NewDisplay(
		w.Options, server.About.Cluster,
	), open: map[trace.TraceID]*span.Trace{}, printed: map[trace.TraceID]bool{}}
	ctx, cancel := context.WithCancel(ctx)
	events := make(chan told)
	var listening sync.WaitGroup
	listening.Go(func() { listen(ctx, server.Client, w.wish(), events) })
	defer listening.Wait()
	defer cancel()
	return x.follow(server, events, signals)
}

// listen forwards the server's events until ctx ends.
func listen(ctx context.Context, c *client.Client, wish object.Ref, out chan<- told) {
	for event, err := range c.Watch(ctx, wish) {
		select {
		case out <- told{event, err}:
		case <-ctx.Done():
			return
		}
	}
}

func (x *stream) follow(server *cli.Session, events <-chan told, signals <-chan os.Signal) (int, error) {
	ticker := time.NewTicker(pipeline.DrawEvery)
	defer ticker.Stop()
	enough, stop := pipeline.After(x.For)
	defer stop()
	greeted := false
	for {
		select {
		case t := <-events:
			if t.err != nil {
				_ = x.p.View.Close()
				return cli.CodeError, fmt.Errorf("cannot watch by the server at %s: %w", server.Server(), t.err)
			}
			switch {
			case t.event.Lost != nil:
				x.p.Say("lost the connection to %s; trying again (%s)",
					cli.Shown(server.Server()), cli.OneLine(t.event.Lost))
				continue
			case t.event.Synced && greeted:
				x.p.Say("connected to %s again", cli.Shown(server.Server()))
			case t.event.Synced:
				greeted = true
				x.p.Say("watching %s by the server at %s; Ctrl-C ends it", x.what(), cli.Shown(server.Server()))
			}
			if err := x.take(t.event); err != nil {
				return cli.CodeError, err
			}
		case <-ticker.C:
			if err := x.p.View.Draw(x.stillOpen(), x.Time()); err != nil {
				return cli.CodeError, err
			}
		case <-enough:
			return cli.CodeOK, x.leave()
		case <-signals:
			return cli.CodeInterrupted, x.leave()
		}
	}
}

// take records an open trace, and prints an ended one.
func (x *stream) take(e client.Event) error {
	if e.Trace == nil || e.Trace.Trace == nil {
		delete(x.open, e.Withdrawn)
		return nil
	}
	id, t := e.Trace.Trace.ID, e.Trace.Trace
	if e.Trace.Summary.Open {
		x.open[id] = t
		return nil
	}
	delete(x.open, id)
	if x.printed[id] || x.before[id] { // it was amended
		return nil
	}
	if len(x.printed) >= maxPrinted/2 {
		x.before, x.printed = x.printed, map[trace.TraceID]bool{}
	}
	x.printed[id] = true
	ended := x.wanted([]*span.Trace{t})
	if len(ended) == 0 {
		return nil
	}
	return x.p.PrintAbove(ended, x.Time())
}

// stillOpen returns the wanted open traces in order of their start.
func (x *stream) stillOpen() []*span.Trace {
	all := x.wanted(slices.Collect(maps.Values(x.open)))
	slices.SortFunc(all, func(a, b *span.Trace) int {
		return cmp.Or(begin(a).Compare(begin(b)), slices.Compare(a.ID[:], b.ID[:]))
	})
	return all
}

// begin returns a trace's start time.
func begin(t *span.Trace) time.Time {
	if root := t.Root(); root != nil {
		return root.Start.Time
	}
	return time.Time{}
}

// leave prints the open traces.
func (x *stream) leave() error {
	_ = x.p.View.Close()
	rest := x.stillOpen()
	if len(rest) == 0 {
		return nil
	}
	return x.p.Print(rest, x.Time())
}

// wish returns the filter for the server: the namespace, and the object if there is only one.
func (w *Watch) wish() object.Ref {
	var namespace string
	if len(w.Namespaces) == 1 {
		namespace = w.Namespaces[0]
	}
	if len(w.targets) == 1 {
		return w.targets[0].Ref(namespace)
	}
	for _, t := range w.targets {
		if !t.Namespaced { // it is in no namespace
			return object.Ref{}
		}
	}
	return object.Ref{Namespace: namespace}
}
