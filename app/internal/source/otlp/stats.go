// SPDX-License-Identifier: Apache-2.0

package otlp

import "sync/atomic"

// rejection is why a span is rejected.
type rejection int

const (
	rejectedID rejection = iota
	rejectedTime
	rejections
)

// rejectionNames are the keys of Stats.Rejected.
var rejectionNames = [rejections]string{"id", "time"}

// cutting is what is left out of a span that is taken.
type cutting int

const (
	cutAttribute cutting = iota // also an item of a list
	cutEvent
	cutLink
	cutDeep
	cutText
	cutReserved // said under a key of Lifeline's own
	cutReturned // a span that Lifeline had sent
	cutCommand  // a command or a token in a URL
	cutMessage  // text of a message
	cuts
)

// cutNames are the keys of Stats.Cut.
var cutNames = [cuts]string{
	"attribute",
	"event",
	"link",
	"nesting",
	"text",
	"reserved",
	"returned",
	"command",
	"message",
}

// transport is how a request came.
type transport int

const (
	overGRPC transport = iota
	overHTTP
	overHTTPJSON
	transports
)

// transportNames are the keys of Stats.Requests.
var transportNames = [transports]string{"grpc", "http/protobuf", "http/json"}

// Stats says what a Receiver has received since New. It is a snapshot, and the
// caller's. Its maps have all keys from the beginning.
type Stats struct {
	// Requests are those that were taken, and Bytes their size, decompressed.
	Requests map[string]uint64 // "grpc", "http/protobuf", "http/json"
	Bytes    uint64
	// Accepted are the spans that the sink took.
	Accepted uint64
	// Rejected are spans that nobody could use, by what is wrong; their sender
	// was told.
	Rejected map[string]uint64 // "id", "time"
	// Refused are requests that were not taken, by reason. Those that are
	// "full" or "busy" come again.
	Refused map[string]uint64 // "full", "busy", "slow", "large", "malformed", "foreign", "unauthenticated", "bug"
	// Cut is what was left out: of spans that were accepted, and spans that
	// come back from where Lifeline sent them.
	Cut map[string]uint64 // "attribute", "event", "link", "nesting", "text", "reserved", "returned", "command", "message"
	// Active is how many requests are under way.
	Active int
}

// counters are what Stats is made of.
type counters struct {
	requests        [transports]atomic.Uint64
	bytes, accepted atomic.Uint64
	rejected        [rejections]atomic.Uint64
	refused         [kinds]atomic.Uint64
	cut             [cuts]atomic.Uint64
}

// took counts a request.
func (c *counters) took(t transport, bytes int, b *batch) {
	c.requests[t].Add(1)
	c.bytes.Add(uint64(bytes)) //nolint:gosec // it is a length
	c.accepted.Add(uint64(len(b.spans)))
	add(c.rejected[:], b.rejected[:])
	add(c.cut[:], b.cut[:])
}

func add(to []atomic.Uint64, from []int) {
	for i, n := range from {
		if n > 0 {
			to[i].Add(uint64(n))
		}
	}
}

// Stats returns a snapshot. It is cheap, and safe to call at any time.
func (r *Receiver) Stats() Stats {
	c := &r.counters
	return Stats{
		Requests: named(transportNames[:], c.requests[:]),
		Bytes:    c.bytes.Load(),
		Accepted: c.accepted.Load(),
		Rejected: named(rejectionNames[:], c.rejected[:]),
		Refused:  named(kindNames[:], c.refused[:]),
		Cut:      named(cutNames[:], c.cut[:]),
		Active:   len(r.turns),
	}
}

func named(names []string, counts []atomic.Uint64) map[string]uint64 {
	out := make(map[string]uint64, len(names))
	for i, name := range names {
		out[name] = counts[i].Load()
	}
	return out
}
