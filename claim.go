// SPDX-License-Identifier: Apache-2.0

package lifeline

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"math"
	"strconv"
	"strings"
	"time"

	"go.opentelemetry.io/otel/trace"
)

// claimKey is the tracestate key of a Claim.
const claimKey = "lifeline"

// maxTime is the end of the year 9999 in Unix seconds, the latest time in a claim. Arithmetic on
// later times could overflow.
const maxTime = 253402300799

// Identity identifies an object by its known fields. UID is unknown before the object exists. So is
// Name if the object is created with a GenerateName.
type Identity struct {
	Group, Kind, Namespace, Name, GenerateName, UID string
}

// ObjectHash identifies an object in a claim. It is the first 8 bytes of SHA-256 of "uid/<UID>".
// For an object without a UID it is that of "group/kind/namespace/name".
type ObjectHash uint64

// Hash returns the hash of the UID. Without a UID it uses the name, and without a name the
// generateName.
func (id Identity) Hash() ObjectHash {
	switch {
	case id.UID != "":
		return ObjectHash(hash64("uid/" + id.UID))
	case id.Name != "":
		return id.named(id.Name)
	}
	return id.named(id.GenerateName)
}

func (id Identity) named(name string) ObjectHash {
	return ObjectHash(hash64(id.Group + "/" + id.Kind + "/" + id.Namespace + "/" + name))
}

// Digest is a short fingerprint of a desired state; 0 means none.
type Digest uint64

// DigestOf returns the digest of a serialized desired state. Equal states must have equal bytes.
func DigestOf(desired []byte) Digest {
	sum := sha256.Sum256(desired)
	return Digest(binary.BigEndian.Uint64(sum[:8]))
}

func hash64(s string) uint64 {
	sum := sha256.Sum256([]byte(s))
	return binary.BigEndian.Uint64(sum[:8])
}

// Claim describes the write that a context was made for. It is stored with the context, as member
// "lifeline" of the tracestate:
//
//	s:<span>;p:<parent span>;o:<object>;d:<digest>;g:<generation>;t:<Unix seconds>;a:<basis><nonce>
//
// Values are 16 lower-case hexadecimal digits, but g and t are decimal and the basis is a letter.
// Only s is required. In link mode p is "<trace>-<span>", with a trace of 32 digits. Unknown and
// malformed fields are ignored. Of a repeated field, the last one counts.
type Claim struct {
	// Span is the span ID of the context itself.
	Span trace.SpanID
	// Parent is the parent span of the context. ParentTrace is its trace, if that differs from the
	// context's.
	Parent      trace.SpanID
	ParentTrace trace.TraceID
	// Object is the written object.
	Object ObjectHash
	// Digest is the digest of the desired state in the request.
	Digest Digest
	// Generation is the object's generation after the write; 0 if unknown.
	Generation int64
	// Time is the time of the original change, in whole seconds, after 1970 and before 10000. It is
	// zero if unknown.
	Time time.Time
	// Admitted is the basis of a context from Admit, and NotAdmitted for any other. Nonce is
	// encoded only with a basis.
	Admitted Basis
	Nonce    uint64
}

// ClaimOf returns the claim in the tracestate of sc, and whether it is valid for sc. A valid claim
// has the span ID of sc. The IDs differ if another writer replaced only the context, or if a span
// inherited the tracestate of its parent. An invalid claim is still returned, for information about
// the origin.
func ClaimOf(sc trace.SpanContext) (Claim, bool) {
	if sc.TraceState().Len() == 0 {
		return Claim{}, false
	}
	text := sc.TraceState().Get(claimKey)
	if text == "" {
		return Claim{}, false
	}
	c := parseClaim(text)
	return c, c.Span.IsValid() && c.Span == sc.SpanID()
}

// Names reports whether the claim was made for this object: by UID, by name or by generateName.
func (c Claim) Names(id Identity) bool {
	if c.Object == 0 {
		return false
	}
	return id.UID != "" && c.Object == id.Hash() ||
		id.Name != "" && c.Object == id.named(id.Name) ||
		id.GenerateName != "" && c.Object == id.named(id.GenerateName)
}

// Unclaimed returns sc without its claim.
func Unclaimed(sc trace.SpanContext) trace.SpanContext {
	if sc.TraceState().Get(claimKey) == "" {
		return sc
	}
	return sc.WithTraceState(sc.TraceState().Delete(claimKey))
}

