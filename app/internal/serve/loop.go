// SPDX-License-Identifier: Apache-2.0

package serve

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/kube-lifeline/lifeline/app/internal/observation"
	"github.com/kube-lifeline/lifeline/app/internal/source/watch"
	"github.com/kube-lifeline/lifeline/app/internal/store"
)

const (
	// lookEvery is the least time between two looks. A look is followed by a
	// pause of at least restShare times its length, so that looking takes no
	// more than a fifth of one core.
	lookEvery = 500 * time.Millisecond
	restShare = 4
	// maxSeen is how many observations one look may take in.
	maxSeen = 50_000
	// firstRetry and maxRetry are the pauses before a look is stored again.
	firstRetry, maxRetry = 200 * time.Millisecond, 5 * time.Second
	// lastTries is for how long the last look is tried to be stored.
	lastTries = 5 * time.Second
	// countEvery is how often the engine's objects are counted.
	countEvery = 10 * time.Second
)

// item is one thing that a watch hands on: something seen, or how far it has
// come; or something to do when all before it has been taken in.
type item struct {
	observation *observation.Observation
	position    watch.Position
	// mark is a name of state and what it is now, of a source that keeps its
	// place itself.
	mark [2]string
	then func()
}

// loop is the one goroutine that owns the recorder.
type loop struct {
	s        *server
	recorder *recorder
	in       chan item
	// spans are those of other components.
	spans chan handed
	calls chan func(*recorder)
	quit  chan struct{}
	// ended is closed when the watches have ended, after stop.
	ended    chan struct{}
	stopOnce sync.Once
	counted  time.Time
	// stored are called after the next look that was stored.
	stored []func()
}

func newLoop(s *server, r *recorder) *loop {
	return &loop{
		s:        s,
		recorder: r,
		in:       make(chan item, backlog),
		spans:    make(chan handed),
		calls:    make(chan func(*recorder)),
		quit:     make(chan struct{}),
		ended:    make(chan struct{}),
	}
}

// emit and reached hand on what a watch tells. They wait while the loop is busy,
// and drop what comes after stop: the next start will see it.
func (l *loop) emit(o *observation.Observation) { l.hand(item{observation: o}) }

func (l *loop) reached(p watch.Position) { l.hand(item{position: p}) }

// hand keeps the order: once anything was dropped, all that follows is, so no
// position is ever kept beyond something that was not seen.
func (l *loop) hand(i item) {
	select {
	case <-l.quit:
		return
	default:
	}
	select {
	case l.in <- i:
	case <-l.quit:
	}
}

// do lets the loop call f between two looks; it does not wait for that, unless
// the loop is busy. After stop it does nothing.
func (l *loop) do(f func(*recorder)) {
	select {
	case l.calls <- f:
	case <-l.quit:
	}
}

// call is do, and waits until f has been called, or the loop has stopped.
func (l *loop) call(f func(*recorder)) {
	done := make(chan struct{})
	l.do(func(r *recorder) { defer close(done); f(r) })
	select {
	case <-done:
	case <-l.quit:
	}
}

// after calls f once everything that was handed on so far has been taken in.
func (l *loop) after(f func()) { l.hand(item{then: f}) }

// afterStored calls f once everything that was handed on so far is stored, with
// what has become of it.
func (l *loop) afterStored(f func()) {
	l.after(func() { l.stored = append(l.stored, f) })
}

// stop lets the watches end that wait to hand something on.
func (l *loop) stop() { l.stopOnce.Do(func() { close(l.quit) }) }

// run looks until stop is called and the watches have ended, stores what is left and saves the engine. Its
// error says that the last of it could not be stored; the next start will see it
// again.
func (l *loop) run() error {
	next := time.NewTimer(lookEvery)
	defer next.Stop()
	retry := pauses{firstRetry, maxRetry}
	ctx := context.Background()
	for {
		in, spans := l.in, l.spans
		if l.recorder.blocked() || len(l.recorder.seen) >= maxSeen {
			in, spans = nil, nil
		}
		select {
		case i := <-in:
			l.take(i)
		case h := <-spans:
			l.takeSpans(ctx, h)
		case f := <-l.calls:
			f(l.recorder)
		case <-l.quit:
			if in == nil {
				// Nobody may wait for a store that does not come back.
				return l.last(ctx)
			}
			l.drain()
			return l.last(ctx)
		case <-next.C:
			began := time.Now()
			pause := lookEvery
			if err := l.look(ctx); err != nil {
				pause = retry.take()
			} else {
				retry.next = firstRetry
				pause = max(pause, restShare*time.Since(began))
			}
			next.Reset(pause)
		}
	}
}

func (l *loop) take(i item) {
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
	l.s.received.Observe(i.observation, l.s.clock.Now())
	l.recorder.observe(i.observation)
}

// drain takes in what the watches have handed on until they have ended.
func (l *loop) drain() {
	for {
		select {
		case i := <-l.in:
			l.take(i)
		case <-l.ended:
			for len(l.in) > 0 { // nobody hands on any more
				l.take(<-l.in)
			}
			return
		}
	}
}

// look stores what has become of what was seen.
func (l *loop) look(ctx context.Context) error {
	if l.recorder.idle(ctx) {
		now := l.s.clock.Now()
		l.s.state.set(func(st *state) { st.asOf = now })
		l.s.looked(nil)
		l.tellStored()
		return nil
	}
	err := l.recorder.look(ctx, l.s.clock.Now())
	if l.s.declared != nil {
		related := l.recorder.engine.Matches()
		l.s.related.Store(&related)
	}
	l.count(time.Now())
	l.s.looked(err)
	if err == nil && !l.s.behind.waits {
		l.tellStored()
	}
	if err != nil {
		l.s.metrics.StoreErrors.Inc()
		if !errors.Is(err, context.Canceled) {
			l.s.troubled(err)
		}
	}
	return err
}

// tellStored calls those who wait for what they know of to be stored. While a
// look waits nothing is taken in, so theirs is never in an older one.
func (l *loop) tellStored() {
	for _, f := range l.stored {
		f()
	}
	l.stored = nil
}

// count counts the objects and writes that the engine knows, now and then.
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

// last stores what is left, and saves the engine so that the next start has
// nothing to replay.
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
			continue // that was the one before
		case errors.Is(err, store.ErrClosed), ctx.Err() != nil:
			return err
		}
		if !retry.wait(ctx) {
			return err
		}
	}
}
