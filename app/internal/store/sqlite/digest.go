// SPDX-License-Identifier: Apache-2.0

package sqlite

import (
	"encoding/binary"
	"strings"

	"github.com/cespare/xxhash/v2"
	"go.opentelemetry.io/otel/trace"
)

// digest returns a hash of the stored fields of a finished trace that do not follow from its spans.
func (h *head) digest(id trace.TraceID, spans int64) int64 {
	b := make(bits, 0, 128)
	b = append(b, id[:]...)
	b.numbers(h.revision, h.asOf, spans)
	b.texts(string(h.outcome), h.reason)
	return b.sum()
}

// bits is the input of a hash.
type bits []byte

func (b *bits) numbers(numbers ...int64) {
	for _, n := range numbers {
		*b = binary.BigEndian.AppendUint64(*b, uint64(n)) //nolint:gosec // all 64 bits count
	}
}

func (b *bits) texts(texts ...string) {
	for _, s := range texts {
		s = text(s)
		*b = append(binary.AppendUvarint(*b, uint64(len(s))), s...)
	}
}

func (b *bits) sum() int64 { return int64(xxhash.Sum64(*b)) } //nolint:gosec // all 64 bits count

// text returns s as valid text for SQLite.
func text(s string) string { return strings.ToValidUTF8(s, "\uFFFD") }
