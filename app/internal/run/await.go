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

// lookEvery is the interval of checks of the engine, and drawEvery the minimum interval of redraws.
const (
	lookEvery = 100 * time.Millisecond
	drawEvery = 200 * time.Millisecond
	// lostAfter is how long a failure must last before the wait ends.
	lostAfter = time.Second
	// quiesce bounds the wait for responses that the command did not wait for.
	quiesce = 3 * time.Second
)

// await feeds the engine until the command has ended and its effects have settled. The timeout or
// an interrupt also ends it.
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
			// Ctrl-C may have ended the command before its signal arrives here.
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

// ending returns a channel that closes when the command has ended and all its writes have been
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

// ended records the command's end.
func (x *execution) ended(run *observation.Run) {
	x.drain()
	end := *run
	end.End = x.child.end
	end.ExitCode = x.child.code
	x.code = x.child.code
	x.last = &end
	x.observe(&observation.Observation{Seen: end.End, Source: observation.SourceRun, Run: &end})
}

// look draws the progress and reports whether the effects have settled. It must not disturb a
// command that writes to the same terminal.
func (x *execution) look(ended, complete bool) bool {
	now := x.now()
	if now.Before(x.nextLook) {
		return false
	}
	defer func() {
		// Deriving a big trace takes long: leave time for observations.
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

// givenUp reports whether a trace has failed and none of the command's own requests is in progress.
// Open spans below them, such as an endless crash loop, do not count.
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

// interrupts returns the signals that end the run. During it, the terminal's Ctrl-C also reaches
// the command, in the same process group.
func (c *Command) interrupts() (<-chan os.Signal, func()) {
	if c.Signals != nil {
		return c.Signals, func() {}
	}
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	return signals, func() { signal.Stop(signals) }
}

// synced returns a channel that closes when all followed resources have been listed once.
func (f *followers) synced() <-chan struct{} {
	done := make(chan struct{})
	watchers := f.all()
	f.waits.Go(func() {
		defer close(done)
		ctx, cancel := context.WithTimeout(f.ctx, syncPatience)
		defer cancel()
		for _, w := range watchers {
			_ = w.Synced(ctx) // the watcher has warned of missing lists
		}
	})
	return done
}
