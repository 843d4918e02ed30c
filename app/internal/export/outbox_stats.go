// SPDX-License-Identifier: Apache-2.0

package export

import (
	"maps"
	"time"
)

// OutboxStats tells how an Outbox stands, and what it has done since it was
// opened.
type OutboxStats struct {
	// Endpoint is where spans go; empty if nowhere.
	Endpoint string
	// Holding is what Hold was told.
	Holding bool

	// Entries and Spans wait to be sent, and Oldest is when the first of them
	// was queued; zero if none waits.
	Entries, Spans int
	Oldest         time.Time

	// Exported are the spans that the backend took, Refused those that it did
	// not want. Either counts a span again that was sent again.
	Exported, Refused int64
	// Dropped are the spans that were lost, by reason.
	Dropped map[DropReason]int64
	// Bytes is the size of all requests that were answered, uncompressed.
	Bytes int64

	// LastError is why the latest attempt that failed did, or why spans were
	// refused, and LastFailure when; nil and zero if none did.
	LastError   error
	LastFailure time.Time
	// LastSuccess is when the backend last took spans; zero if it never did.
	LastSuccess time.Time
}

// Stats tells how the Outbox stands. What it returns is the caller's.
func (b *Outbox) Stats() OutboxStats {
	b.mu.Lock()
	defer b.mu.Unlock()
	out := b.stats
	out.Endpoint, out.Holding = b.Endpoint(), b.holding
	out.Entries, out.Spans = len(b.backlog.head)+len(b.backlog.queue), b.backlog.spans
	out.Oldest, out.Dropped = b.backlog.oldest(), maps.Clone(b.stats.Dropped)
	return out
}
