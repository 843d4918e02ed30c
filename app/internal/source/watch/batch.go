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
	of map[*batch]struct{}
	// flushed is called after the last answer.
	flushed func()
}

// batch holds the changes of one stream that wait for Flush.
type batch struct {
	in      *batches
	waiting []arrived
	// bytes is the size of those in protobuf.
	bytes int
	// flushes has a call of Flush.
	flushes chan *flush
}

func newBatch(in *batches) batch { return batch{in: in, flushes: make(chan *flush, 1)} }

// flush is one call of Flush.
type flush struct {
	end context.CancelFunc
	// left is the number of streams with waiting changes, under batches.mu.
	left int
}

// Flush requests the waiting changes of all watches (Config.Batches). The result is closed when Emit has
// received them, or after the limit. Emit must be able to receive meanwhile.
func (w *Watcher) Flush(limit time.Duration) <-chan struct{} {
	ctx, cancel := context.WithTimeout(w.roster.closing, limit)
	f := &flush{end: cancel}
	if w.batches.flush(f) {
		return ctx.Done()
	}
	if !w.out.holds() {
		cancel()
		return ctx.Done()
	}
	go func() { // Emit may wait for the caller
		w.out.release()
		cancel()
	}()
	return ctx.Done()
}

// flush passes a call to each stream with waiting changes. It reports false if there is none.
func (b *batches) flush(f *flush) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	for one := range b.of {
		select {
		case one.flushes <- f:
			f.left++
		default: // an earlier call is not answered yet
		}
	}
	return f.left > 0
}

// answer records that one stream has no waiting changes. After the last one, the held observations are emitted.
func (b *batches) answer(f *flush) {
	b.mu.Lock()
	f.left--
	last := f.left == 0
	b.mu.Unlock()
	if last {
		b.flushed()
		f.end()
	}
}

// add adds a change, and reports whether the batch is full.
func (b *batch) add(change apiwatch.Event, at time.Time) (full bool) {
	b.waiting = append(b.waiting, arrived{change, at})
	if encoded, is := change.Object.(*apiproto.Encoded); is {
		b.bytes += len(encoded.Data)
	}
	return len(b.waiting) == maxBatch || b.bytes >= maxBatchBytes
}

// wait makes Flush include the batch.
func (b *batch) wait() {
	if len(b.waiting) > 1 {
		return // it is included
	}
	b.in.mu.Lock()
	defer b.in.mu.Unlock()
	b.in.of[b] = struct{}{}
}

// empty removes all changes, and answers a call of Flush.
func (b *batch) empty() {
	clear(b.waiting)
	b.waiting, b.bytes = b.waiting[:0], 0
	b.in.mu.Lock()
	delete(b.in.of, b)
	b.in.mu.Unlock()
	select {
	case f := <-b.flushes:
		b.in.answer(f)
	default:
	}
}

// receive takes a change from the watch. The change waits for Flush, with these exceptions: an error, a full
// batch, a stream that is behind, and a stream without protobuf. The changes of the last are decoded already,
// and among them are definitions of kinds, which discovery must not overtake.
func (s *stream) receive(ctx context.Context, change apiwatch.Event) error {
	now := s.now()
	s.lag.pulse.beat()
	s.server.heard.now(now)
	full := s.batch.add(change, now)
	if full || !s.batched || s.lag.delivery != live || change.Type == apiwatch.Error || !s.read.isBinary() {
		return s.flush(ctx)
	}
	s.batch.wait()
	return nil
}

// flush emits the waiting changes. After an error, the next watch delivers the remaining ones again. They
// are late if they waited for long.
func (s *stream) flush(ctx context.Context) error {
	if len(s.batch.waiting) == 0 {
		s.batch.empty()
		return nil
	}
	var began pulse
	began.beat()
	for _, change := range s.batch.waiting {
		if err := s.change(change); err != nil {
			if s.now().Sub(change.at) > s.pace.late {
				s.lag.fallBehind()
			}
			s.batch.empty()
			return err
		}
	}
	s.batch.empty() // before a request
	return s.changed(ctx, began)
}