// Claimed returns sc with claim c, which replaces an earlier claim. It sets c.Span to the span ID
// of sc. An invalid sc is returned unchanged.
func Claimed(sc trace.SpanContext, c Claim) trace.SpanContext {
	if !sc.IsValid() {
		return sc
	}
	c.Span = sc.SpanID()
	ts, err := sc.TraceState().Insert(claimKey, c.String())
	if err != nil { // cannot happen: a claim is shorter than W3C's limit
		return Unclaimed(sc)
	}
	return sc.WithTraceState(ts)
}

// String returns the claim in its tracestate format.
func (c Claim) String() string {
	b := make([]byte, 0, 128)
	b = append(b, "s:"...)
	b = hex.AppendEncode(b, c.Span[:])
	if c.Parent.IsValid() {
		b = append(b, ";p:"...)
		if c.ParentTrace.IsValid() {
			b = hex.AppendEncode(b, c.ParentTrace[:])
			b = append(b, '-')
		}
		b = hex.AppendEncode(b, c.Parent[:])
	}
	b = appendHash(b, ";o:", uint64(c.Object))
	b = appendHash(b, ";d:", uint64(c.Digest))
	if c.Generation > 0 {
		b = strconv.AppendInt(append(b, ";g:"...), c.Generation, 10)
	}
	if t := c.Time.Unix(); t > 0 && t <= maxTime {
		b = strconv.AppendInt(append(b, ";t:"...), t, 10)
	}
	if c.Admitted != NotAdmitted {
		b = append(b, ";a:"...)
		b = hex.AppendEncode(append(b, byte(c.Admitted)), binary.BigEndian.AppendUint64(nil, c.Nonce))
	}
	return string(b)
}

func appendHash(b []byte, field string, v uint64) []byte {
	if v == 0 {
		return b
	}
	return hex.AppendEncode(append(b, field...), binary.BigEndian.AppendUint64(nil, v))
}

// parseClaim parses a claim. Unknown and malformed fields count as missing.
func parseClaim(text string) Claim {
	var c Claim
	for field := range strings.SplitSeq(text, ";") {
		name, value, _ := strings.Cut(field, ":")
		switch name {
		case "s":
			parseID(c.Span[:], value)
		case "p":
			c.ParentTrace, c.Parent = parseAbove(value)
		case "o":
			c.Object = ObjectHash(parseHash(value))
		case "d":
			c.Digest = Digest(parseHash(value))
		case "g":
			c.Generation = parseNumber(value, math.MaxInt64)
		case "t":
			c.Time = time.Time{}
			if t := parseNumber(value, maxTime); t > 0 {
				c.Time = time.Unix(t, 0)
			}
		case "a":
			c.Admitted, c.Nonce = parseAdmitted(value)
		}
	}
	return c
}

// parseAdmitted parses "<basis><nonce>". If either is malformed, both are missing.
func parseAdmitted(value string) (Basis, uint64) {
	var nonce [8]byte
	if len(value) != 1+2*len(nonce) || !unhex(nonce[:], value[1:]) {
		return NotAdmitted, 0
	}
	switch basis := Basis(value[0]); basis {
	case BasisNone, BasisRequest, BasisOwner:
		return basis, binary.BigEndian.Uint64(nonce[:])
	}
	return NotAdmitted, 0
}

// parseAbove parses "<span>" or "<trace>-<span>". If either ID is malformed, both are missing,
// because a span ID without its trace is useless.
func parseAbove(value string) (traceID trace.TraceID, spanID trace.SpanID) {
	t, s, linked := strings.Cut(value, "-")
	if !linked {
		parseID(spanID[:], value)
		return traceID, spanID
	}
	parseID(traceID[:], t)
	parseID(spanID[:], s)
	if !traceID.IsValid() || !spanID.IsValid() {
		return trace.TraceID{}, trace.SpanID{}
	}
	return traceID, spanID
}

// parseID decodes an ID into dst; a malformed ID sets dst to zeros.
func parseID(dst []byte, value string) {
	if len(value) != 2*len(dst) || !unhex(dst, value) {
		clear(dst)
	}
}

// parseNumber parses a decimal number from 1 to most; it returns 0 for anything else.
func parseNumber(value string, most int64) int64 {
	n, err := strconv.ParseInt(value, 10, 64)
	if err != nil || n < 1 || n > most {
		return 0
	}
	return n
}

func parseHash(value string) uint64 {
	var b [8]byte
	parseID(b[:], value)
	return binary.BigEndian.Uint64(b[:])
}
