// SPDX-License-Identifier: Apache-2.0

package serve

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/kube-lifeline/lifeline/app/internal/observation"
	"github.com/kube-lifeline/lifeline/app/internal/source/audit"
	"github.com/kube-lifeline/lifeline/app/internal/source/watch"
	"github.com/kube-lifeline/lifeline/app/internal/span"
)

// backlog bounds the observations that wait for the loop.
const backlog = 4096

// item is one element of a watch's stream: an observation or a position. It may also be a function
// to call when all earlier items are stored.
type item struct {
	observation *observation.Observation
	position    watch.Position
	// mark is a name of state and its new value, of a source that keeps its own position.
	mark   [2]string
	stored func()
}

// handed are spans on their way to the loop. done gets the result.
type handed struct {
	spans []*span.Span
	done  chan error
}

// intake has the data of the sources until the loop takes it. It is bounded: sources wait while it is
// full. It is safe for concurrent use.
type intake struct {
	// items wait for the next look. Taking all of them together costs less processor time than taking
	// each at its arrival. filling has a value when half of items is full.
	items   chan item
	filling chan struct{}
	// spans are those of other components.
	spans chan handed
	calls chan func(*recorder)
	// quit is closed by close, and ended by end.
	quit      chan struct{}
	ended     chan struct{}
	closeOnce sync.Once
	// writable answers senders while the journal cannot be written.
	writable writable
}

func newIntake() *intake {
	return &intake{
		items:   make(chan item, backlog),
		filling: make(chan struct{}, 1),
		spans:   make(chan handed),
		calls:   make(chan func(*recorder)),
		quit:    make(chan struct{}),
		ended:   make(chan struct{}),
	}
}

// close drops later data, and unblocks the sources that wait. The next start reads the data again.
func (in *intake) close() { in.closeOnce.Do(func() { close(in.quit) }) }

// end must be called once, after close and after the end of all sources.
func (in *intake) end() { close(in.ended) }

// waiting is the number of items.
func (in *intake) waiting() int { return len(in.items) }

// emit and reached pass on a watch's data. They block while the intake is full.
func (in *intake) emit(o *observation.Observation) { in.hand(item{observation: o}) }

func (in *intake) reached(p watch.Position) { in.hand(item{position: p}) }

// hand keeps the order. After a dropped item all later ones are dropped, so no stored position is
// beyond a missing observation.
func (in *intake) hand(i item) { _ = in.handIn(context.Background(), i) }

// handIn is hand with a context.
func (in *intake) handIn(ctx context.Context, i item) error {
	select {
	case <-in.quit:
		return errEnding
	default:
	}
	select {
	case in.items <- i:
		in.checkFilling()
		return nil
	case <-in.quit:
		return errEnding
	case <-ctx.Done():
		return full(ctx)
	}
}

// checkFilling requests that the loop takes the items, if half of them are there.
func (in *intake) checkFilling() {
	if len(in.items) < backlog/2 {
		return
	}
	select {
	case in.filling <- struct{}{}:
	default:
	}
}

// do calls f in the loop between two looks. It returns before f ends, and blocks while the loop is
// busy. After close it does nothing.
func (in *intake) do(f func(*recorder)) {
	select {
	case in.calls <- f:
	case <-in.quit:
	}
}

// afterStored calls f when all items so far are stored, with their results.
func (in *intake) afterStored(f func()) { in.hand(item{stored: f}) }

// takeIn passes a batch to the loop. After an interruption the whole batch comes again; a repeated
// event counts once.
func (in *intake) takeIn(ctx context.Context, batch []*observation.Observation) error {
	for _, o := range batch {
		if err := in.handIn(ctx, item{observation: o}); err != nil {
			return err
		}
	}
	return nil
}

// takeInStored is takeIn, and waits until the batch is stored. After the answer the API server does
// not keep the batch. It returns at once while the journal cannot be written. Parts of the batch may
// still be stored later, and the API server sends it again.
func (in *intake) takeInStored(ctx context.Context, batch []*observation.Observation) error {
	if len(batch) == 0 {
		return nil
	}
	ctx, cancel := in.writable.while(ctx)
	defer cancel()
	if ctx.Err() != nil {
		return full(ctx)
	}
	if err := in.takeIn(ctx, batch); err != nil {
		return err
	}
	done := make(chan struct{})
	if err := in.handIn(ctx, item{stored: func() { close(done) }}); err != nil {
		return err
	}
	select {
	case <-done:
		return nil
	case <-in.quit:
		return errEnding
	case <-ctx.Done():
		return full(ctx)
	}
}

// Accept implements otlp.Sink. It passes spans to the loop and waits until copies of them are
// stored: after the answer the sender does not keep them. It returns at once while the journal cannot
// be written.
func (in *intake) Accept(ctx context.Context, spans []*span.Span) error {
	ctx, done := in.writable.while(ctx)
	defer done()
	select {
	case <-in.quit:
		return errEnding
	case <-ctx.Done():
		return context.Cause(ctx)
	default:
	}
	h := handed{spans, make(chan error, 1)}
	select {
	case in.spans <- h:
	case <-in.quit:
		return errEnding
	case <-ctx.Done():
		return fmt.Errorf("the loop is busy: %w", context.Cause(ctx))
	}
	select {
	case err := <-h.done:
		return err
	case <-ctx.Done():
		return fmt.Errorf("the journal is busy: %w", context.Cause(ctx))
	}
}

// errEnding is the error of a server that stops.
var errEnding = errors.New("lifeline serve is ending")

// full is the error of a batch to be sent again. It wraps the cause of ctx's end.
func full(ctx context.Context) error { return fmt.Errorf("%w: %w", audit.ErrFull, context.Cause(ctx)) }
