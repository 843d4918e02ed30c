// SPDX-License-Identifier: Apache-2.0

package stitch

import (
	"encoding/binary"
	"time"

	"github.com/cespare/xxhash/v2"

	"github.com/kube-lifeline/lifeline/app/internal/span"
)

// fingerprint identifies one version of a trace of ours: its spans, their times, outcomes and
// messages, and their counts of attributes, events and links.
func fingerprint(t *span.Trace) uint64 {
	h := xxhash.New()
	buf := make([]byte, 0, 512)
	at := func(t time.Time) {
		if t.IsZero() {
			buf = append(buf, 0)
			return
		}
		buf = binary.AppendVarint(append(buf, 1), t.UnixNano())
	}
	word := func(s string) { buf = append(binary.AppendUvarint(buf, uint64(len(s))), s...) }
	word(string(t.Outcome))
	word(t.Reason)
	for _, s := range t.Spans {
		buf = append(append(buf, s.ID[:]...), s.Parent[:]...)
		at(s.Start.Time)
		at(s.End.Time)
		word(string(s.Start.Source))
		word(string(s.End.Source))
		word(string(s.Outcome))
		word(string(s.Evidence))
		word(s.Message)
		word(s.Name)
		word(s.Service)
		buf = binary.AppendUvarint(buf, uint64(len(s.Attributes)))
		buf = binary.AppendUvarint(buf, uint64(len(s.Links)))
		for i := range s.Events {
			at(s.Events[i].Time)
			word(s.Events[i].Name)
			buf = binary.AppendUvarint(buf, uint64(len(s.Events[i].Attributes)))
		}
		_, _ = h.Write(buf)
		buf = buf[:0]
	}
	_, _ = h.Write(buf)
	return h.Sum64()
}
