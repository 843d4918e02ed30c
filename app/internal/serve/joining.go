// SPDX-License-Identifier: Apache-2.0

package serve

import (
	"time"

	"go.opentelemetry.io/otel/trace"

	"github.com/kube-lifeline/lifeline/app/internal/config"
	"github.com/kube-lifeline/lifeline/app/internal/span"
	"github.com/kube-lifeline/lifeline/app/internal/stitch"
)

// joinSettle is the shortest quiet time of a trace if spans of other components are received. They
// come up to five seconds late, and their times are more exact than a watch's.
const joinSettle = 6 * time.Second

// joining joins the spans of other components to the traces of a recorder. It belongs to the
// recorder and its goroutine. A nil joining joins nothing.
type joining struct {
	stitch *stitch.Stitcher
	// pass gets the spans without a change; nil drops them.
	pass func([]*span.Trace)
	// stats gets the counts after each look.
	stats func(joiningStats)
	// handedOut gets the finished traces with their joined spans, and later the late spans; may be
	// nil.
	handedOut func(traces []*span.Trace, now time.Time)
	// came is true if spans came since the last look.
	came bool
	// copies are the stored copies of held spans.
	copies copies
}

// newJoining returns the joining of other components' spans, if any are received. counts gets the
// counts of each look.
func newJoining(c *config.ServerConfiguration, counts *joinedCounts) *joining {
	if !receivesSpans(c) {
		return nil
	}
	return &joining{
		stitch: stitch.New(stitch.Options{
			Mode:   stitch.Mode(c.Joining.Mode),
			Drop:   drops(c),
			Window: c.Joining.Window.Duration,
			Kept:   true,
		}),
		stats: func(st joiningStats) { counts.Store(&st) },
	}
}

func receivesSpans(c *config.ServerConfiguration) bool {
	return c.Receivers.OTLP.GRPC.Address != "" || c.Receivers.OTLP.HTTP.Address != ""
}

// drops reports whether spans without a change are dropped.
func drops(c *config.ServerConfiguration) bool { return c.Joining.Unjoined == config.UnjoinedDrop }

// passes reports whether spans without a change may be sent on unchanged.
func passes(c *config.ServerConfiguration) bool {
	return receivesSpans(c) && (!drops(c) || stitch.Mode(c.Joining.Mode) == stitch.Link)
}

// accept adds spans of other components.
func (j *joining) accept(spans []*span.Span, now time.Time) {
	j.stitch.Accept(spans, now)
	j.came = true
}

// copyFresh returns copies of the accepted spans, for the caller to store.
func (j *joining) copyFresh(now time.Time) map[string][]byte {
	j.copies.put(j.stitch.Fresh(j.copies.next()), nil, now)
	return j.copies.unwritten
}

// copyAll updates the copies after a look.
func (j *joining) copyAll(now time.Time) map[string][]byte {
	if last := j.copies.aged(now); last != 0 {
		j.stitch.Again(last)
		j.copies.empty(last)
	}
	j.copies.put(j.stitch.Fresh(j.copies.next()), j.stitch.Left(), now)
	return j.copies.unwritten
}

// copied marks the copies as stored.
func (j *joining) copied() {
	if j != nil {
		j.copies.unwritten = nil
	}
}

// recopy makes copies of all waiting spans, for a new store.
func (j *joining) recopy(now time.Time) map[string][]byte {
	j.copies.begin()
	j.stitch.Lost()
	return j.copyAll(now)
}

// idle reports whether a look would change nothing here.
func (j *joining) idle() bool {
	return j == nil || !j.came && j.stitch.Stats().Buffered == 0 && j.copies.idle()
}

// resume accepts the waiting spans of the previous server.
func (j *joining) resume(now time.Time) {
	if j == nil {
		return
	}
	if found := j.copies.takeFound(); len(found) > 0 {
		j.accept(found, now)
	}
}

// open returns open traces with their joined spans.
func (j *joining) open(traces []*span.Trace, now time.Time) []*span.Trace {
	return j.join(traces, false, now)
}

// finished joins spans to finished traces, as open does to open ones. It is the first call of a look. late returns
// later spans of finished traces.
func (j *joining) finished(traces []*span.Trace, now time.Time) []*span.Trace {
	j.resume(now)
	return j.join(traces, true, now)
}

func (j *joining) join(traces []*span.Trace, finished bool, now time.Time) []*span.Trace {
	if j == nil {
		return traces
	}
	out := make([]*span.Trace, len(traces))
	for i, t := range traces {
		out[i] = j.stitch.Join(t, finished, now)
	}
	if finished {
		j.report(out, now)
	}
	return out
}

// amended registers the engine's amendments of finished traces, such as a write from a late audit
// event. It comes before late.
func (j *joining) amended(traces []*span.Trace) {
	if j == nil {
		return
	}
	for _, t := range traces {
		j.stitch.Amend(t)
	}
}

// late returns the late spans of finished traces, after the look's own traces. It also ends the
// wait of spans without a trace.
func (j *joining) late(now time.Time) []*span.Trace {
	if j == nil {
		return nil
	}
	j.came = false
	out := j.stitch.Late()
	j.report(out, now)
	j.let(now)
	return out
}

func (j *joining) report(traces []*span.Trace, now time.Time) {
	if j.handedOut != nil && len(traces) > 0 {
		j.handedOut(traces, now)
	}
}

// let passes on spans whose wait is over at now.
func (j *joining) let(now time.Time) {
	if passed := j.stitch.Expire(now); len(passed) > 0 && j.pass != nil {
		j.pass(passed)
	}
	j.stats(joiningStats{Stats: j.stitch.Stats(), CopiedBytes: j.copies.bytes, Uncopied: j.copies.lost})
}

// end ends the wait of all spans, except those with stored copies. The next start continues their
// wait.
func (j *joining) end(now time.Time) {
	if j == nil {
		return
	}
	if len(j.copies.unwritten) == 0 {
		j.stitch.Leave(j.copies.first())
	}
	j.let(now.Add(stitchForever))
}

// stitchForever is longer than any wait.
const stitchForever = 2 * time.Hour

// forget removes a withdrawn trace.
func (j *joining) forget(id trace.TraceID) {
	if j != nil {
		j.stitch.Forget(id)
	}
}
