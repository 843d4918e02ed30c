// SPDX-License-Identifier: Apache-2.0

package export

import (
	"context"
	"strings"

	"github.com/kube-lifeline/lifeline/app/internal/span"
)

// run sends queued spans until Close was called and the queue is empty, or until ctx ends.
func (e *Exporter) run(ctx context.Context) {
	defer close(e.done)
	for {
		batch := e.next()
		if len(batch) == 0 {
			if !e.wait(ctx) {
				return
			}
			continue
		}
		got := e.sender.attempt(ctx, batch)
		if !got.again {
			e.sent(got)
			continue
		}
		if !cancelled(got.reason) {
			e.mu.Lock()
			e.losses.last = got.reason
			e.mu.Unlock()
		}
		if ctx.Err() != nil {
			return
		}
		e.sender.rest(ctx, e.closing)
	}
}

// cancelled reports whether an attempt failed by cancellation. OpenTelemetry's clients keep only
// the text of the cause.
func cancelled(reason error) bool { return strings.Contains(reason.Error(), context.Canceled.Error()) }

// next returns the oldest queued spans. They stay in the queue.
func (e *Exporter) next() []*span.Span {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.queue[:min(len(e.queue), maxBatch)]
}

// sent removes answered spans from the queue.
func (e *Exporter) sent(got answer) {
	e.mu.Lock()
	clear(e.queue[:got.spans]) // release the spans, even if the array stays
	e.queue = e.queue[got.spans:]
	if len(e.queue) == 0 {
		e.queue = nil
	}
	refused := got.refusedSpans()
	news := refused > 0 && e.losses.count(refused, got.reason)
	e.mu.Unlock()
	if news {
		e.sender.warnRefused(got)
	}
}

// wait blocks until there may be spans to send. It returns false when there will be none.
func (e *Exporter) wait(ctx context.Context) bool {
	select {
	case <-ctx.Done():
		return false
	case <-e.wake:
		return true
	case <-e.closing:
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	return len(e.queue) > 0
}
