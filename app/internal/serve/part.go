// SPDX-License-Identifier: Apache-2.0

package serve

import (
	"context"
	"errors"
	"fmt"
	"slices"
)

// part is a piece of the server. Its constructor gets everything that the part may use.
type part interface {
	// Start starts the part. It returns when the parts that use this one may start. After an error
	// nothing of the part runs. A started part outlives ctx.
	Start(ctx context.Context) error
	// Stop ends the part and waits for its end. It is called once, after a successful Start.
	Stop() error
}

// parts are the started parts of a server, in the order of their start.
type parts struct{ started []part }

// start starts parts in order, up to the first error.
func (p *parts) start(ctx context.Context, all ...part) error {
	for _, next := range all {
		if err := next.Start(ctx); err != nil {
			return err
		}
		p.started = append(p.started, next)
	}
	return nil
}

// stop stops the started parts in reverse order. It returns all their errors.
func (p *parts) stop() error {
	var all error
	for _, last := range slices.Backward(p.started) {
		all = errors.Join(all, last.Stop())
	}
	p.started = nil
	return all
}

// background is the goroutine of a part, and its Stop.
type background struct {
	cancel context.CancelFunc
	ended  chan struct{}
}

// begin calls run in a goroutine. Its context has the values of ctx, and ends with end.
func (b *background) begin(ctx context.Context, run func(context.Context)) {
	ctx, b.cancel = context.WithCancel(context.WithoutCancel(ctx))
	b.ended = make(chan struct{})
	go func() {
		defer close(b.ended)
		run(ctx)
	}()
}

// end ends the context of run and waits for its return. Without a begin it does nothing.
func (b *background) end() {
	if b.cancel != nil {
		b.cancel()
		<-b.ended
	}
}

// Stop implements part.
func (b *background) Stop() error {
	b.end()
	return nil
}

// task is a part that runs one function from Start to Stop.
type task struct {
	name string
	// run returns after the end of its context. An error before that is passed to fail.
	run  func(context.Context) error
	fail func(error)

	background
}

// Start implements part.
func (t *task) Start(ctx context.Context) error {
	t.begin(ctx, func(ctx context.Context) {
		if err := t.run(ctx); err != nil && ctx.Err() == nil {
			t.fail(fmt.Errorf("%s: %w", t.name, err))
		}
	})
	return nil
}
