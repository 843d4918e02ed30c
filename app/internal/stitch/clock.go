// SPDX-License-Identifier: Apache-2.0

package stitch

import (
	"cmp"
	"encoding/binary"
	"maps"
	"math"
	"slices"
	"time"

	"github.com/cespare/xxhash/v2"
	"go.opentelemetry.io/otel/trace"

	"github.com/kube-lifeline/lifeline/app/internal/span"
)

// precision is by how much clocks of one machine, or well kept ones, may seem to
// differ; less proves nothing.
const precision = time.Millisecond

// reference stands for the clock of our own spans among the instances.
const reference = 0

// bounds is what a set of edges says of how much later the clock of one instance
// must be set, against another's: what causality proves, and what it takes for
// every call to contain what was called.
type bounds struct{ lo, hi, calmLo, calmHi time.Duration }

// endless is no bound.
const endless = time.Duration(math.MaxInt64 / 4)

// pair are two instances: of what was caused, and of what caused it.
type pair struct{ caused, by uint64 }

// clocks returns by how much the spans of each instance are to be moved, so that
// no span starts before what caused it, and none that a client called after that
// had its answer. It is the least that does, within MaxSkew, and none where the
// spans do not prove that a clock is wrong, or contradict each other. Only spans of this trace
// count: so it is a matter of what has been joined, and of no order.
func (j *joint) clocks() map[uint64]time.Duration {
	edges := map[pair]bounds{}
	own := map[trace.SpanID]*span.Span{}
	for _, s := range j.of.Spans {
		own[s.ID] = s
	}
	suspect := false
	for _, n := range j.members {
		note := func(p pair, b bounds) {
			if known, again := edges[p]; again {
				b = b.and(known)
			}
			edges[p] = b
			suspect = suspect || b.lo > precision || b.hi < -precision
		}
		if s := own[j.ownCause(n)]; s != nil {
			if b, tells := ownBounds(n, s); tells {
				note(pair{j.instance(n), reference}, b)
			}
		}
		if above := n.home.below; above != nil && n.edge != span.ByTime && j.instance(above) != j.instance(n) {
			note(pair{j.instance(n), j.instance(above)}, callBounds(n, above))
		}
	}
	if !suspect {
		return nil
	}
	return solve(edges, j.trusted(), j.opts.MaxSkew)
}

// ownCause is the span of ours that caused n: what it is below, or the write that
// it is the request of. What called for that request came before it, and says
// nothing.
func (j *joint) ownCause(n *node) trace.SpanID {
	if n.identity.kind == byAudit {
		if at, known := j.change.audits[n.identity.id]; known {
			return at
		}
	}
	if n.home.below != nil {
		return trace.SpanID{}
	}
	if spot, named := j.own[n.up]; named && !spot.given || n.identity.kind == byPod {
		return n.home.at
	}
	return trace.SpanID{}
}

// ownBounds is what n says of its clock by what of ours caused it; nothing if that
// is not known well enough.
func ownBounds(n *node, s *span.Span) (bounds, bool) {
	b := bounds{lo: -endless, hi: endless, calmLo: -endless, calmHi: endless}
	if !exact(s.Start.Source) && s.Start.Source != span.TimeObject {
		return b, false
	}
	b.lo = s.Start.Sub(n.span.Start.Time)
	b.calmLo = b.lo
	if s.IsWrite() && !s.Open() && exact(s.End.Source) {
		b.hi, b.calmHi = s.End.Sub(n.span.Start.Time), s.End.Sub(n.span.End.Time)
	}
	return b, true
}

// callBounds is what n says of its clock by what caused it on another.
func callBounds(n, above *node) bounds {
	b := bounds{lo: above.span.Start.Sub(n.span.Start.Time), hi: endless, calmHi: endless}
	b.calmLo = b.lo
	if isCall(above.span, n.span) && !above.span.Open() && !n.span.Open() {
		b.hi = above.span.End.Sub(n.span.Start.Time)
		b.calmHi = above.span.End.Sub(n.span.End.Time)
	}
	return b
}

// exact reports whether a time is that of the moment itself.
func exact(source span.TimeSource) bool {
	switch source {
	case span.TimeWatch, span.TimeObject, span.TimeEvent, "":
		return false
	}
	return true
}

