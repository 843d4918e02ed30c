// SPDX-License-Identifier: Apache-2.0

package serve

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/kube-lifeline/lifeline/app/internal/journal"
	"github.com/kube-lifeline/lifeline/app/internal/observation"
	"github.com/kube-lifeline/lifeline/app/internal/source/watch"
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

// item is one element of a watch's stream: an observation or a position. It may also be a function
// to call after all earlier items.
type item struct {
	observation *observation.Observation
	position    watch.Position
	// mark is a name of state and its new value, of a source that keeps its own position.
	mark [2]string
	then func()
}

// loop is the one goroutine that owns the recorder.
type loop struct {
	s        *server
	recorder *recorder
	// in are the items until the next look. Taking all of them together costs less processor time than
	// taking each at its arrival. filling has a value when half of in is full.
	in      chan item
	filling chan struct{}
	// spans are those of other components.
	spans chan handed
	calls chan func(*recorder)
	quit  chan struct{}
	// ended is closed after stop, when the watches have ended.
	ended    chan struct{}
	stopOnce sync.Once
	counted  time.Time
	// saveFailed is the time of the last failed save of the engine.
	saveFailed time.Time
	// stored are called after the next stored look.
	stored []func()
}

func newLoop(s *server, r *recorder) *loop {
	return &loop{
		s:        s,
		recorder: r,
		in:       make(chan item, backlog),
		filling:  make(chan struct{}, 1),
		spans:    make(chan handed),
		calls:    make(chan func(*recorder)),
		quit:     make(chan struct{}),
		ended:    make(chan struct{}),
	}
}

// emit and reached pass on a watch's data. They block while the loop is busy, and drop data after
// stop: the next start reads them again.
func (l *loop) emit(o *observation.Observation) { l.hand(item{observation: o}) }

func (l *loop) reached(p watch.Position) { l.hand(item{position: p}) }

// hand keeps the order. After a dropped item all later ones are dropped, so no stored position is
// beyond a missing observation.
func (l *loop) hand(i item) {
	select {
	case <-l.quit:
		return
	default:
	}
	select {
	case l.in <- i:
		l.checkFilling()
	case <-l.quit:
	}
}

// checkFilling requests that the loop takes the items, if half of in is full.
func (l *loop) checkFilling() {
	if len(l.in) < backlog/2 {
		return
	}
	select {
	case l.filling <- struct{}{}:
	default:
	}
}

// do calls f in the loop between two looks. It returns before f ends, and blocks while the loop is
// busy. After stop it does nothing.
func (l *loop) do(f func(*recorder)) {
	select {
	case l.calls <- f:
	case <-l.quit:
	}
}

// afterStored calls f when all items so far are stored, with their results.
func (l *loop) afterStored(f func()) {
	l.hand(item{then: func() { l.stored = append(l.stored, f) }})
}

// stop unblocks the watches that wait to pass on an item.
func (l *loop) stop() { l.stopOnce.Do(func() { close(l.quit) }) }

// run looks until stop is called and the watches have ended. Then it stores the rest and saves the
// engine. An error means that the last look was not stored; the next start reads its data again.
func (l *loop) run() error {
	next := time.NewTimer(lookEvery)
	defer next.Stop()
	retry := pauses{firstRetry, maxRetry}
	ctx := context.Background()
	var flushed <-chan struct{}
	var began time.Time
	for {
		filling, spans := l.filling, l.spans
		if l.recorder.blocked() || len(l.recorder.seen) >= maxSeen {
			filling, spans = nil, nil
		}
		select {
		case <-filling:
			if l.takeWaiting(l.s.clock.Now()); len(l.recorder.seen) >= maxSeen {
				next.Reset(0) // the watches wait
			}
		case h := <-spans:
			l.takeWaiting(l.s.clock.Now()) // storing the copies may take long
			l.takeSpans(ctx, h)
		case f := <-l.calls:
			f(l.recorder)
		case <-l.quit:
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
			l.takeWaiting(l.s.clock.Now())
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
			l.checkFilling()
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
	if l.s.watcher == nil || l.recorder.blocked() || len(l.recorder.seen) >= maxSeen {
		nothing := make(chan struct{})
		close(nothing)
		return nothing
	}
	return l.s.watcher.Flush(flushTime)
}

// takeWaiting takes the items that wait; now is the time of taking. A look without them would count the time of a
// long look as quiet. It also takes those that arrive meanwhile, up to a bound.
func (l *loop) takeWaiting(now time.Time) {
	for n := 2 * backlog; n > 0 && len(l.in) > 0 && !l.recorder.blocked() && len(l.recorder.seen) < maxSeen; n-- {
		l.take(<-l.in, now)
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
		l.s.metrics.StoreErrors.Inc()
		if !errors.Is(err, journal.ErrRenewed) { // renewed has logged it
			l.s.log.Warn("cannot save the engine; its stored inputs continue", errAttr(err))
		}
		return false
	}
	l.saveFailed = time.Time{}
	l.s.metrics.EngineSave.Observe(time.Since(began).Seconds())
	inputs := l.recorder.inputs.bytes
	l.s.state.set(func(st *state) { st.inputs = inputs })
	return true
}

func (l *loop) take(i item, now time.Time) {
	if i.then != nil {
		i.then()
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
	l.s.metrics.Observations.Inc(string(i.observation.Source))
	l.s.received.Observe(i.observation, now)
	l.recorder.observe(i.observation)
}

// drain takes items until the watches have ended.
func (l *loop) drain() {
	for {
		select {
		case i := <-l.in:
			l.take(i, l.s.clock.Now())
		case <-l.ended:
			for len(l.in) > 0 { // the watches have ended
				l.take(<-l.in, l.s.clock.Now())
			}
			return
		}
	}
}

// look stores the results of the observations.
func (l *loop) look(ctx context.Context) error {
	if l.recorder.idle(ctx) {
		now := l.s.clock.Now()
		l.s.state.set(func(st *state) { st.asOf = now })
		l.s.looked(nil)
		if !l.recorder.owes {
			l.callStored()
		}
		return nil
	}
	err := l.recorder.look(ctx, l.s.clock.Now())
	if l.s.declared != nil {
		related := l.recorder.engine.Matches()
		l.s.related.Store(&related)
	}
	l.count(time.Now())
	l.s.looked(err)
	if err == nil && !l.recorder.owes {
		l.callStored()
	}
	if err != nil {
		l.s.metrics.StoreErrors.Inc()
		if !errors.Is(err, context.Canceled) {
			l.s.troubled(err)
		}
	}
	return err
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
	l.s.metrics.EngineObjects.Set(float64(n))
	writes := l.recorder.engine.WriteStats()
	l.s.metrics.WritesObserved.Raise(float64(writes.Observed))
	for fate, n := range writes.ByFate() {
		l.s.metrics.Writes.Raise(float64(n), fate)
	}
}

// last stores the rest and saves the engine, so that the next start has nothing to replay.
func (l *loop) last(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, lastTries)
	defer cancel()
	l.recorder.save = true
	defer func() { l.recorder.joining.end(l.s.clock.Now()) }()
	retry := pauses{firstRetry, maxRetry}
	for {
		held := l.recorder.blocked()
		err := l.recorder.look(ctx, l.s.clock.Now())
		l.s.looked(err)
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
