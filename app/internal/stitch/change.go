// SPDX-License-Identifier: Apache-2.0

package stitch

import (
	"slices"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"

	"github.com/kube-lifeline/lifeline/app/internal/span"
)

// change is the state of one of our traces: the identities that can join others' spans, and the
// trees with such spans.
type change struct {
	id   trace.TraceID
	root trace.SpanID
	// keys, audits and stays are the identities in the trace. A value of keys is the version that
	// last contained the span.
	keys    map[trace.SpanID]uint32
	audits  map[string]trace.SpanID
	stays   []stay
	version uint32
	print   uint64
	seen    time.Time
	// from is the earliest start of its spans. handed is when Join returned it as finished; zero
	// before. outside reports an outside context above the trace.
	from, handed time.Time
	outside      bool

	// trees are the tops of the trees with a span in the trace.
	trees map[*node]struct{}
	// stale reports a change in the trees since joined was built.
	stale  bool
	joined *span.Trace

	// done reports that the finished trace was returned, with the foreign spans given and the clock
	// corrections clock. After that the trace does not change.
	done  bool
	given []key
	clock map[uint64]time.Duration
}

// spot is a place in a trace of ours. It is a span of ours, or a foreign span already returned with
// ID id.
type spot struct {
	change *change
	id     trace.SpanID
	given  bool
}

// stay is a Pod's reconciliation. schedule, sandbox and terminate are its phases of these names, if it
// has them.
type stay struct {
	change    *change
	at        trace.SpanID
	schedule  trace.SpanID
	sandbox   period
	terminate trace.SpanID
	pod       string
	named     identity
	start     span.Time
	end       time.Time // zero while open
	deletion  bool
}

// size returns the number of identities stored for c.
func (c *change) size() int { return len(c.keys) + len(c.audits) + 2*len(c.given) }

// know records the identities in t, and marks the spans that they may join to be resolved again.
func (s *Stitcher) know(t *span.Trace, now time.Time) *change {
	c := s.changes[t.ID]
	if c == nil {
		c = &change{
			id: t.ID, keys: map[trace.SpanID]uint32{}, audits: map[string]trace.SpanID{}, trees: map[*node]struct{}{},
		}
		s.changes[t.ID] = c
		s.open[c] = struct{}{}
		if g := s.groups[t.ID]; g != nil {
			g.each(s.touch) // created under the trace's context
		}
	}
	c.seen = now
	if c.done {
		return c
	}
	looks := fingerprint(t)
	if looks == c.print && c.version > 0 {
		return c
	}
	c.print, c.stale, c.version = looks, true, c.version+1
	if root := t.Root(); root != nil {
		c.root = root.ID
	}
	s.knowSpans(c, t)
	s.knowWrites(c, t)
	s.knowStays(c, t)
	if c.span(t) && c.version > 1 {
		s.touchAll(c)
	}
	return c
}

func (s *Stitcher) knowSpans(c *change, t *span.Trace) {
	for _, own := range t.Spans {
		if _, known := c.keys[own.ID]; !known {
			k := key{t.ID, own.ID}
			s.own[k] = spot{change: c, id: own.ID}
			s.touchBelow(k)
		}
		c.keys[own.ID] = c.version
	}
	for id, version := range c.keys {
		if version != c.version {
			delete(c.keys, id)
			k := key{t.ID, id}
			delete(s.own, k)
			s.touchBelow(k)
		}
	}
}

// touchBelow marks k and all spans with parent k to be resolved again.
func (s *Stitcher) touchBelow(k key) {
	s.touchOrphans(k)
	if n := s.nodes[k]; n != nil {
		s.touch(n)
	}
}

// knowWrites records the audit-ids of our writes.
func (s *Stitcher) knowWrites(c *change, t *span.Trace) {
	audits := auditsOf(t)
	for id, at := range c.audits {
		if now, there := audits[id]; !there || now != at {
			s.unwrite(c, id)
		}
	}
	s.addWrites(c, audits)
}

// addWrites records new audit-ids.
func (s *Stitcher) addWrites(c *change, audits map[string]trace.SpanID) {
	for id, at := range audits {
		if _, known := c.audits[id]; known {
			continue
		}
		c.audits[id] = at
		e := s.entry(identity{byAudit, id})
		e.writes = append(e.writes, written{c, at})
		e.nodes.each(s.touch)
	}
}

