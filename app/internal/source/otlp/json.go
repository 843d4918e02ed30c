// SPDX-License-Identifier: Apache-2.0

package otlp

import (
	"encoding/json"
	"fmt"
	"strings"

	"go.opentelemetry.io/collector/pdata/ptrace/ptraceotlp"
)

// jsonShare divides Options.MaxBytes for a request in JSON. The decoder makes an object of each
// value before any other bound applies: one byte of JSON takes up to 90 bytes of memory.
const jsonShare = 4

// takeJSON decodes a request in JSON. Only one is decoded at a time, which bounds the total memory.
func (r *Receiver) takeJSON(b *batch, body []byte) error {
	if limit := r.opts.MaxBytes / jsonShare; len(body) > limit {
		return fmt.Errorf("%w: it has %d bytes, the limit is %d in JSON (%d in protobuf)",
			errTooLarge, len(body), limit, r.opts.MaxBytes)
	}
	r.json.Lock()
	defer r.json.Unlock()
	return b.readJSON(body)
}

// readJSON decodes an ExportTraceServiceRequest in JSON by way of protobuf, so the same bounds
// apply. The whole request is refused if a value has the wrong type or an ID is not hex.
func (b *batch) readJSON(body []byte) error {
	var document json.RawMessage
	if err := json.Unmarshal(body, &document); err != nil { // the decoder below ignores bytes after the request
		return fmt.Errorf("%w: %w", errMalformed, err)
	}
	request := ptraceotlp.NewExportRequest()
	if err := request.UnmarshalJSON(document); err != nil {
		reason, _, _ := strings.Cut(err.Error(), ", error found in") // a part of the request follows
		return fmt.Errorf("%w: %s", errMalformed, reason)
	}
	raw, err := request.MarshalProto()
	if err != nil {
		return fmt.Errorf("%w: %w", errMalformed, err)
	}
	return b.readProto(raw)
}
