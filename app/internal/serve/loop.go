// SPDX-License-Identifier: Apache-2.0

package serve

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/kube-lifeline/lifeline/app/internal/journal"
	"github.com/kube-lifeline/lifeline/app/internal/received"
	"github.com/kube-lifeline/lifeline/app/internal/store"
)

const (
	// lookEvery is the shortest pause between two looks. The pause is restShare times the duration of the last look.
	// That duration includes the wait for the watches. A look and its pause take at most maxPeriod, unless the look
	// alone takes more than half of it; then the pause is as long as the look. So looks use at most half of one core,
	// and after a backlog the next look is not late as well.
	lookEvery = 500 * time.Millisecond
	restShare = 150
	maxPeriod = 1400 * time.Millisecond
	// flushTime bounds the wait of a look for the waiting changes of the watches.
	flushTime = time.Second
	// maxSeen bounds the observations of one look.
	maxSeen = 20_000
	// firstRetry and maxRetry bound the pauses between attempts to store a look.
	firstRetry, maxRetry = 200 * time.Millisecond, 5 * time.Second
	// copyTries bounds the storing of copies of spans, and lastTries the attempts to store the last
	// look, with the engine of a large cluster.
	copyTries, lastTries = 5 * time.Second, 15 * time.Second
	// saveRetry is the pause after a failed save of the engine.
	saveRetry = time.Minute
	// countEvery is the period of the count of the engine's objects.
	countEvery = 10 * time.Second
)

// loop is the part with the one goroutine that owns the recorder. It takes the data of the intake, and
// looks at the engine.
type loop struct {
	loopOptions

	in       *intake
	recorder *recorder
	counted  time.Time
	// saveFailed is the time of the last failed save of the engine.
	saveFailed time.Time
	// stored are called after the next stored look.
	stored []func()

	running chan error
}

// loopOptions configure a loop. All but Flush, Delayed and Related are required.
type loopOptions struct {
	Now func() time.Time
	// Flush requests the changes that wait in the watches. The result is closed when they are in the
	// intake, or after a time.
	Flush func(time.Duration) <-chan struct{}
	// Received counts the taken data.
	Received *received.Tally
	// Delayed gets the error of each look that is not stored, and nil after a stored one.
	Delayed func(error)
	// Related gets the numbers of related pairs after each look.
	Related  func(map[string]uint64)
	Progress *progress
	Metrics  *loopMetrics
	// Errors counts failed writes.
	Errors prometheus.Counter
	Log    *slog.Logger
}

func newLoop(in *intake, r *recorder, o loopOptions) *loop {
	return &loop{loopOptions: o, in: in, recorder: r}
}

// Start implements part.
func (l *loop) Start(context.Context) error {
	l.running = make(chan error, 1)
	go func() { l.running <- l.run() }()
	return nil
}

// Stop implements part. All sources must have ended. It stores their data and saves the engine. An
// error means that the last look was not stored; the next start reads its data again.
func (l *loop) Stop() error {
	l.in.close()
	l.in.end()
	return <-l.running
}

// run looks until the intake has ended. Then it stores the rest and saves the engine.
func (l *loop) run() error {
	next := time.NewTimer(lookEvery)
	defer next.Stop()
	retry := pauses{firstRetry, maxRetry}
	ctx := context.Background()
	var flushed <-chan struct{}
	var began time.Time
	for {
		filling, spans := l.in.filling, l.in.spans
		if l.recorder.blocked() || len(l.recorder.seen) >= maxSeen {
			filling, spans = nil, nil
		}
		select {
		case <-filling:
			if l.takeWaiting(l.Now()); len(l.recorder.seen) >= maxSeen {
				next.Reset(0) // the watches wait
			}
		case h := <-spans:
			l.takeWaiting(l.Now()) // storing the copies may take long
			l.takeSpans(ctx, h)
		case f := <-l.in.calls:
			f(l.recorder)
		case <-l.in.quit:
			if filling == nil {
				// A store that stays unwritable must not delay the end.
				return l.last(ctx)
			}
			l.drain()
			return l.last(ctx)
		case <-next.C:
			began, flushed = time.Now(), l.flush()
		case <-flushed:
			flushed = nil
			l.takeWaiting(l.Now())
			if err := l.look(ctx); err != nil {
				next.Reset(retry.take())
				continue
			}
			retry.next = firstRetry
			pause := pauseAfter(time.Since(began))
			if l.save(ctx) {
				pause = 0 // the observations waited
			}
			next.Reset(pause)
			l.in.checkFilling()
		}
	}
}

// pauseAfter returns the pause after a look.
func pauseAfter(took time.Duration) time.Duration {
	return max(lookEvery, min(restShare*took, max(maxPeriod-took, took)))
}

// flush requests the changes that wait in the watches, so that the look has all that has arrived. The
// result is closed when they are in l.in.
func (l *loop) flush() <-chan struct{} {
	if l.Flush == nil || l.recorder.blocked() || len(l.recorder.seen) >= maxSeen {
		nothing := make(chan struct{})
		close(nothing)
		return nothing
	}
	return l.Flush(flushTime)
}

