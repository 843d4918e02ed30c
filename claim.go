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

// claimKey is the member of a tracestate that holds a Claim.
const claimKey = "lifeline"

// maxTime is the end of the year 9999, beyond which a claim has no time:
// reckoning with it would overflow.
const maxTime = 253402300799

// Identity names an object as far as it is known: a UID does not exist before
// the object does, nor does the name of one that is created with a
// generateName.
type Identity struct {
	Group, Kind, Namespace, Name, GenerateName, UID string
}

// ObjectHash is what a claim holds of an Identity: the first 8 bytes of SHA-256
// of "uid/<UID>", or of "group/kind/namespace/name" as long as there is no UID.
type ObjectHash uint64

// Hash returns the hash by UID if there is one, by name else, by generateName
// at last.
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

// Digest is a short fingerprint of a desired state; 0 is none.
type Digest uint64

// DigestOf returns the digest of a desired state as it is sent, in any form
// that is the same for the same state.
func DigestOf(desired []byte) Digest {
	sum := sha256.Sum256(desired)
	return Digest(binary.BigEndian.Uint64(sum[:8]))
}

func hash64(s string) uint64 {
	sum := sha256.Sum256([]byte(s))
	return binary.BigEndian.Uint64(sum[:8])
}

// Claim says for what a context was made. It stands beside the context, as
// member "lifeline" of its tracestate:
//
//	s:<span>;p:<parent span>;o:<object>;d:<digest>;g:<generation>;t:<Unix seconds>;a:<basis><nonce>
//
// in lower-case hexadecimal of 16 digits (g and t decimal, the basis a letter);
// every field but s may be missing. In link mode p is "<trace>-<span>", the trace of 32 digits.
// Fields that are unknown are ignored, those that are malformed count as
// missing, and of those that come twice the last counts.
type Claim struct {
	// Span is the context's own span.
	Span trace.SpanID
	// Parent is the span below which the context was made; ParentTrace is its
	// trace if that is another than the context's.
	Parent      trace.SpanID
	ParentTrace trace.TraceID
	// Object is the object that the context was made for.
	Object ObjectHash
	// Digest is that of the desired state as it was sent.
	Digest Digest
	// Generation is that which the write gave the object; 0 if not known.
	Generation int64
	// Time is when the change was made that all this follows from, in whole
	// seconds, after 1970 and before 10000; zero if not known.
	Time time.Time
	// Admitted is set if the context was given at admission, as Admit does;
	// without it there is no Nonce.
	Admitted Basis
	Nonce    uint64
}

// ClaimOf returns the claim beside a context, and whether it holds: its span
// must be the context's, since another writer may have replaced only the one,
// and since a span inherits the tracestate of its parent. One that does not
// hold is returned all the same, for what it says of where it came from.
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

// Names reports whether the claim was made for this object: by its UID, or by
// the name under which it was created.
func (c Claim) Names(id Identity) bool {
	if c.Object == 0 {
		return false
	}
	return id.UID != "" && c.Object == id.Hash() ||
		id.Name != "" && c.Object == id.named(id.Name) ||
		id.GenerateName != "" && c.Object == id.named(id.GenerateName)
}

// Unclaimed returns sc without the claim beside it.
func Unclaimed(sc trace.SpanContext) trace.SpanContext {
	if sc.TraceState().Get(claimKey) == "" {
		return sc
	}
	return sc.WithTraceState(sc.TraceState().Delete(claimKey))
}

// Claimed returns sc with a claim beside it, in place of any other. The claim's
// Span is set to the context's. An invalid sc is returned as it is.
func Claimed(sc trace.SpanContext, c Claim) trace.SpanContext {
	if !sc.IsValid() {
		return sc
	}
	c.Span = sc.SpanID()
	ts, err := sc.TraceState().Insert(claimKey, c.String())
	if err != nil { // no claim is as long as W3C allows a member to be
		return Unclaimed(sc)
	}
	return sc.WithTraceState(ts)
}

// String returns the claim as it stands in a tracestate.
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

// parseClaim reads a claim; a field that is unknown or malformed counts as
// missing.
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

// parseAdmitted reads "<basis><nonce>"; both are missing if one is malformed.
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

// parseAbove reads "<span>" or "<trace>-<span>"; both are missing if one is
// malformed, since a span means nothing in another trace.
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

// parseID decodes an ID into dst; a malformed one leaves zeros there.
func parseID(dst []byte, value string) {
	if len(value) != 2*len(dst) || !unhex(dst, value) {
		clear(dst)
	}
}

// parseNumber reads a decimal from 1 to most; 0 is anything else.
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
