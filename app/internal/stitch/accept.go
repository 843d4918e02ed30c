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

// Accept takes spans of other components, in any order; repeated spans are allowed. It retains
// them: the caller must not change them afterwards. Spans without Origin or valid IDs are skipped.
func (s *Stitcher) Accept(spans []*span.Span, now time.Time) {
	s.intake.accept(spans, now)
	if s.isFull() || len(s.buffer.forest.dirty) > maxDirty {
		s.resolver.settle()
		s.makeRoom()
	}
}

// maxDirty limits the spans that wait to be resolved.
const maxDirty = 1 << 16

// intake adds accepted spans to the buffer, except repeated spans and noise.
type intake struct {
	stats  *Stats
	noise  noise
	buffer *buffer
	traces *traces
}

func (i *intake) accept(spans []*span.Span, now time.Time) {
	var from instances
	for _, given := range spans {
		if given.Origin == nil || !given.TraceID.IsValid() || !given.ID.IsValid() {
			continue
		}
		i.stats.Received++
		if given.Origin.Scope.Name == span.ScopeName {
			i.stats.Own++ // Lifeline's own span, returned by its receiver
			continue
		}
		i.add(given, from.of(given), now)
	}
}

func (i *intake) add(given *span.Span, instance uint64, now time.Time) {
	k := key{given.TraceID, given.ID}
	if spot, handedOut := i.traces.own[k]; handedOut && spot.given {
		i.stats.Repeated++
		return
	}
	if known := i.buffer.forest.nodes[k]; known != nil {
		i.stats.Repeated++
		if compare(given, known.span) < 0 { // two spans with one ID: keep the same one in any order
			i.buffer.remove(known)
			i.buffer.add(newNode(given, instance, now))
		}
		return
	}
	n := newNode(given, instance, now)
	if n.up != (key{}) && i.noise.has(n.up) || isNoise(given) {
		i.stats.Noise++
		i.noise.add(k)
		i.silence(k)
		return
	}
	i.buffer.add(n)
}

// silence drops the spans that wait for a noise span.
func (i *intake) silence(k key) {
	var tree []*node
	for o := i.buffer.forest.orphans[k]; o != nil; o = o.next {
		tree = append(tree, walk(o, nil)...)
	}
	for _, n := range tree {
		i.stats.Noise++
		i.noise.add(n.key)
		i.buffer.remove(n)
	}
}

// compare orders two spans with the same IDs by their contents.
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

// instances identifies the processes that sent a batch of spans. Spans of one request share a
// resource.
type instances struct {
	resource *span.Resource
	id       uint64
}

// unplaced marks an instance whose resource does not name its host.
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

// isCall reports whether caller is the client's span of the call that called serves.
func isCall(caller, called *span.Span) bool {
	return kind(caller) == trace.SpanKindClient && kind(called) == trace.SpanKindServer
}
