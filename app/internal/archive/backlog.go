// SPDX-License-Identifier: Apache-2.0

package archive

import (
	"slices"
	"sync"
	"time"

	"github.com/kube-lifeline/lifeline/app/internal/journal"
)

// backlog has the entries of the log that wait for the archive, in order, and then for their mark in the
// log. It is safe for concurrent use.
type backlog struct {
	mu      sync.Mutex
	waiting []journal.Item
	bytes   int
	dropped int64
	// done are the entries to mark: they are in the archive, or lost.
	done []uint64
}

// add adds those of the entries that are for the archive.
func (b *backlog) add(items []journal.Item) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, i := range items {
		if i.For&journal.Archive != 0 {
			b.waiting = append(b.waiting, i)
			b.bytes += i.Bytes
		}
	}
}

// first returns the first entries, at most most.
func (b *backlog) first(most int) []journal.Item {
	b.mu.Lock()
	defer b.mu.Unlock()
	return append([]journal.Item{}, b.waiting[:min(most, len(b.waiting))]...)
}

// firstLook returns the entries of the first look.
func (b *backlog) firstLook() []journal.Item {
	b.mu.Lock()
	defer b.mu.Unlock()
	n := 0
	for n < len(b.waiting) && b.waiting[n].Revision == b.waiting[0].Revision {
		n++
	}
	return append([]journal.Item{}, b.waiting[:n]...)
}

// beyond counts the oldest entries beyond the limits, and their spans.
func (b *backlog) beyond(maxBytes int, before time.Time) (n, spans int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	bytes := b.bytes
	for ; n < len(b.waiting) && (bytes > maxBytes || b.waiting[n].AsOf.Before(before)); n++ {
		bytes -= b.waiting[n].Bytes
		spans += b.waiting[n].Spans
	}
	return n, spans
}

// leave makes the first n entries wait for their mark. It returns them. lost are the spans among them that
// are not in the archive.
func (b *backlog) leave(n, lost int) []uint64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	var seqs []uint64
	for _, i := range b.waiting[:n] {
		seqs = append(seqs, i.Seq)
		b.bytes -= i.Bytes
	}
	if b.waiting = b.waiting[n:]; len(b.waiting) == 0 {
		b.waiting = nil
	}
	b.done = append(b.done, seqs...)
	b.dropped += int64(lost)
	return seqs
}

// unmarked returns the entries to mark. The caller must not change them.
func (b *backlog) unmarked() []uint64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.done
}

// mark removes the first n entries to mark.
func (b *backlog) mark(n int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.done = b.done[n:]; len(b.done) == 0 {
		b.done = nil
	}
}

// last returns the last entry; 0 means none.
func (b *backlog) last() uint64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	last := uint64(0)
	if n := len(b.waiting); n > 0 {
		last = b.waiting[n-1].Seq
	}
	for _, seq := range b.done {
		last = max(last, seq)
	}
	return last
}

// isFlushed reports whether no entry up to last waits.
func (b *backlog) isFlushed(last uint64) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return (len(b.waiting) == 0 || b.waiting[0].Seq > last) &&
		!slices.ContainsFunc(b.done, func(seq uint64) bool { return seq <= last })
}

func (b *backlog) stats() Stats {
	b.mu.Lock()
	defer b.mu.Unlock()
	out := Stats{Entries: len(b.waiting), Bytes: b.bytes, Dropped: b.dropped}
	if len(b.waiting) > 0 {
		out.Oldest = b.waiting[0].AsOf
	}
	return out
}
