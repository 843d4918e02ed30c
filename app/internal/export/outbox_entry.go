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

// OutboxPrefix begins the names of an Outbox's entries in the state of a store.
const OutboxPrefix = "outbox/"

// Entry says what of a stored trace is to be sent.
type Entry struct {
	TraceID trace.TraceID
	// Spans is how many spans that are, for the bounds and for what is counted
	// as lost. What the store holds when they are sent decides.
	Spans int
	// Queued is when they were queued; zero means now. Spans that are still
	// open are sent as if they had ended then, unfinished.
	Queued time.Time
	// Only are the IDs of those spans that are meant: amendments, or a part.
	// Empty means all.
	Only []trace.SpanID
}

// item is an entry that has its place in the sequence.
type item struct {
	Entry
	seq uint64
}

// name is that of the item in the store's state. Names sort as the sequence.
func (i *item) name() string { return fmt.Sprintf("%s%020d", OutboxPrefix, i.seq) }

// entryVersion is the first byte of an entry as it is stored.
const entryVersion = 1

var errEntry = errors.New("it is not an outbox entry of this version")

// encode is the version, the trace's ID, the time in Unix nanoseconds, the
// number of spans, and the IDs of those that are meant.
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

// decodeItem reads what encode and name have made.
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

// maxEntrySpans bounds the number of spans that an entry may tell, so that sums
// of them are numbers, too.
const maxEntrySpans = 1 << 31

// normal is e as it is queued at now.
func (e Entry) normal(now time.Time) Entry {
	e.Spans = min(max(e.Spans, len(e.Only), 1), maxEntrySpans)
	if e.Queued.IsZero() {
		e.Queued = now
	}
	e.Queued = time.Unix(0, e.Queued.UnixNano()) // as it is read back
	return e
}
