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

// copyKey names a span by the IDs that it came with.
type copyKey struct {
	trace trace.TraceID
	span  trace.SpanID
}

// keySize is what a key takes in a chunk.
const keySize = len(trace.TraceID{}) + len(trace.SpanID{})

// encodeCopies writes a chunk: how many have gone, their names, and what has come.
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

// readCopies returns the spans that were held when the last of the chunks was
// written. A chunk that cannot be read is told of, and passed over.
func readCopies(chunks map[string][]byte, damaged func(name string, err error)) []*span.Span {
	var all [][]*span.Span
	gone := map[copyKey]int{} // before which chunk they went
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
			if i >= gone[copyKey{s.TraceID, s.ID}] { // what came again after it had gone is there
				out = append(out, s)
			}
		}
	}
	return out
}
