// SPDX-License-Identifier: Apache-2.0

package serve

import (
	"encoding/binary"
	"time"

	"github.com/cespare/xxhash/v2"

	"github.com/kube-lifeline/lifeline/app/internal/span"
)

// fingerprint identifies a version of an open trace, so that only changed traces are stored. It
// covers all that can change: the spans, their times, outcomes, messages, and the numbers of their
// parts.
func fingerprint(t *span.Trace) uint64 {
	h := xxhash.New()
	var buf []byte
	text := func(s string) {
		buf = binary.AppendUvarint(buf, uint64(len(s)))
		buf = append(buf, s...)
	}
	at := func(t time.Time) {
		if t.IsZero() {
			buf = append(buf, 0)
			return
		}
		buf = binary.AppendVarint(append(buf, 1), t.UnixNano())
	}
	text(string(t.Outcome))
	text(t.Reason)
	for _, s := range t.Spans {
		buf = append(append(buf, s.ID[:]...), s.Parent[:]...)
		at(s.Start.Time)
		at(s.End.Time)
		for _, word := range []string{
			string(s.Start.Source),
			string(s.End.Source),
			string(s.Outcome),
			string(s.Evidence),
			s.Message,
			s.Name,
			s.Service,
		} {
			text(word)
		}
		buf = binary.AppendUvarint(buf, uint64(len(s.Attributes)))
		buf = binary.AppendUvarint(buf, uint64(len(s.Links)))
		if o := s.Origin; o != nil { // two spans can change places under one ID
			buf = append(append(buf, o.TraceID[:]...), o.Parent[:]...)
		}
		for _, e := range s.Events {
			at(e.Time)
			text(e.Name)
			buf = binary.AppendUvarint(buf, uint64(len(e.Attributes)))
		}
		_, _ = h.Write(buf)
		buf = buf[:0]
	}
	_, _ = h.Write(buf)
	return h.Sum64()
}
