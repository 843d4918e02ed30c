// SPDX-License-Identifier: Apache-2.0

package run

import (
	"context"
	"os"
	"time"

	"go.opentelemetry.io/otel/attribute"

	"github.com/kube-lifeline/lifeline/app/internal/insight"
	"github.com/kube-lifeline/lifeline/app/internal/observation"
	"github.com/kube-lifeline/lifeline/app/internal/pipeline"
	"github.com/kube-lifeline/lifeline/app/internal/reason"
	"github.com/kube-lifeline/lifeline/app/internal/span"
)

const (
	// lostAfter is how long a failure must last before the wait ends.
	lostAfter = time.Second
	// quiesce bounds the wait for responses that the command did not wait for.
	quiesce = 3 * time.Second
)

// await feeds the engine until the command has ended and its effects have settled. The timeout or
// an interrupt also ends it.
func (x *execution) await(signals <-chan os.Signal, exited <-chan struct{}, run *observation.Run) {
	ticker := time.NewTicker(pipeline.LookEvery)
	defer ticker.Stop()
	x.last = run
	var deadline <-chan time.Time
	var synced <-chan struct{}
	complete := false
	for {
		select {
		case o := <-x.pipeline.In:
			x.pipeline.Observe(o)
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
			x.pipeline.Drain()
			return
		case s := <-signals:
			switch {
			case exited == nil || deadline != nil: // the command has ended, or was killed
				x.interrupted = true
				x.child.kill()
				x.pipeline.Drain()
				return
			case x.interrupted: // its last writes are still to be observed
				x.child.kill()
				deadline = time.After(quiesce)
			default:
				x.interrupted = true
				x.child.pass(s)
			}
		case <-ticker.C:
			x.pipeline.Drain()
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
	x.pipeline.Drain()
	end := *run
	end.End = x.child.end
	end.ExitCode = x.child.code
	x.code = x.child.code
	x.last = &end
	x.announcer.command(end)
	x.pipeline.Observe(&observation.Observation{Seen: end.End, Source: observation.SourceRun, Run: &end})
}

// look draws the progress and reports whether the effects have settled. It must not disturb a
// command that writes to the same terminal.
func (x *execution) look(ended, complete bool) bool {
	now := x.Time()
	if now.Before(x.pipeline.NextLook) {
		return false
	}
	defer func() {
		// Deriving a big trace takes long: leave time for observations.
		x.pipeline.NextLook = now.Add(4 * x.Time().Sub(now))
	}()
	id := x.root.TraceID()
	if ended && complete && x.pipeline.Engine.Settled(id, now) {
		x.settled = true
		return true
	}
	if x.proxy.Writes() == 0 || now.Sub(x.pipeline.LastDraw) < pipeline.DrawEvery {
		return false
	}
	x.pipeline.LastDraw = now
	traces := x.pipeline.Engine.Related(id, now)
	if ended || !x.pipeline.Screen.Terminal {
		_ = x.pipeline.View.Draw(traces, now)
	}
	if ended && complete && x.FailFast {
		if x.hopeless = hopeless(traces, now, x.CrashLoop); x.hopeless != "" {
			return true
		}
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

// hopeless returns the reason of a trace that nothing in sight can change, or "". crash is the time after
// which that holds for a crash loop.
func hopeless(traces []*span.Trace, now time.Time, crash time.Duration) string {
	for _, t := range traces {
		root := t.Root()
		if root == nil || !root.Open() {
			continue
		}
		since, err := time.Parse(time.RFC3339Nano, insight.Attribute(root, span.KeyReasonSince))
		for _, key := range []attribute.Key{span.KeyReason, span.KeyReasonCause} {
			if reason.Category(insight.Attribute(root, key)).Final(now.Sub(since), crash) && err == nil {
				return t.Reason
			}
		}
	}
	return ""
}

// givenUp reports whether a trace has failed or was refused, and none of the command's own requests is in progress.
// Open spans below them, such as an endless crash loop, do not count.
func givenUp(traces []*span.Trace) bool {
	failed := false
	for _, t := range traces {
		failed = failed || t.Outcome.InVain()
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

// synced returns a channel that closes when all followed resources have been listed once.
func (f *followers) synced() <-chan struct{} {
	done := make(chan struct{})
	watchers := f.all()
	f.waits.Go(func() {
		defer close(done)
		ctx, cancel := context.WithTimeout(f.ctx, pipeline.SyncPatience)
		defer cancel()
		for _, w := range watchers {
			_ = w.Synced(ctx) // the watcher has warned of missing lists
		}
	})
	return done
}
