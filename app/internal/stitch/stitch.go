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
//
// Its parts form a line. Each uses only those before it:
//
//	buffer    the spans of other components, in all indexes
//	traces    our traces, and what can join a span to them
//	intake    adds accepted spans to the buffer
//	resolver  finds the place of each held span in our traces
//	passing   lets spans go that have no such place
//	joiner    makes a trace with its foreign spans, and lets these go
//	endings   the finished traces, until they accept no more spans
type Stitcher struct {
	opts     Options
	stats    Stats
	buffer   *buffer
	traces   *traces
	intake   intake
	resolver resolver
	passing  passing
	joiner   joiner
	endings  endings
}

// New returns an empty Stitcher.
func New(o Options) *Stitcher {
	s := &Stitcher{opts: o.withDefaults()}
	s.buffer = newBuffer(s.opts.Kept)
	s.traces = newTraces(&s.buffer.forest, &s.buffer.identities)
	s.intake = intake{stats: &s.stats, noise: newNoise(), buffer: s.buffer, traces: s.traces}
	s.resolver = newResolver(s.buffer, s.traces)
	s.passing = passing{opts: &s.opts, stats: &s.stats, buffer: s.buffer, traces: s.traces}
	s.joiner = joiner{opts: &s.opts, stats: &s.stats, buffer: s.buffer, traces: s.traces, passing: &s.passing}
	s.endings = endings{opts: &s.opts, traces: s.traces}
	return s
}

// Stats returns the counts so far and the current contents.
func (s *Stitcher) Stats() Stats {
	out := s.stats
	out.Buffered, out.Bytes = s.held()
	out.Changes = len(s.traces.changes)
	out.Index = s.endings.index
	return out
}

// held returns the number of held spans and their bytes, with those to return.
func (s *Stitcher) held() (spans, bytes int) {
	f, p := &s.buffer.forest, &s.passing
	return len(f.nodes) + len(p.spans), f.bytes + p.bytes
}

// isFull reports whether the held spans exceed the bounds.
func (s *Stitcher) isFull() bool {
	spans, bytes := s.held()
	return spans > s.opts.MaxSpans || bytes > s.opts.MaxBytes
}
