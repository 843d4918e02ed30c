// SPDX-License-Identifier: Apache-2.0

// Package stitch joins the spans that other components emit (kube-apiserver,
// kubelet, containerd, etcd, operators) to the traces of changes they belong to:
// rules X1 to X4 of docs/trace-model.md. It joins by identity; time chooses among
// the reconciliations of one object, and joins only what has no identity, the
// requests to a kubelet, with an edge that says so (streams.go).
//
// It is pure: no I/O, no goroutine and no clock of its own. What has come is a
// set, so spans that come late, early, twice, in other batches or before their
// parents give the same traces, for as long as they are kept.
//
// Spans are told apart by the trace and the span ID that they came with, and form
// a forest: below its parent each span, and below its caller each server's span
// that has only a link to it, as components do that trust no caller. A tree is
// resolved as a whole when anything of it or of the traces has changed
// (resolve.go): each span is given a home, which is a place in a trace of ours.
package stitch

import (
	"time"

	"go.opentelemetry.io/otel/trace"

	"github.com/kube-lifeline/lifeline/app/internal/span"
)

// Mode says what becomes of a span that has been joined (rule X2).
type Mode string

// The modes.
const (
	// Rewrite puts it into the trace of the change, under that trace's ID.
	Rewrite Mode = "rewrite"
	// Link leaves it untouched, and lets the span it belongs to link to it.
	Link Mode = "link"
)

// Options says how to join. The zero value works.
type Options struct {
	// Mode is Rewrite unless given.
	Mode Mode
	// Drop lets go of what belongs to no change; otherwise Expire hands it on.
	Drop bool
	// Window is how long a span waits for what it belongs to. Default 1 min.
	Window time.Duration
	// Keep is how long after it was handed out a finished trace takes spans. Late spans
	// do not prolong it. Default 1 h.
	Keep time.Duration
	// MaxSpans and MaxBytes bound what is held; of what belongs nowhere the
	// oldest goes first. Defaults 200 000 and 192 MiB.
	MaxSpans int
	MaxBytes int
	// MaxPerTrace is how many spans of others one trace takes. Default 20 000.
	MaxPerTrace int
	// MaxIndex is how many identities of finished traces are remembered. Default
	// 500 000.
	MaxIndex int
	// Kept says that the caller asks Fresh and Left.
	Kept bool
	// MaxSkew is by how much the clock of a component is corrected at most.
	// Default 1 min.
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

// Stats is what a Stitcher has done, and what it holds.
type Stats struct {
	// Received are all spans that came. Each is counted further as one of
	// Repeated, Own (Lifeline's, sent back to it) and Noise, or is Buffered; and
	// what was buffered goes as Joined, Late, Passed, Expired, Evicted, Surplus, Overdue or
	// Untimely.
	Received, Repeated, Own, Noise int64
	// Joined were handed out with their trace, Late after it.
	Joined, Late int64
	// Passed were handed on as they were, Expired dropped after the window, and
	// Evicted dropped since there was no room.
	Passed, Expired, Evicted int64
	// Surplus did not fit into their trace (MaxPerTrace).
	Surplus int64
	// Overdue named a trace that was handed out longer than Keep ago. The times of Untimely
	// are too far from those of the trace that they named.
	Overdue, Untimely int64
	// Collisions are spans that were given another ID, Corrected those whose
	// clock was corrected.
	Collisions, Corrected int64

	// Buffered and Bytes are what is held now, Index the identities remembered
	// of finished traces, and Changes the traces known, finished ones included.
	Buffered, Bytes, Index, Changes int
}

// Stitcher joins. Make one with New; it is for one goroutine.
type Stitcher struct {
	opts  Options
	stats Stats

	forest
	identities
	noise   noise
	streams streams

	// changes are our traces, and own what in them a span can be below: our
	// spans, and the others' that were handed out.
	changes map[trace.TraceID]*change
	own     map[key]spot
	// open are the changes that were not handed out finished.
	open map[*change]struct{}
	// finished are the changes that were handed out, oldest first, index how many
	// identities they have, and late those of them to which something has come.
	finished []*change
	index    int
	late     map[*change]struct{}
	// closed are the traces that take no more spans.
	closed traceSet
	// passed are spans on their way out; passedBytes are part of the bound.
	passed      []*span.Span
	passedBytes int
	// fresh are those that Fresh returns, left those that Left does.
	fresh   []*node
	left    []Left
	scratch scratch
}

// New returns a Stitcher that has seen nothing.
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

// Stats returns what has been done, and what is held now.
func (s *Stitcher) Stats() Stats {
	out := s.stats
	out.Buffered, out.Bytes = len(s.nodes)+len(s.passed), s.bytes+s.passedBytes
	out.Changes = len(s.changes)
	out.Index = s.index
	return out
}