// auditsOf returns the audit-ids of our writes in t, from spans and span events. Of several writes
// of one request, it returns the first.
func auditsOf(t *span.Trace) map[string]trace.SpanID {
	audits := map[string]trace.SpanID{}
	note := func(attrs []attribute.KeyValue, at trace.SpanID) {
		if id := text(attrs, span.KeyAuditID); id != "" {
			if _, known := audits[id]; !known {
				audits[id] = at
			}
		}
	}
	for _, own := range t.Spans {
		if own.IsWrite() {
			note(own.Attributes, own.ID)
		}
	}
	for _, own := range t.Spans {
		for i := range own.Events {
			if own.Events[i].Name == span.EventWrite {
				note(own.Events[i].Attributes, own.ID)
			}
		}
	}
	return audits
}

func (s *Stitcher) unwrite(c *change, id string) {
	delete(c.audits, id)
	which := identity{byAudit, id}
	e := s.entries[which]
	e.writes = slices.DeleteFunc(e.writes, func(w written) bool { return w.change == c })
	e.nodes.each(s.touch)
	s.identities.release(which)
}

// knowStays records the reconciliations of Pods.
func (s *Stitcher) knowStays(c *change, t *span.Trace) {
	var now []stay
	ending := map[trace.SpanID]bool{}
	for _, own := range t.Spans {
		if own.Name == span.NameTerminate {
			ending[own.Parent] = true
		}
	}
	for _, own := range t.Spans {
		if own.Object.Kind.Kind == "Pod" && own.Object.Group == "" && own.Object.UID != "" && own.IsReconciliation() {
			now = append(now, stay{
				change: c, at: own.ID, pod: string(own.Object.UID),
				named: podNamed(own.Object.Namespace, own.Object.Name), start: own.Start, end: own.End.Time,
				deletion: ending[own.ID] || own.Outcome == span.Deleted,
			})
		}
	}
	knowPhases(now, t)
	if slices.Equal(now, c.stays) {
		return
	}
	s.unstay(c)
	c.stays = now
	for _, st := range now {
		e := s.entry(identity{byPod, st.pod})
		at, _ := slices.BinarySearchFunc(e.stays, st, compareStays)
		e.stays = slices.Insert(e.stays, at, st)
		s.touchPod(e)
		named := s.entry(st.named)
		at, _ = slices.BinarySearchFunc(named.stays, st, compareStays)
		named.stays = slices.Insert(named.stays, at, st)
	}
}

// touchPod marks all spans of a Pod, and of its containers, to be resolved again.
func (s *Stitcher) touchPod(e *entry) {
	e.nodes.each(s.touch)
	for _, id := range e.containers {
		if c := s.entries[id]; c != nil {
			c.nodes.each(s.touch)
		}
	}
}

func compareStays(a, b stay) int {
	if c := a.start.Compare(b.start.Time); c != 0 {
		return c
	}
	if c := slices.Compare(a.change.id[:], b.change.id[:]); c != 0 {
		return c
	}
	return slices.Compare(a.at[:], b.at[:])
}

func (s *Stitcher) unstay(c *change) {
	for _, st := range c.stays {
		for _, which := range []identity{{byPod, st.pod}, st.named} {
			if e := s.entries[which]; e != nil {
				e.stays = slices.DeleteFunc(e.stays, func(other stay) bool { return other.change == c })
				s.touchPod(e)
				s.identities.release(which)
			}
		}
	}
	c.stays = nil
}

// forget removes a change, and marks the spans joined to it to be resolved again.
func (s *Stitcher) forget(c *change) {
	for id := range c.keys {
		delete(s.own, key{c.id, id})
		s.touchBelow(key{c.id, id})
	}
	for _, k := range c.given {
		delete(s.own, k)
		s.touchBelow(k)
	}
	for id := range c.audits {
		s.unwrite(c, id)
	}
	s.unstay(c)
	for top := range c.trees {
		s.touch(top)
	}
	delete(s.changes, c.id)
	delete(s.open, c)
}

// podNamed is a Pod's identity by name.
func podNamed(namespace, name string) identity { return identity{byName, namespace + "/" + name} }
