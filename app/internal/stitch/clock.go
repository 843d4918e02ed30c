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

// precision is the largest clock difference without proof of an error. Clocks of one machine, or
// synchronized ones, may appear to differ by this much.
const precision = time.Millisecond

// reference is the instance of our own spans' clock.
const reference = 0

// bounds limits the correction of one instance's clock against another's. lo and hi follow from
// causality. calmLo and calmHi also make every call contain the span that it called.
type bounds struct{ lo, hi, calmLo, calmHi time.Duration }

// endless means no bound.
const endless = time.Duration(math.MaxInt64 / 4)

// pair are two instances, the effect's and the cause's.
type pair struct{ caused, by uint64 }

// corrections are the corrections of clocks, by instance.
type corrections map[uint64]time.Duration

// of returns the correction of n's clock.
func (c corrections) of(n *node) time.Duration { return c[instanceOf(n)] }

// correct returns the correction for the spans of each instance. Afterwards no span starts before
// its cause, and no called span starts after its caller's end. The correction is minimal and at most
// most. It is zero without proof that a clock is wrong, and where the proofs contradict each
// other. Only spans of this trace count, so that the result does not depend on order.
func correct(members []*node, of *span.Trace, by causes, most time.Duration) corrections {
	edges := map[pair]bounds{}
	own := map[trace.SpanID]*span.Span{}
	for _, s := range of.Spans {
		own[s.ID] = s
	}
	suspect := false
	for _, n := range members {
		note := func(p pair, b bounds) {
			if known, again := edges[p]; again {
				b = b.and(known)
			}
			edges[p] = b
			suspect = suspect || b.lo > precision || b.hi < -precision
		}
		if s := own[by.of(n)]; s != nil {
			if b, tells := ownBounds(n, s); tells {
				note(pair{instanceOf(n), reference}, b)
			}
		}
		if above := n.home.below; above != nil && n.edge != span.ByTime && instanceOf(n) != instanceOf(above) {
			note(pair{instanceOf(n), instanceOf(above)}, callBounds(n, above))
		}
	}
	if !suspect {
		return nil
	}
	return solve(edges, trusted(members), most)
}

// causes finds the causes of the foreign spans of one change.
type causes struct {
	change     *change
	own        map[key]spot
	identities *identities
}

// of returns our span that caused n: its parent, or the write of n's request. The caller of
// that request started earlier, and proves nothing.
func (c causes) of(n *node) trace.SpanID {
	if n.identity.kind == byAudit {
		if at, known := c.change.audits[n.identity.id]; known {
			return at
		}
	}
	if n.home.below != nil {
		return trace.SpanID{}
	}
	pod := c.identities.pod(n.pod)
	if st, ok := pod.scheduledIn(n); ok {
		return st.at // a scheduler sees a Pod before the phase's start, the end of the Pod's creation
	}
	if st, _, ok := pod.calledIn(n); ok {
		return st.at // likewise a kubelet sees a bound Pod
	}
	if spot, named := c.own[n.up]; named && !spot.given || n.identity.kind == byPod {
		return n.home.at
	}
	return trace.SpanID{}
}

// ownBounds returns the bounds of n's clock by our span s, its cause. It returns false if the time
// of s is too coarse.
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

// callBounds returns the bounds of n's clock by its parent on another clock.
func callBounds(n, above *node) bounds {
	b := bounds{lo: above.span.Start.Sub(n.span.Start.Time), hi: endless, calmHi: endless}
	b.calmLo = b.lo
	if isCall(above.span, n.span) && !above.span.Open() && !n.span.Open() {
		b.hi = above.span.End.Sub(n.span.Start.Time)
		b.calmHi = above.span.End.Sub(n.span.End.Time)
	}
	return b
}

// exact reports whether a source gives the exact moment.
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

// moved returns the bounds after a move of the other clock by d.
func (b bounds) moved(d time.Duration) bounds {
	return bounds{lo: b.lo + d, hi: b.hi + d, calmLo: b.calmLo + d, calmHi: b.calmHi + d}
}

// reversed returns the bounds of the other clock against this one.
func (b bounds) reversed() bounds {
	return bounds{lo: -b.hi, hi: -b.lo, calmLo: -b.calmHi, calmHi: -b.calmLo}
}

// least returns the smallest correction within b. It is zero without proof of an error.
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

// solve corrects one instance after the other, each against the corrected ones. It begins with our
// own clock. Anchors come first, then instances bounded on both sides, then the others. If no
// instance is bounded, the most trusted of the rest counts as correct.
func solve(edges map[pair]bounds, trusted []clocked, most time.Duration) corrections {
	known := corrections{reference: 0}
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

// boundBothWays is the strongest tie except an anchor's.
const boundBothWays = 2

// tied returns the bounds of an instance's clock by the corrected clocks, and the strength of the
// tie.
func tied(instance uint64, edges map[pair]bounds, known corrections) (bounds, int) {
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

// clocked is an instance. An anchor is an API server; its clock is the reference for most times.
type clocked struct {
	id     uint64
	anchor bool
}

// trusted lists the instances, anchors first.
func trusted(members []*node) []clocked {
	var out []clocked
	seen := map[uint64]bool{}
	for _, n := range members {
		if id := instanceOf(n); !seen[id] {
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

// instanceOf returns the instance of n. A component without a host in its resource is identified by
// its caller: a kubelet's containerd runs on the kubelet's host.
func instanceOf(n *node) uint64 {
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
