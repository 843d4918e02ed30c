// SPDX-License-Identifier: Apache-2.0

package sqlite

import (
	"encoding/binary"
	"time"

	"github.com/cespare/xxhash/v2"
	"go.opentelemetry.io/otel/trace"

	"github.com/kube-lifeline/lifeline/app/internal/span"
)

// digestOf returns a hash of a stored span, with its place. Salvage finds damaged rows by it. by is
// the span's encoded maker; nil for Lifeline.
func digestOf(s *span.Span, at place, by, data, facts []byte) int64 {
	b := make(bits, 0, 512)
	b = append(b, s.TraceID[:]...)
	b = append(b, s.ID[:]...)
	b = append(b, s.Parent[:]...)
	b.times(s.Start.Time, s.End.Time)
	b.numbers(int64(s.Status))
	b.flags(s.RemoteParent)
	b.texts(
		s.Name,
		s.Service,
		string(s.Start.Source),
		string(s.End.Source),
		string(s.Outcome),
		string(s.Evidence),
		s.Message,
		s.Object.Group,
		s.Object.Version,
		s.Object.Kind.Kind,
		s.Object.Namespace,
		s.Object.Name,
		string(s.Object.UID),
		string(by),
	)
	if len(facts) > 0 {
		b = append(binary.AppendUvarint(b, uint64(len(facts))), facts...)
	}
	return b.sum(data) ^ at.digest()
}

// digest returns a hash of a place. A span that moves exchanges it.
func (p place) digest() int64 {
	b := make(bits, 0, 32)
	b.flags(p.amends)
	b.numbers(p.revision, int64(p.seq))
	return b.sum(nil)
}

// digest returns a hash of the stored fields of a finished trace that do not follow from its spans.
func (h *head) digest(id trace.TraceID, spans int64) int64 {
	b := make(bits, 0, 128)
	b = append(b, id[:]...)
	b.numbers(h.revision, h.asOf, spans)
	b.texts(string(h.outcome), h.reason)
	return b.sum(nil)
}

// bits is the input of a hash.
type bits []byte

func (b *bits) numbers(numbers ...int64) {
	for _, n := range numbers {
		*b = binary.BigEndian.AppendUint64(*b, uint64(n)) //nolint:gosec // all 64 bits count
	}
}

func (b *bits) times(times ...time.Time) {
	for _, t := range times {
		b.numbers(nanos(t))
		b.flags(t.IsZero())
	}
}

func (b *bits) flags(flags ...bool) {
	for _, flag := range flags {
		if flag {
			*b = append(*b, 1)
		} else {
			*b = append(*b, 0)
		}
	}
}

func (b *bits) texts(texts ...string) {
	for _, s := range texts {
		s = text(s)
		*b = append(binary.AppendUvarint(*b, uint64(len(s))), s...)
	}
}

func (b *bits) sum(data []byte) int64 {
	return int64(xxhash.Sum64(append(*b, data...))) //nolint:gosec // all 64 bits count
}
