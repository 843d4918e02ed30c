// SPDX-License-Identifier: Apache-2.0

package span

import (
	"crypto/sha256"

	"go.opentelemetry.io/otel/trace"
)

// DeriveTraceID hashes the parts into a trace ID. The same parts give the same ID in every observer
// (rule C6). It is never zero.
func DeriveTraceID(parts ...string) trace.TraceID {
	sum := digest("lifeline/trace/1", parts)
	var id trace.TraceID
	copy(id[:], sum[:])
	if !id.IsValid() {
		id[15] = 1
	}
	return id
}

// DeriveID hashes a trace ID and the parts of a span's name (UID, phase, attempt) into a span ID.
// It is never zero.
func DeriveID(id trace.TraceID, parts ...string) trace.SpanID {
	sum := digest("lifeline/span/1"+string(id[:]), parts)
	var span trace.SpanID
	copy(span[:], sum[:])
	if !span.IsValid() {
		span[7] = 1
	}
	return span
}

func digest(domain string, parts []string) [sha256.Size]byte {
	text := append(make([]byte, 0, 256), domain...) // usually on the stack
	for _, p := range parts {
		text = append(append(text, 0), p...)
	}
	return sha256.Sum256(text)
}
