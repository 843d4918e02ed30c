// SPDX-License-Identifier: Apache-2.0

package run

import (
	"context"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/kube-lifeline/lifeline/app/internal/observation"
	"github.com/kube-lifeline/lifeline/app/internal/span"
)

// lookEvery is how often the engine is asked how far things are, and how often
// the drawing changes at most.
const (
	lookEvery = 100 * time.Millisecond
	drawEvery = 200 * time.Millisecond
	// lostAfter is how long a failure must stand before nothing more is
	// waited for.
	lostAfter = time.Second
	// quiesce bounds the wait for answers that the command has not waited for.
	quiesce = 3 * time.Second
)

// await feeds the engine until the command has ended and what it caused has
// settled, the timeout has passed or the user has had enough.
func (x *execution) await(signals <-chan os.Signal, exited <-chan struct{}, run *observation.Run) {
	ticker := time.NewTicker(lookEvery)
	defer ticker.Stop()
	x.last = run
	var deadline <-chan time.Time
	var synced <-chan struct{}
	complete := false
	for {
		select {
		case o := <-x.in:
			x.observe(o)
		case <-exited:
			exited = nil
			x.ended(run)
			// Ctrl-C may have ended the command before we hear of it.
			x.interrupted = x.interrupted || len(signals) > 0
			if x.interrupted {
				return
			}
			if x.proxy.Writes() == 0 {
				x.settled = true
				return
			}
			timer := time.NewTimer(x.Timeout)
			defer timer.Stop()
			deadline, synced = timer.C, x.followers.synced()
		case <-synced:
			synced, complete = nil, true
		case <-deadline:
			x.drain()
			return
		case s := <-signals:
			if x.interrupted || exited == nil {
				x.interrupted = true
				x.child.kill()
				x.drain()
				return
			}
			x.interrupted = true
			x.child.pass(s)
		case <-ticker.C:
			x.drain()
			if x.look(exited == nil, complete) {
				return
			}
		}
	}
}

// ending is closed when the command has ended and all that it wrote has been
// emitted.
func (x *execution) ending(ctx context.Context) <-chan struct{} {
	done := make(chan struct{})
	x.followers.waits.Go(func() {
		defer close(done)
		<-x.child.exited
		ctx, cancel := context.WithTimeout(ctx, quiesce)
		defer cancel()
		x.proxy.Quiesce(ctx)
	})
	return done
}

// ended takes note of the command's end.
func (x *execution) ended(run *observation.Run) {
	x.drain()
	end := *run
	end.End = x.child.end
	end.ExitCode = x.child.code
	x.code = x.child.code
	x.last = &end
	x.observe(&observation.Observation{Seen: end.End, Source: observation.SourceRun, Run: &end})
}

// look draws how far things are and reports whether they have settled. The
// drawing must not disturb a command that writes to the same terminal.
func (x *execution) look(ended, complete bool) bool {
	now := x.now()
	if now.Before(x.nextLook) {
		return false
	}
	defer func() {
		// A big trace takes long to derive: leave time for observations.
		x.nextLook = now.Add(4 * x.now().Sub(now))
	}()
	id := x.root.TraceID()
	if ended && complete && x.engine.Settled(id, now) {
		x.settled = true
		return true
	}
	if x.proxy.Writes() == 0 || now.Sub(x.lastDraw) < drawEvery {
		return false
	}
	x.lastDraw = now
	traces := x.engine.Related(id, now)
	if ended || !x.screen.terminal {
		_ = x.view.Draw(traces, now)
	}
	if !ended || !complete || !givenUp(traces) {
		x.lost = time.Time{}
		return false
	}
	if x.lost.IsZero() {
		x.lost = now
	}
	return now.Sub(x.lost) >= lostAfter
}

// givenUp reports whether a trace has failed and nothing that the command
// itself asked for is still under way: what goes on below (a Pod that is
// restarted for ever) will not end it.
func givenUp(traces []*span.Trace) bool {
	failed := false
	for _, t := range traces {
		failed = failed || t.Outcome == span.Failed
		root := t.Root()
		if root == nil || root.Open() {
			return false
		}
		for _, s := range t.Spans {
			if s.Parent == root.ID && s.Open() && root.Object.Name == "" {
				return false
			}
		}
	}
	return failed
}

// interrupts gives the signals that end the run. While they are taken, the
// terminal's Ctrl-C reaches the command too: it is in the same process group.
func (c *Command) interrupts() (<-chan os.Signal, func()) {
	if c.Signals != nil {
		return c.Signals, func() {}
	}
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	return signals, func() { signal.Stop(signals) }
}

// synced is closed when all that is followed has been listed once.
func (f *followers) synced() <-chan struct{} {
	done := make(chan struct{})
	watchers := f.all()
	f.waits.Go(func() {
		defer close(done)
		ctx, cancel := context.WithTimeout(f.ctx, syncPatience)
		defer cancel()
		for _, w := range watchers {
			_ = w.Synced(ctx) // what could not be listed was said by the watcher
		}
	})
	return done
}
