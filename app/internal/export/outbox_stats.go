// SPDX-License-Identifier: Apache-2.0

package export

import "time"

// OutboxStats is the state of an Outbox, and its counts since it was opened.
type OutboxStats struct {
	// Endpoint is the destination; empty if there is none.
	Endpoint string
	// Holding is the last argument of Hold.
	Holding bool

	// Entries and Spans count what waits to be sent. Oldest is the queue time of the first; zero if
	// none waits.
	Entries, Spans int
	Oldest         time.Time

	// Exported counts accepted spans, Refused those that the backend rejected. Spans sent again
	// count again.
	Exported, Refused int64
	// Dropped counts lost spans by reason.
	Dropped map[DropReason]int64
	// Bytes is the uncompressed size of all answered requests.
	Bytes int64

	// LastError is the error of the latest failed attempt, or the reason for refused spans.
	// LastFailure is its time. They are nil and zero if there was none.
	LastError   error
	LastFailure time.Time
	// LastSuccess is the time of the last accepted spans; zero if there were none.
	LastSuccess time.Time
}

// Stats returns the state of the Outbox. The caller owns the result.
func (b *Outbox) Stats() OutboxStats {
	b.mu.Lock()
	defer b.mu.Unlock()
	out := b.stats
	out.Endpoint, out.Holding = b.Endpoint(), b.holding
	out.Entries, out.Spans = len(b.backlog.head)+len(b.backlog.queue), b.backlog.spans
	out.Oldest, out.Dropped = b.backlog.oldest(), b.drops.byReason()
	return out
}
