// SPDX-License-Identifier: Apache-2.0

package serve

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"

	"github.com/kube-lifeline/lifeline/app/internal/span"
	"github.com/kube-lifeline/lifeline/app/internal/stitch"
)

// joinSettle is the least for which a trace has to be quiet where spans of other
// components are received: they come up to five seconds late, and their times are
// better than those of a watch.
const joinSettle = 6 * time.Second

// joining joins the spans of other components to the traces of a recorder. It is
// the recorder's, and for its goroutine. A nil joining joins nothing.
type joining struct {
	stitch *stitch.Stitcher
	// pass takes what belongs to no change.
	pass func([]*span.Trace)
	// stats is told what was done, after each look.
	stats func(joiningStats)
	// told is told of the traces that were handed out, as they were, and of what
	// came late for them; may be nil.
	told func(traces []*span.Trace, now time.Time)
	// came says that spans have come since the last look.
	came bool
	// window is that of stitch's options, and copies what is kept of what waits;
	// without a window nothing is.
	window time.Duration
	copies copies
}

// joiningStats is what was joined, and what is kept of what waits.
type joiningStats struct {
	stitch.Stats
	// CopiedBytes is what the copies take, and Uncopied counts the spans whose
	// copies went for want of room while they still waited.
	CopiedBytes int
	Uncopied    int64
}

// accept takes in spans of other components.
func (j *joining) accept(spans []*span.Span, now time.Time) {
	j.stitch.Accept(spans, now)
	j.came = true
}

// copyFresh makes copies of what was accepted, which the caller stores.
func (j *joining) copyFresh(now time.Time) map[string][]byte {
	j.copies.put(j.stitch.Fresh(j.copies.next()), nil, now)
	return j.copies.unwritten
}

// copyAll brings the copies up to date with what waits after a look.
func (j *joining) copyAll(now time.Time) map[string][]byte {
	j.copies.expire(j.window, now)
	j.copies.put(j.stitch.Fresh(j.copies.next()), j.stitch.Left(), now)
	return j.copies.unwritten
}

// copied says that the copies are stored.
func (j *joining) copied() {
	if j != nil {
		j.copies.unwritten = nil
	}
}

// recopy makes copies of all that waits, for a store that was begun anew.
func (j *joining) recopy(now time.Time) map[string][]byte {
	j.copies.begin()
	j.stitch.Lost()
	return j.copyAll(now)
}

// idle reports whether a look would change nothing here.
func (j *joining) idle() bool {
	return j == nil || !j.came && j.stitch.Stats().Buffered == 0 && j.copies.idle()
}

// resume takes in what waited when the server before was ended.
func (j *joining) resume(now time.Time) {
	if j == nil {
		return
	}
	if found := j.copies.takeFound(); len(found) > 0 {
		j.accept(found, now)
	}
}

// open returns traces that more is expected of with what belongs to them.
func (j *joining) open(traces []*span.Trace, now time.Time) []*span.Trace {
	return j.join(traces, false, now)
}

// finished is open for traces that are handed out, and comes first in a look. What
// comes later for them comes from late.
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
		j.tell(out, now)
	}
	return out
}

// amended takes note of what the engine adds to traces that were handed out: a
// write, say, of which the audit log told late. It comes before late.
func (j *joining) amended(traces []*span.Trace) {
	if j == nil {
		return
	}
	for _, t := range traces {
		j.stitch.Amend(t)
	}
}

// late returns what has come for traces that were handed out, after the traces
// of this look were, and ends the wait of what belongs to none.
func (j *joining) late(now time.Time) []*span.Trace {
	if j == nil {
		return nil
	}
	j.came = false
	out := j.stitch.Late()
	j.tell(out, now)
	j.let(now)
	return out
}

func (j *joining) tell(traces []*span.Trace, now time.Time) {
	if j.told != nil && len(traces) > 0 {
		j.told(traces, now)
	}
}

// let passes on what has waited long enough at now.
func (j *joining) let(now time.Time) {
	if passed := j.stitch.Expire(now); len(passed) > 0 && j.pass != nil {
		j.pass(passed)
	}
	j.stats(joiningStats{Stats: j.stitch.Stats(), CopiedBytes: j.copies.bytes, Uncopied: j.copies.lost})
}