// takeWaiting takes the items that wait; now is the time of taking. A look without them would count the time of a
// long look as quiet. It also takes those that arrive meanwhile, up to a bound.
func (l *loop) takeWaiting(now time.Time) {
	for n := 2 * backlog; n > 0 && l.in.waiting() > 0 && !l.recorder.blocked() && len(l.recorder.seen) < maxSeen; n-- {
		l.take(<-l.in.items, now)
	}
}

// save replaces the stored inputs by the engine if they are long. It reports whether it saved the
// engine. A failure delays nothing: the inputs continue.
func (l *loop) save(ctx context.Context) bool {
	if !l.recorder.long() || !l.saveFailed.IsZero() && time.Since(l.saveFailed) < saveRetry {
		return false
	}
	began := time.Now()
	if err := l.recorder.replaceInputs(ctx); err != nil {
		l.saveFailed = time.Now()
		l.Errors.Inc()
		if !errors.Is(err, journal.ErrRenewed) { // losses has logged it
			l.Log.Warn("cannot save the engine; its stored inputs continue", errAttr(err))
		}
		return false
	}
	l.saveFailed = time.Time{}
	l.Metrics.save.Observe(time.Since(began).Seconds())
	l.Metrics.inputs.Set(float64(l.recorder.inputs.bytes))
	return true
}

func (l *loop) take(i item, now time.Time) {
	if i.stored != nil {
		l.stored = append(l.stored, i.stored)
		return
	}
	if i.mark[0] != "" {
		l.recorder.mark(i.mark[0], i.mark[1])
		return
	}
	if i.observation == nil {
		l.recorder.reach(i.position)
		return
	}
	l.Metrics.observations.WithLabelValues(string(i.observation.Source)).Inc()
	l.Received.Observe(i.observation, now)
	l.recorder.observe(i.observation)
}

// drain takes items until the watches have ended.
func (l *loop) drain() {
	for {
		select {
		case i := <-l.in.items:
			l.take(i, l.Now())
		case <-l.in.ended:
			for l.in.waiting() > 0 { // the watches have ended
				l.take(<-l.in.items, l.Now())
			}
			return
		}
	}
}

// look stores the results of the observations.
func (l *loop) look(ctx context.Context) error {
	if l.recorder.idle(ctx) && !l.recorder.due(l.Now()) {
		l.Progress.advance(l.Now())
		l.looked(nil)
		if !l.recorder.owes {
			l.callStored()
		}
		return nil
	}
	err := l.recorder.look(ctx, l.Now())
	if l.Related != nil {
		l.Related(l.recorder.engine.Matches())
	}
	l.count(time.Now())
	l.looked(err)
	if err == nil && !l.recorder.owes {
		l.callStored()
	}
	if err != nil {
		l.Errors.Inc()
		if !errors.Is(err, context.Canceled) {
			l.Progress.troubled(err)
		}
	}
	return err
}

// looked notes a round and its error, and answers senders accordingly.
func (l *loop) looked(err error) {
	l.in.writable.set(err)
	if l.Delayed != nil {
		l.Delayed(err)
	}
	l.Progress.looked(err)
}

// callStored calls the functions that wait for a stored look. While a look waits, the loop takes no
// items, so their items are in this look.
func (l *loop) callStored() {
	for _, f := range l.stored {
		f()
	}
	l.stored = nil
}

// count sets the metrics of the engine's objects and writes, at most once in countEvery.
func (l *loop) count(now time.Time) {
	if now.Sub(l.counted) < countEvery {
		return
	}
	l.counted = now
	n := 0
	for range l.recorder.engine.Objects() {
		n++
	}
	l.Metrics.objects.Set(float64(n))
	writes, requests := l.recorder.engine.WriteStats(), l.recorder.engine.AuditStats()
	l.Metrics.writes.Store(&writes)
	l.Metrics.requests.Store(&requests)
}

// last stores the rest and saves the engine, so that the next start has nothing to replay.
func (l *loop) last(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, lastTries)
	defer cancel()
	l.recorder.save = true
	defer func() { l.recorder.joining.end(l.Now()) }()
	retry := pauses{firstRetry, maxRetry}
	for {
		held := l.recorder.blocked()
		err := l.recorder.look(ctx, l.Now())
		l.looked(err)
		switch {
		case err == nil && !held:
			return nil
		case err == nil:
			continue // the held look; the last one follows
		case errors.Is(err, store.ErrClosed), ctx.Err() != nil:
			return err
		}
		if !retry.wait(ctx) {
			return err
		}
	}
}

// takeSpans accepts spans together with those of concurrent requests, and stores the copies of all
// in one batch. After an error the senders send them again, and the repeated spans are recognised.
func (l *loop) takeSpans(ctx context.Context, first handed) {
	now := l.Now()
	group := []handed{first}
	for more := true; more && len(group) < maxGroup; {
		select {
		case h := <-l.in.spans:
			group = append(group, h)
		default:
			more = false
		}
	}
	for _, h := range group {
		l.Received.Spans(h.spans, now)
		l.recorder.joining.accept(h.spans, now)
	}
	ctx, cancel := context.WithTimeout(ctx, copyTries)
	defer cancel()
	err := l.recorder.storeCopies(ctx, now)
	if err != nil {
		l.Errors.Inc()
		l.Progress.troubled(err)
	}
	for _, h := range group {
		h.done <- err
	}
}

// maxGroup bounds the requests in one batch.
const maxGroup = 64
