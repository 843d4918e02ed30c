// SPDX-License-Identifier: Apache-2.0

package serve

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/kube-lifeline/lifeline/app/internal/span"
)

const (
	// openState has the open traces at the time of the saved engine, for a process that cannot
	// restore it. orphansState has the orphans of the present process.
	openState    = "open-traces"
	orphansState = "orphans"
)

// packTraces encodes traces, each after its length.
func packTraces(traces []*span.Trace) []byte {
	out := []byte{}
	for _, t := range traces {
		data := span.PackTrace(t)
		out = append(binary.AppendUvarint(out, uint64(len(data))), data...)
	}
	return out
}

// unpackTraces is the reverse of packTraces. It returns the traces before the first damage, too.
func unpackTraces(data []byte) ([]*span.Trace, error) {
	var out []*span.Trace
	for len(data) > 0 {
		n, size := binary.Uvarint(data)
		if size <= 0 || n > uint64(len(data)-size) { //nolint:gosec // size is within data
			return out, errTraces
		}
		data = data[size:]
		t, err := span.UnpackTrace(data[:n])
		if err != nil {
			return out, fmt.Errorf("%w: %w", errTraces, err)
		}
		out, data = append(out, t), data[n:]
	}
	return out, nil
}

var errTraces = errors.New("saved traces are damaged")
