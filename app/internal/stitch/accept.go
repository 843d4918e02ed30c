// SPDX-License-Identifier: Apache-2.0

package stitch

import (
	"bytes"
	"cmp"
	"slices"
	"time"

	"github.com/cespare/xxhash/v2"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"

	"github.com/kube-lifeline/lifeline/app/internal/span"
)

// Accept takes in spans of other components, in any order, once or more often. It
// keeps them: they must not change afterwards. Those without Origin or valid IDs
// are passed over.
func (s *Stitcher) Accept(spans []*span.Span, now time.Time) {
	var from instances
	for _, given := range spans {
		if given.Origin == nil || !given.TraceID.IsValid() || !given.ID.IsValid() {
			continue
		}
		s.stats.Received++
		if given.Origin.Scope.Name == span.ScopeName {
			s.stats.Own++ // it comes back from where it was sent
			continue
		}
		s.accept(given, from.of(given), now)
	}
	if len(s.nodes)+len(s.passed) > s.opts.MaxSpans || s.bytes+s.passedBytes > s.opts.MaxBytes ||
		len(s.dirty) > maxDirty {
		s.settle()
		s.makeRoom()
	}
}

// maxDirty is how many spans may wait to be resolved before nobody asks.
const maxDirty = 1 << 16

func (s *Stitcher) accept(given *span.Span, instance uint64, now time.Time) {
	k := key{given.TraceID, given.ID}
	if spot, handedOut := s.own[k]; handedOut && spot.given {
		s.stats.Repeated++
		return
	}
	if known := s.nodes[k]; known != nil {
		s.stats.Repeated++
		if compare(given, known.span) < 0 { // one ID, two spans: the same of them stays, whichever came first
			s.release(known)
			s.plantNew(newNode(given, instance, now))
		}
		return
	}
	n := newNode(given, instance, now)
	if n.up != (key{}) && s.noise.has(n.up) || isNoise(given) {
		s.stats.Noise++
		s.noise.add(k)
		s.silence(k)
		return
	}
	s.plantNew(n)
}

func (s *Stitcher) plantNew(n *node) {
	s.plant(n)
	s.keep(n)
	s.meet(n)
	if n.identity.kind == noIdentity {
		return
	}
	e := s.entry(n.identity)
	e.nodes.push(n)
	s.recount(n.identity, e)
}

// silence drops what waits for a span that was noise.
func (s *Stitcher) silence(k key) {
	var tree []*node
	for o := s.orphans[k]; o != nil; o = o.next {
		tree = append(tree, walk(o, nil)...)
	}
	for _, n := range tree {
		s.stats.Noise++
		s.noise.add(n.key)
		s.release(n)
	}
}

// release lets go of n.
func (s *Stitcher) release(n *node) {
	s.part(n)
	s.uproot(n)
	s.unkeep(n)
	if n.identity.kind == noIdentity {
		return
	}
	e := s.entries[n.identity]
	e.nodes.remove(n)
	s.recount(n.identity, e)
	s.identities.release(n.identity)
}

// recount has the requests of an audit-id resolved anew, whose number has changed:
// one more, and it may name nothing any more. Beyond maxHops nothing changes.
func (s *Stitcher) recount(id identity, e *entry) {
	if id.kind == byAudit && e.nodes.len <= maxHops+1 {
		e.nodes.each(s.touch)
	}
}

// compare orders two spans that came with the same IDs, by all that they say of
// what was done.
func compare(a, b *span.Span) int {
	c := cmp.Or(
		a.Start.Compare(b.Start.Time), b.End.Compare(a.End.Time), cmp.Compare(a.Name, b.Name),
		cmp.Compare(a.Service, b.Service),
		cmp.Compare(kind(a), kind(b)), cmp.Compare(len(b.Attributes), len(a.Attributes)),
		cmp.Compare(len(b.Events), len(a.Events)),
		bytes.Compare(a.Parent[:], b.Parent[:]), cmp.Compare(a.Status, b.Status), cmp.Compare(a.Message, b.Message),
	)
	if c != 0 {
		return c
	}
	return cmp.Or(
		slices.CompareFunc(a.Attributes, b.Attributes, func(a, b attribute.KeyValue) int {
			return cmp.Or(cmp.Compare(a.Key, b.Key), cmp.Compare(a.Value.String(), b.Value.String()))
		}),
		slices.CompareFunc(a.Links, b.Links, func(a, b span.Link) int {
			return cmp.Or(bytes.Compare(a.TraceID[:], b.TraceID[:]), bytes.Compare(a.SpanID[:], b.SpanID[:]))
		}),
	)
}

// instances tells the processes apart that a batch of spans comes from: spans that
// came together share a resource.
type instances struct {
	resource *span.Resource
	id       uint64
}

// unplaced marks, in an instance, a resource that does not say on which host.
const unplaced = 1

func (i *instances) of(s *span.Span) uint64 {
	r := s.Origin.Resource
	if r == nil {
		return xxhash.Sum64String(s.Service) | unplaced
	}
	if r == i.resource {
		return i.id
	}
	var b []byte
	placed := false
	for _, kv := range r.Attributes {
		switch kv.Key {
		case "host.name", "host.id", "service.instance.id", "k8s.node.name", "k8s.node.uid", "k8s.pod.uid":
			placed = true
		case "service.name":
		default:
			continue
		}
		b = append(append(append(b, kv.Key...), 0), kv.Value.String()...)
		b = append(b, 0)
	}
	id := xxhash.Sum64(b) &^ unplaced
	if !placed {
		id |= unplaced
	}
	i.resource, i.id = r, id
	return id
}

// isCall reports whether a client's span called a server's.
func isCall(caller, called *span.Span) bool {
	return kind(caller) == trace.SpanKindClient && kind(called) == trace.SpanKindServer
}