func (b bounds) and(other bounds) bounds {
	return bounds{
		lo: max(b.lo, other.lo), hi: min(b.hi, other.hi),
		calmLo: max(b.calmLo, other.calmLo), calmHi: min(b.calmHi, other.calmHi),
	}
}

// moved are the bounds if the other clock is moved by d.
func (b bounds) moved(d time.Duration) bounds {
	return bounds{lo: b.lo + d, hi: b.hi + d, calmLo: b.calmLo + d, calmHi: b.calmHi + d}
}

// reversed are the bounds of the other clock against this one.
func (b bounds) reversed() bounds {
	return bounds{lo: -b.hi, hi: -b.lo, calmLo: -b.calmHi, calmHi: -b.calmLo}
}

// least is the least correction within b: zero unless the proof asks for one.
func (b bounds) least() time.Duration {
	switch {
	case b.lo > b.hi, b.lo <= precision && b.hi >= -precision:
		return 0
	case b.calmLo <= b.calmHi:
		return nearest(max(b.calmLo, b.lo), min(b.calmHi, b.hi))
	}
	return nearest(b.lo, b.hi)
}

func nearest(lo, hi time.Duration) time.Duration {
	switch {
	case lo > 0:
		return lo
	case hi < 0:
		return hi
	}
	return 0
}

// solve corrects the instances one after the other: of those that are tied to one
// whose correction is known, beginning with our own clock, the most trusted first,
// and one that is bounded on both sides before another. Where none is tied, the
// most trusted of the rest is right.
func solve(edges map[pair]bounds, trusted []clocked, most time.Duration) map[uint64]time.Duration {
	known := map[uint64]time.Duration{reference: 0}
	for len(trusted) > 0 {
		best, bestTie := 0, -1
		var of bounds
		for i, instance := range trusted {
			b, tie := tied(instance.id, edges, known)
			if instance.anchor && tie > 0 {
				tie = boundBothWays + 1
			}
			if tie > bestTie {
				best, bestTie, of = i, tie, b
			}
		}
		d := of.least()
		if bestTie == 0 || d > most || d < -most {
			d = 0
		}
		known[trusted[best].id] = d
		trusted = slices.Delete(trusted, best, best+1)
	}
	maps.DeleteFunc(known, func(_ uint64, d time.Duration) bool { return d == 0 })
	return known
}

// boundBothWays is the strongest tie but an anchor's.
const boundBothWays = 2

// tied is how the clock of an instance is bounded by those that are known, and in
// how many ways.
func tied(instance uint64, edges map[pair]bounds, known map[uint64]time.Duration) (bounds, int) {
	all, tie := bounds{lo: -endless, hi: endless, calmLo: -endless, calmHi: endless}, 0
	for p, b := range edges {
		d, ok := known[p.by]
		if !ok || p.caused != instance {
			if d, ok = known[p.caused]; !ok || p.by != instance {
				continue
			}
			b = b.reversed()
		}
		all = all.and(b.moved(d))
		tie = 1
	}
	if tie > 0 && all.lo > -endless/2 && all.hi < endless/2 {
		tie = boundBothWays
	}
	return all, tie
}

// clocked is an instance; an anchor is an API server, whose clock is that of most
// that is known.
type clocked struct {
	id     uint64
	anchor bool
}

// trusted lists the instances, anchors first.
func (j *joint) trusted() []clocked {
	var out []clocked
	seen := map[uint64]bool{}
	for _, n := range j.members {
		if id := j.instance(n); !seen[id] {
			seen[id] = true
			out = append(out, clocked{id, n.span.Service == "apiserver" || n.span.Service == "kube-apiserver"})
		}
	}
	slices.SortFunc(out, func(a, b clocked) int {
		if a.anchor != b.anchor {
			if a.anchor {
				return -1
			}
			return 1
		}
		return cmp.Compare(a.id, b.id)
	})
	return out
}

// instance is n's. A component that does not say on which host it runs is told
// apart by who called it: containerd is that of the kubelet's host.
func (j *joint) instance(n *node) uint64 {
	if n.instance&unplaced == 0 {
		return n.instance
	}
	up := n.home.below
	for range maxDepth {
		if up == nil {
			break
		}
		if up.instance != n.instance {
			if up.instance&unplaced != 0 {
				break
			}
			return xxhash.Sum64(binary.BigEndian.AppendUint64(binary.BigEndian.AppendUint64(nil, n.instance),
				up.instance)) | unplaced
		}
		up = up.home.below
	}
	return n.instance
}
