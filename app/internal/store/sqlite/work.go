// SPDX-License-Identifier: Apache-2.0

package sqlite

import (
	"encoding/binary"
	"time"

	"github.com/kube-lifeline/lifeline/app/internal/insight"
)

// encodeWork returns the kinds of work of a summary: for each its nanoseconds, the length of its label,
// and the label. It is nil without any.
func encodeWork(all []insight.Work) []byte {
	var out []byte
	for _, w := range all {
		label := text(w.Label)
		out = binary.AppendUvarint(out, uint64(max(0, w.Duration)))
		out = binary.AppendUvarint(out, uint64(len(label)))
		out = append(out, label...)
	}
	return out
}

// decodeWork is the inverse of encodeWork. Unreadable data give nil: a summary is complete without them.
func decodeWork(data []byte) []insight.Work {
	var out []insight.Work
	for len(data) > 0 {
		ns, n := binary.Uvarint(data)
		if n <= 0 {
			return nil
		}
		data = data[n:]
		length, n := binary.Uvarint(data)
		if n <= 0 || length > uint64(len(data)-n) { //nolint:gosec // not negative
			return nil
		}
		data = data[n:]
		out = append(out, insight.Work{
			Label: string(data[:length]), Duration: time.Duration(ns), //nolint:gosec // all 64 bits come back
		})
		data = data[length:]
	}
	return out
}
