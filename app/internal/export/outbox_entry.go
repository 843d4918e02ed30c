// SPDX-License-Identifier: Apache-2.0

package export

import (
	"encoding/binary"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"go.opentelemetry.io/otel/trace"
)

// OutboxPrefix is the prefix of an Outbox's entries in the state of a store.
const OutboxPrefix = "outbox/"

// Entry identifies the spans of a stored trace to send.
type Entry struct {
	TraceID trace.TraceID
	// Spans is the expected number of spans, for the bounds and for the count of losses. The actual
	// spans are those in the store at the time of sending.
	Spans int
	// Queued is the time of queueing; zero means now. Open spans are sent as ended at that time,
	// unfinished.
	Queued time.Time
	// Only are the IDs of the spans to send: amendments, or a part. Empty means all.
	Only []trace.SpanID
}

// item is an entry with its sequence number.
type item struct {
	Entry
	seq uint64
}

// name returns the item's name in the store's state. Names sort in order of the sequence.
func (i *item) name() string { return fmt.Sprintf("%s%020d", OutboxPrefix, i.seq) }

// entryVersion is the first byte of a stored entry.
const entryVersion = 1

var errEntry = errors.New("it is not an outbox entry of this version")

// encode writes the version, the trace ID, the time in Unix nanoseconds, the number of spans, and
// the IDs in Only.
func (e *Entry) encode() []byte {
	out := make([]byte, 0, 1+len(e.TraceID)+2*binary.MaxVarintLen64+len(e.Only)*len(trace.SpanID{}))
	out = append(out, entryVersion)
	out = append(out, e.TraceID[:]...)
	out = binary.AppendVarint(out, e.Queued.UnixNano())
	out = binary.AppendUvarint(out, uint64(e.Spans)) //nolint:gosec // it is not negative
	for _, id := range e.Only {
		out = append(out, id[:]...)
	}
	return out
}

// decodeItem decodes the results of name and encode.
func decodeItem(name string, value []byte) (item, error) {
	var out item
	seq, err := strconv.ParseUint(strings.TrimPrefix(name, OutboxPrefix), 10, 64)
	if err != nil || (&item{seq: seq}).name() != name {
		return out, errEntry
	}
	out.seq = seq
	if len(value) < 1+len(out.TraceID) || value[0] != entryVersion {
		return out, errEntry
	}
	value = value[1:]
	value = value[copy(out.TraceID[:], value):]
	queued, n := binary.Varint(value)
	if n <= 0 {
		return out, errEntry
	}
	value = value[n:]
	spans, n := binary.Uvarint(value)
	if n <= 0 || spans > maxEntrySpans {
		return out, errEntry
	}
	value = value[n:]
	if len(value)%len(trace.SpanID{}) != 0 {
		return out, errEntry
	}
	out.Queued, out.Spans = time.Unix(0, queued), int(spans)
	for ; len(value) > 0; value = value[len(trace.SpanID{}):] {
		out.Only = append(out.Only, trace.SpanID(value))
	}
	return out, nil
}

// maxEntrySpans bounds the span number of an entry, so that sums cannot overflow.
const maxEntrySpans = 1 << 31

// normal returns e with defaults and bounds applied at now.
func (e Entry) normal(now time.Time) Entry {
	e.Spans = min(max(e.Spans, len(e.Only), 1), maxEntrySpans)
	if e.Queued.IsZero() {
		e.Queued = now
	}
	e.Queued = time.Unix(0, e.Queued.UnixNano()) // the precision of a decoded entry
	return e
}