// end ends the wait of everything but that of which there are copies in the store:
// for that the next start goes on to wait.
func (j *joining) end(now time.Time) {
	if j == nil {
		return
	}
	if len(j.copies.unwritten) == 0 {
		j.stitch.Leave(j.copies.first())
	}
	j.let(now.Add(stitchForever))
}

// stitchForever is longer than anything waits.
const stitchForever = 2 * time.Hour

// forget forgets a trace that turned out to be none.
func (j *joining) forget(id trace.TraceID) {
	if j != nil {
		j.stitch.Forget(id)
	}
}

// restore takes in again what had been joined to a trace that is still open.
func (j *joining) restore(t *span.Trace, now time.Time) {
	if j == nil {
		return
	}
	if spans := separate(t); len(spans) > 0 {
		j.accept(spans, now)
	}
}

// separate returns the spans of others that were joined to t, as they came.
func separate(t *span.Trace) []*span.Span {
	var out []*span.Span
	for _, s := range t.Spans {
		if s.Origin == nil {
			continue
		}
		was := *s
		was.TraceID, was.Parent, was.Evidence = s.Origin.TraceID, s.Origin.Parent, ""
		was.Attributes = nil
		for _, kv := range s.Attributes {
			switch kv.Key {
			case span.KeyOriginSpan:
				if id, err := trace.SpanIDFromHex(kv.Value.AsString()); err == nil {
					was.ID = id
				}
			case span.KeyCorrection:
				shift(&was, -seconds(kv.Value))
			default:
				was.Attributes = append(was.Attributes, kv)
			}
		}
		out = append(out, &was)
	}
	return out
}

func seconds(v attribute.Value) time.Duration {
	return time.Duration(math.Round(v.AsFloat64() * float64(time.Second)))
}

func shift(s *span.Span, by time.Duration) {
	s.Start.Time, s.End.Time = s.Start.Add(by), s.End.Add(by)
	events := make([]span.Event, len(s.Events))
	for i, e := range s.Events {
		if !e.Time.IsZero() {
			e.Time = e.Time.Add(by)
		}
		events[i] = e
	}
	s.Events = events
}

// errEnding says that the server takes in nothing more.
var errEnding = errors.New("lifeline serve is ending")

// handed are spans on their way to the loop, which says on done what has become of
// them.
type handed struct {
	spans []*span.Span
	done  chan error
}

// Accept implements otlp.Sink: it hands spans to the loop, and waits until that
// has taken them and stored what waits: nobody else has them once their sender was
// answered. It returns at once while the store cannot be written.
func (l *loop) Accept(ctx context.Context, spans []*span.Span) error {
	ctx, done := l.s.writable.while(ctx)
	defer done()
	select {
	case <-l.quit:
		return errEnding
	case <-ctx.Done():
		return context.Cause(ctx)
	default:
	}
	h := handed{spans, make(chan error, 1)}
	select {
	case l.spans <- h:
	case <-l.quit:
		return errEnding
	case <-ctx.Done():
		return fmt.Errorf("the loop is busy: %w", context.Cause(ctx))
	}
	select {
	case err := <-h.done:
		return err
	case <-ctx.Done():
		return fmt.Errorf("the store is busy: %w", context.Cause(ctx))
	}
}

// takeSpans takes in spans, and what others have handed on meanwhile, and stores
// the copies of all in one go. Where that fails their senders send them again,
// which are known then.
func (l *loop) takeSpans(ctx context.Context, first handed) {
	now := l.s.clock.Now()
	group := []handed{first}
	for more := true; more && len(group) < maxGroup; {
		select {
		case h := <-l.spans:
			group = append(group, h)
		default:
			more = false
		}
	}
	for _, h := range group {
		l.s.received.Spans(h.spans, now)
		l.recorder.joining.accept(h.spans, now)
	}
	ctx, cancel := context.WithTimeout(ctx, lastTries)
	defer cancel()
	err := l.recorder.storeCopies(ctx, now)
	if err != nil {
		l.s.metrics.StoreErrors.Inc()
		l.s.troubled(err)
	}
	for _, h := range group {
		h.done <- err
	}
}

// maxGroup is how many requests are stored in one go.
const maxGroup = 64
