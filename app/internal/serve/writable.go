// SPDX-License-Identifier: Apache-2.0

package serve

import (
	"context"
	"fmt"
	"sync"
)

// writable ends senders' requests while the journal cannot be written. They get an error at once and
// send again. The zero value is writable.
type writable struct {
	mu sync.Mutex
	// failed ends when a write fails. It is nil before the first use and after the next successful
	// write.
	failed context.Context //nolint:containedctx // it is a broadcast of an error, not the scope of a call
	fail   context.CancelCauseFunc
}

// set notes the result of the last write.
func (w *writable) set(err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if err != nil {
		w.begin()
		w.fail(fmt.Errorf("the journal cannot be written: %w", err))
	} else if w.failed != nil && w.failed.Err() != nil {
		w.failed = nil
	}
}

// begin makes failed, if it is nil; w.mu must be held.
func (w *writable) begin() {
	if w.failed == nil {
		w.failed, w.fail = context.WithCancelCause(context.Background())
	}
}

// while returns a context that ends with ctx, or when the journal cannot be written. Its cause is the
// error of the journal. The caller must call done.
func (w *writable) while(ctx context.Context) (_ context.Context, done func()) {
	w.mu.Lock()
	w.begin()
	failed := w.failed
	w.mu.Unlock()
	ctx, cancel := context.WithCancelCause(ctx)
	if failed.Err() != nil {
		cancel(context.Cause(failed))
	}
	stop := context.AfterFunc(failed, func() { cancel(context.Cause(failed)) })
	return ctx, func() { stop(); cancel(nil) }
}
