// SPDX-License-Identifier: Apache-2.0

package serve

import (
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"slices"

	"go.opentelemetry.io/otel/trace"

	"github.com/kube-lifeline/lifeline/app/internal/span"
	"github.com/kube-lifeline/lifeline/app/internal/stitch"
)

// copyKey identifies a span by its original IDs.
type copyKey struct {
	trace trace.TraceID
	span  trace.SpanID
}

// keySize is the size of a key in a chunk.
const keySize = len(trace.TraceID{}) + len(trace.SpanID{})

// encodeCopies encodes a chunk: the number of keys that left, the keys, and the new spans.
func encodeCopies(fresh []*span.Span, left []stitch.Left) []byte {
	packed := span.Pack(fresh)
	out := make([]byte, 0, binary.MaxVarintLen64+keySize*len(left)+len(packed))
	out = binary.AppendUvarint(out, uint64(len(left)))
	for _, l := range left {
		out = append(append(out, l.Trace[:]...), l.Span[:]...)
	}
	return append(out, packed...)
}

var errCopies = errors.New("copies of spans are damaged")

// decodeCopies is the inverse of encodeCopies.
func decodeCopies(data []byte) (fresh []*span.Span, left []copyKey, err error) {
	n, size := binary.Uvarint(data)
	if size <= 0 || n > uint64(len(data)/keySize) {
		return nil, nil, errCopies
	}
	data = data[size:]
	for range n {
		if len(data) < keySize {
			return nil, nil, errCopies
		}
		var k copyKey
		copy(k.trace[:], data)
		copy(k.span[:], data[len(k.trace):])
		left, data = append(left, k), data[keySize:]
	}
	if fresh, err = span.Unpack(data); err != nil {
		return nil, nil, fmt.Errorf("%w: %w", errCopies, err)
	}
	return fresh, left, nil
}

// readCopies returns the spans that still waited at the last chunk. A chunk that cannot be read is
// reported and skipped.
func readCopies(chunks map[string][]byte, damaged func(name string, err error)) []*span.Span {
	var all [][]*span.Span
	gone := map[copyKey]int{} // the chunk that removed them
	for i, name := range slices.Sorted(maps.Keys(chunks)) {
		fresh, left, err := decodeCopies(chunks[name])
		if err != nil {
			damaged(name, err)
		}
		for _, k := range left {
			gone[k] = i
		}
		all = append(all, fresh)
	}
	var out []*span.Span
	for i, fresh := range all {
		for _, s := range fresh {
			if i >= gone[copyKey{s.TraceID, s.ID}] { // a span may come again after its removal
				out = append(out, s)
			}
		}
	}
	return out
}
