// SPDX-License-Identifier: Apache-2.0

package otlp

import "sync/atomic"

// rejection is the reason of a rejected span.
type rejection int

const (
	rejectedID rejection = iota
	rejectedTime
	rejections
)

// rejectionNames are the keys of Stats.Rejected.
var rejectionNames = [rejections]string{"id", "time"}

// cutting is the kind of a part that is removed from an accepted span.
type cutting int

const (
	cutAttribute cutting = iota // also an item of a list
	cutEvent
	cutLink
	cutDeep
	cutText
	cutReserved // an attribute with a reserved key
	cutReturned // a span that Lifeline had exported
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

// transport is the transport and encoding of a request.
type transport int

const (
	overGRPC transport = iota
	overHTTP
	overHTTPJSON
	transports
)

// transportNames are the keys of Stats.Requests.
var transportNames = [transports]string{"grpc", "http/protobuf", "http/json"}

// Stats counts the requests and spans of a Receiver since New. It is a snapshot that the caller
// owns. Its maps always have all keys.
type Stats struct {
	// Requests counts accepted requests: "grpc", "http/protobuf", "http/json". Bytes is their total
	// size, decompressed.
	Requests map[string]uint64
	Bytes    uint64
	// Accepted counts the spans that the sink accepted.
	Accepted uint64
	// Rejected counts invalid spans by fault: "id", "time". The response to the sender has their
	// number.
	Rejected map[string]uint64
	// Refused counts refused requests by reason: "full", "busy", "slow", "large", "malformed",
	// "foreign", "unauthenticated", "bug". Senders retry "full" and "busy".
	Refused map[string]uint64
	// Cut counts the parts removed from accepted spans: "attribute", "event", "link", "nesting",
	// "text", "reserved", "command", "message". "returned" counts whole spans that Lifeline itself
	// had exported.
	Cut map[string]uint64
	// Active is the number of requests in progress.
	Active int
}

// counters are the source of Stats.
type counters struct {
	requests        [transports]atomic.Uint64
	bytes, accepted atomic.Uint64
	rejected        [rejections]atomic.Uint64
	refused         [kinds]atomic.Uint64
	cut             [cuts]atomic.Uint64
}

// took counts an accepted request.
func (c *counters) took(t transport, bytes int, b *batch) {
	c.requests[t].Add(1)
	c.bytes.Add(uint64(bytes)) //nolint:gosec // a length is never negative
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

// Stats returns a snapshot. It is cheap and safe for concurrent use.
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
