// SPDX-License-Identifier: Apache-2.0

package lifeline

import (
	"encoding/base64"
	"encoding/hex"
	"strings"

	"go.opentelemetry.io/otel/trace"
)

// parentSize is the length of a W3C traceparent of version 00.
const parentSize = 2 + 1 + 32 + 1 + 16 + 1 + 2

// definedFlags are the trace flags that W3C defines. Other flags are dropped.
const definedFlags = trace.FlagsSampled | trace.FlagsRandom

// parseParent parses a W3C traceparent; malformed text gives an invalid span context. Of a later
// version it reads the known fields, as W3C requires.
func parseParent(s string) trace.SpanContext {
	if len(s) < parentSize || len(s) > maxParent || s[2] != '-' || s[35] != '-' || s[52] != '-' {
		return trace.SpanContext{}
	}
	var version, flags [1]byte
	var cfg trace.SpanContextConfig
	if !unhex(version[:], s[:2]) || !unhex(cfg.TraceID[:], s[3:35]) || !unhex(cfg.SpanID[:], s[36:52]) ||
		!unhex(flags[:], s[53:55]) {
		return trace.SpanContext{}
	}
	switch {
	case version[0] == 0xff, version[0] == 0 && len(s) != parentSize, len(s) > parentSize && s[parentSize] != '-':
		return trace.SpanContext{}
	}
	cfg.TraceFlags = trace.TraceFlags(flags[0]) & definedFlags
	cfg.Remote = true
	return trace.NewSpanContext(cfg)
}

// unhex decodes lower-case hexadecimal. len(s) must be at least 2*len(dst).
func unhex(dst []byte, s string) bool {
	for i := range dst {
		hi, lo := nibble[s[2*i]], nibble[s[2*i+1]]
		if hi|lo > 0xf {
			return false
		}
		dst[i] = hi<<4 | lo
	}
	return true
}

// nibble maps a lower-case hexadecimal digit to its value, and any other byte to 0xff.
var nibble = func() (t [256]byte) {
	for i := range t {
		t[i] = 0xff
	}
	for i, c := range "0123456789abcdef" {
		t[c] = byte(i)
	}
	return t
}()

// formatParent returns sc as a W3C traceparent.
func formatParent(sc trace.SpanContext) string {
	var b [parentSize]byte
	traceID, spanID := sc.TraceID(), sc.SpanID()
	copy(b[:], "00-")
	hex.Encode(b[3:35], traceID[:])
	b[35] = '-'
	hex.Encode(b[36:52], spanID[:])
	copy(b[52:], "-0")
	b[54] = '0' + byte(sc.TraceFlags()&definedFlags)
	return string(b[:])
}

// parseBinary parses the base64 form of the OpenCensus binary format: version 0, then the trace ID
// as field 0, the span ID as field 1, the options as field 2.
func parseBinary(s string) trace.SpanContext {
	const size = 1 + 1 + 16 + 1 + 8 + 1 + 1
	var b [size + 1]byte
	if len(s) != base64.StdEncoding.EncodedLen(size) {
		return trace.SpanContext{}
	}
	n, err := base64.StdEncoding.Decode(b[:], []byte(s))
	if err != nil || n != size || b[0] != 0 || b[1] != 0 || b[18] != 1 || b[27] != 2 {
		return trace.SpanContext{}
	}
	cfg := trace.SpanContextConfig{TraceFlags: trace.TraceFlags(b[28]) & trace.FlagsSampled, Remote: true}
	copy(cfg.TraceID[:], b[2:18])
	copy(cfg.SpanID[:], b[19:27])
	return trace.NewSpanContext(cfg)
}

// parseJaeger parses "trace:span:parent:flags". Jaeger omits leading zeros and may escape the
// colons.
func parseJaeger(s string) trace.SpanContext {
	if len(s) > maxParent {
		return trace.SpanContext{}
	}
	if !strings.Contains(s, ":") {
		s = strings.ReplaceAll(strings.ReplaceAll(s, "%3A", ":"), "%3a", ":")
	}
	part := strings.Split(s, ":")
	if len(part) != 4 {
		return trace.SpanContext{}
	}
	var cfg trace.SpanContextConfig
	var flags [1]byte
	if !unhexPadded(cfg.TraceID[:], part[0]) || !unhexPadded(cfg.SpanID[:], part[1]) ||
		!unhexPadded(flags[:], part[3]) {
		return trace.SpanContext{}
	}
	cfg.TraceFlags = trace.TraceFlags(flags[0]) & trace.FlagsSampled
	cfg.Remote = true
	return trace.NewSpanContext(cfg)
}

// unhexPadded decodes hexadecimal in upper or lower case, with or without leading zeros.
func unhexPadded(dst []byte, s string) bool {
	if s == "" || len(s) > 2*len(dst) {
		return false
	}
	// strings.ToLower is unsuitable: it changes the length of some non-ASCII letters.
	padded := []byte(strings.Repeat("0", 2*len(dst)-len(s)) + s)
	for i, c := range padded {
		if 'A' <= c && c <= 'F' {
			padded[i] = c + 'a' - 'A'
		}
	}
	return unhex(dst, string(padded))
}

// formatJaeger returns "trace:span:0:flags". Sampled is the only flag with the same meaning in
// Jaeger.
func formatJaeger(sc trace.SpanContext) string {
	flags := "0"
	if sc.IsSampled() {
		flags = "1"
	}
	return sc.TraceID().String() + ":" + sc.SpanID().String() + ":0:" + flags
}
