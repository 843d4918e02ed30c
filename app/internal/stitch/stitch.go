// SPDX-License-Identifier: Apache-2.0

// Package stitch joins the spans that other components emit (kube-apiserver, kubelet, containerd,
// etcd, operators) to the traces of changes: rules X1 to X4 of docs/trace-model.md. Joins use
// identity. Time selects among the reconciliations of one object. Time alone joins only requests to
// a kubelet, which have no identity; their edge has evidence time (streams.go).
//
// The package is pure: it has no I/O, no goroutine and no clock. Input is a set. Spans that arrive
// late, early, twice, in other batches or before their parents give the same traces, as long as
// they are held.
//
// The original trace and span ID identify a span. Spans form a forest. Each span is below its
// parent. A server that does not trust its caller only links to it; its span is below that caller.
// A tree is resolved as a whole after a change in it or in the traces (resolve.go). Each span then
// gets a home, a place in a trace of ours.
package stitch

import (
	"time"

	"go.opentelemetry.io/otel/trace"

	"github.com/kube-lifeline/lifeline/app/internal/span"
)

// Mode is the treatment of a joined span (rule X2).
type Mode string

// The modes.
const (
	// Rewrite moves it into the trace of the change, under that trace's ID.
	Rewrite Mode = "rewrite"
	// Link leaves it untouched, and adds a link from the span to which it belongs.
	Link Mode = "link"
)

// Options configures a Stitcher. The zero value works.
type Options struct {
	// Mode defaults to Rewrite.
	Mode Mode
	// Drop drops spans that belong to no change; otherwise Expire returns them.
	Drop bool
	// Window is how long a span waits for its change. Default 1 min.
	Window time.Duration
	// Keep is how long a finished trace accepts late spans. They do not prolong it. Default 1 h.
	Keep time.Duration
	// MaxSpans and MaxBytes bound the held spans. Spans without a home are evicted first, oldest
	// first. Defaults 200 000 and 192 MiB.
	MaxSpans int
	MaxBytes int
	// MaxPerTrace limits the foreign spans of one trace. Default 20 000.
	MaxPerTrace int
	// MaxIndex limits the identities of finished traces. Default 500 000.
	MaxIndex int
	// Kept enables Fresh and Left.
	Kept bool
	// MaxSkew limits the clock correction of a component. Default 1 min.
	MaxSkew time.Duration
}

func (o Options) withDefaults() Options {
	if o.Mode == "" {
		o.Mode = Rewrite
	}
	for _, d := range []struct {
		of      *time.Duration
		unless0 time.Duration
	}{{&o.Window, time.Minute}, {&o.Keep, time.Hour}, {&o.MaxSkew, time.Minute}} {
		if *d.of <= 0 {
			*d.of = d.unless0
		}
	}
	for _, n := range []struct {
		of      *int
		unless0 int
	}{{&o.MaxSpans, 200_000}, {&o.MaxBytes, 192 << 20}, {&o.MaxPerTrace, 20_000}, {&o.MaxIndex, 500_000}} {
		if *n.of <= 0 {
			*n.of = n.unless0
		}
	}
	return o
}

// Stats are the counts of a Stitcher since its start, and its current contents.
type Stats struct {
	// Received counts all spans. Each is also counted as Repeated, Own (Lifeline's, sent back to
	// it) or Noise, or is Buffered. A buffered span leaves as Joined, Late, Passed, Expired,
	// Evicted, Surplus, Overdue or Untimely.
	Received, Repeated, Own, Noise int64
	// Joined spans were returned with their trace, Late ones after it.
	Joined, Late int64
	// Passed spans were returned unchanged, Expired ones dropped after the window, and Evicted ones
	// dropped for lack of room.
	Passed, Expired, Evicted int64
	// Surplus spans exceeded MaxPerTrace.
	Surplus int64
	// Overdue spans have the ID of a trace that was finished more than Keep ago. Untimely spans are
	// too far in time from the trace with their ID.
	Overdue, Untimely int64
	// Collisions are spans with a replaced ID, Corrected those with a corrected clock.
	Collisions, Corrected int64

	// Buffered and Bytes are the held spans. Index counts the identities of finished traces, and
	// Changes all traces, including finished ones.
	Buffered, Bytes, Index, Changes int
}

// Stitcher joins spans to traces. Create one with New. It is not safe for concurrent use.
type Stitcher struct {
	opts  Options
	stats Stats

	forest
	identities
	noise   noise
	streams streams

	// changes are our traces. own holds the possible parents in them: our spans, and foreign spans
	// that were returned.
	changes map[trace.TraceID]*change
	own     map[key]spot
	// open are the unfinished changes.
	open map[*change]struct{}
	// finished are the finished changes, oldest first. index counts their identities. late are
	// those with late spans.
	finished []*change
	index    int
	late     map[*change]struct{}
	// closed are the traces that accept no more spans.
	closed traceSet
	// passed are spans to return; passedBytes counts towards the bound.
	passed      []*span.Span
	passedBytes int
	// fresh and left are the results of Fresh and Left.
	fresh   []*node
	left    []Left
	scratch scratch
}

// New returns an empty Stitcher.
func New(o Options) *Stitcher {
	return &Stitcher{
		opts:       o.withDefaults(),
		forest:     newForest(),
		identities: newIdentities(),
		noise:      newNoise(),
		streams:    newStreams(),
		changes:    map[trace.TraceID]*change{},
		open:       map[*change]struct{}{},
		own:        map[key]spot{},
		late:       map[*change]struct{}{},
		closed:     newTraceSet(maxClosed),
		scratch:    scratch{claims: map[*node]home{}},
	}
}

// Stats returns the counts so far and the current contents.
func (s *Stitcher) Stats() Stats {
	out := s.stats
	out.Buffered, out.Bytes = len(s.nodes)+len(s.passed), s.bytes+s.passedBytes
	out.Changes = len(s.changes)
	out.Index = s.index
	return out
}
