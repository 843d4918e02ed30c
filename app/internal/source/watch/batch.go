// SPDX-License-Identifier: Apache-2.0

package watch

import (
	"context"
	"sync"
	"time"

	apiwatch "k8s.io/apimachinery/pkg/watch"

	"github.com/kube-lifeline/lifeline/app/internal/source/apiproto"
)

// maxBatch and maxBatchBytes bound the waiting changes of one stream.
const (
	maxBatch      = 64
	maxBatchBytes = 1 << 20
)

// arrived is a change of a watch and the time of its arrival.
type arrived struct {
	apiwatch.Event
	at time.Time
}

// batches is the set of streams with waiting changes. Decoding one change after another takes much less
// processor time than decoding each at its arrival: between two changes, other work replaces the code in the
// processor's caches.
type batches struct {
	mu sync.Mutex
	of map[*stream]struct{}
}

// flush is one call of Flush.
type flush struct {
	end context.CancelFunc
	// left is the number of streams with waiting changes, under batches.mu.
	left int
}

// Flush requests the waiting changes of all watches (Config.Batches). The result is closed when Emit has
// received them, or after the limit. Emit must be able to receive meanwhile.
func (w *Watcher) Flush(limit time.Duration) <-chan struct{} {
	ctx, cancel := context.WithTimeout(w.closing, limit)
	f := &flush{end: cancel}
	w.batches.mu.Lock()
	defer w.batches.mu.Unlock()
	for s := range w.batches.of {
		select {
		case s.flushes <- f:
			f.left++
		default: // an earlier call is not answered yet
		}
	}
	if f.left == 0 {
		f.end()
	}
	return ctx.Done()
}

// receive takes a change from the watch. The change waits for Flush, with these exceptions: an error, a full
// batch, a stream that is behind, and a stream without protobuf. The changes of the last are decoded already,
// and among them are definitions of kinds, which discovery must not overtake.
func (s *stream) receive(ctx context.Context, change apiwatch.Event) error {
	now := s.w.now()
	s.pulse.beat()
	s.w.heard.now(now)
	s.waiting = append(s.waiting, arrived{change, now})
	if encoded, is := change.Object.(*apiproto.Encoded); is {
		s.waitingBytes += len(encoded.Data)
	}
	full := len(s.waiting) == maxBatch || s.waitingBytes >= maxBatchBytes
	if full || !s.w.batched || s.behind || change.Type == apiwatch.Error || !s.binary() {
		return s.flush(ctx)
	}
	if len(s.waiting) == 1 {
		s.w.batches.mu.Lock()
		s.w.batches.of[s] = struct{}{}
		s.w.batches.mu.Unlock()
	}
	return nil
}

// flush emits the waiting changes. After an error, the next watch delivers the remaining ones again. They
// are late if they waited for long.
func (s *stream) flush(ctx context.Context) error {
	if len(s.waiting) == 0 {
		s.flushed()
		return nil
	}
	var began pulse
	began.beat()
	for _, change := range s.waiting {
		if err := s.change(change); err != nil {
			s.behind = s.behind || s.w.now().Sub(change.at) > s.w.pace.late
			s.flushed()
			return err
		}
	}
	s.flushed() // before a request
	return s.changed(ctx, began)
}

// flushed records that no change waits, which answers a call of Flush.
func (s *stream) flushed() {
	clear(s.waiting)
	s.waiting, s.waitingBytes = s.waiting[:0], 0
	s.w.batches.mu.Lock()
	delete(s.w.batches.of, s)
	s.w.batches.mu.Unlock()
	select {
	case f := <-s.flushes:
		s.w.batches.answer(f)
	default:
	}
}

// answer records that one stream has no waiting changes.
func (b *batches) answer(f *flush) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if f.left--; f.left == 0 {
		f.end()
	}
}
