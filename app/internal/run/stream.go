// SPDX-License-Identifier: Apache-2.0

package run

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
	"github.com/kube-lifeline/lifeline/app/internal/object"
	"github.com/kube-lifeline/lifeline/app/internal/span"
)

// maxPrinted is about how many traces are remembered to have been printed.
const maxPrinted = 4096

// stream shows what a server tells, as follow does what is observed.
type stream struct {
	*Watch
	p    *pipeline
	open map[trace.TraceID]*span.Trace
	// printed are the traces that were printed, before those that were
	// printed before them.
	printed, before map[trace.TraceID]bool
}

// told is what the server tells next.
type told struct {
	event client.Event
	err   error
}

// ask shows what a server tells until the user has enough.
func (w *Watch) ask(ctx context.Context, server *session, signals <-chan os.Signal) (int, error) {
	if err := w.resolve(false); err != nil {
		return CodeError, err
	}
	x := &stream{Watch: w, p: newDisplay(w.Options, server.info.Cluster), open: map[trace.TraceID]*span.Trace{}, printed: map[trace.TraceID]bool{}}
	ctx, cancel := context.WithCancel(ctx)
	events := make(chan told)
	var listening sync.WaitGroup
	listening.Go(func() { listen(ctx, server.Client, w.wish(), events) })
	defer listening.Wait()
	defer cancel()
	return x.follow(server, events, signals)
}

// listen hands on what the server tells until ctx ends.
func listen(ctx context.Context, c *client.Client, wish object.Ref, out chan<- told) {
	for event, err := range c.Watch(ctx, wish) {
		select {
		case out <- told{event, err}:
		case <-ctx.Done():
			return
		}
	}
}

func (x *stream) follow(server *session, events <-chan told, signals <-chan os.Signal) (int, error) {
	ticker := time.NewTicker(drawEvery)
	defer ticker.Stop()
	enough, stop := after(x.For)
	defer stop()
	greeted := false
	for {
		select {
		case t := <-events:
			if t.err != nil {
				_ = x.p.view.Close()
				return CodeError, fmt.Errorf("cannot watch by the server at %s: %w", server.Server(), t.err)
			}
			switch {
			case t.event.Synced && greeted:
				x.p.say("the connection to %s was lost, and is there again", shown(server.Server()))
			case t.event.Synced:
				greeted = true
				x.p.say("watching %s by the server at %s; Ctrl-C ends it", x.what(), shown(server.Server()))
			}
			if err := x.take(t.event); err != nil {
				return CodeError, err
			}
		case <-ticker.C:
			if err := x.p.view.Draw(x.stillOpen(), x.now()); err != nil {
				return CodeError, err
			}
		case <-enough:
			return CodeOK, x.leave()
		case <-signals:
			return CodeInterrupted, x.leave()
		}
	}
}

// take notes an open trace, and prints one that has ended.
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
	return x.p.printAbove(ended, x.now())
}

// stillOpen are the open traces that are wanted, in order of their start.
func (x *stream) stillOpen() []*span.Trace {
	all := x.wanted(slices.Collect(maps.Values(x.open)))
	slices.SortFunc(all, func(a, b *span.Trace) int {
		return cmp.Or(begin(a).Compare(begin(b)), slices.Compare(a.ID[:], b.ID[:]))
	})
	return all
}

// begin is when a trace began.
func begin(t *span.Trace) time.Time {
	if root := t.Root(); root != nil {
		return root.Start.Time
	}
	return time.Time{}
}

// leave prints what is still open.
func (x *stream) leave() error {
	_ = x.p.view.Close()
	rest := x.stillOpen()
	if len(rest) == 0 {
		return nil
	}
	return x.p.print(rest, x.now())
}

// wish is what the server is asked for: the namespace, and the object if it is
// one only.
func (w *Watch) wish() object.Ref {
	var namespace string
	if len(w.Namespaces) == 1 {
		namespace = w.Namespaces[0]
	}
	if len(w.targets) == 1 {
		return w.targets[0].ref(namespace)
	}
	for _, t := range w.targets {
		if !t.Namespaced { // it is in no namespace
			return object.Ref{}
		}
	}
	return object.Ref{Namespace: namespace}
}
