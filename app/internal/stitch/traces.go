// SPDX-License-Identifier: Apache-2.0

package stitch

import (
	"slices"
	"time"

	"go.opentelemetry.io/otel/trace"

	"github.com/kube-lifeline/lifeline/app/internal/span"
)

// traces are our traces, with the places and identities that can join spans of other components.
type traces struct {
	forest     *forest
	identities *identities
	changes    map[trace.TraceID]*change
	// own holds the possible parents in them: our spans, and foreign spans that were returned.
	own map[key]spot
	// open are the unfinished changes, and late the finished ones with late spans.
	open, late map[*change]struct{}
	// closed are the traces that accept no more spans.
	closed traceSet
}

func newTraces(f *forest, i *identities) *traces {
	return &traces{
		forest: f, identities: i, changes: map[trace.TraceID]*change{}, own: map[key]spot{},
		open: map[*change]struct{}{}, late: map[*change]struct{}{}, closed: newTraceSet(maxClosed),
	}
}

// know records the identities in t, and marks the spans that they may join to be resolved again.
func (o *traces) know(t *span.Trace, now time.Time) *change {
	c := o.changes[t.ID]
	if c == nil {
		c = &change{
			id: t.ID, keys: map[trace.SpanID]uint32{}, audits: map[string]trace.SpanID{}, trees: map[*node]struct{}{},
		}
		o.changes[t.ID] = c
		o.open[c] = struct{}{}
		if g := o.forest.groups[t.ID]; g != nil {
			g.each(o.forest.touch) // created under the trace's context
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
	o.knowSpans(c, t)
	o.knowWrites(c, t)
	o.knowStays(c, t)
	if c.span(t) && c.version > 1 {
		o.touchAll(c)
	}
	return c
}

func (o *traces) knowSpans(c *change, t *span.Trace) {
	for _, own := range t.Spans {
		if _, known := c.keys[own.ID]; !known {
			k := key{t.ID, own.ID}
			o.own[k] = spot{change: c, id: own.ID}
			o.forest.touchBelow(k)
		}
		c.keys[own.ID] = c.version
	}
	for id, version := range c.keys {
		if version != c.version {
			delete(c.keys, id)
			k := key{t.ID, id}
			delete(o.own, k)
			o.forest.touchBelow(k)
		}
	}
}

// knowWrites records the audit-ids of our writes.
func (o *traces) knowWrites(c *change, t *span.Trace) {
	audits := auditsOf(t)
	for id, at := range c.audits {
		if now, there := audits[id]; !there || now != at {
			o.unwrite(c, id)
		}
	}
	o.addWrites(c, audits)
}

// addWrites records new audit-ids.
func (o *traces) addWrites(c *change, audits map[string]trace.SpanID) {
	for id, at := range audits {
		if _, known := c.audits[id]; known {
			continue
		}
		c.audits[id] = at
		e := o.identities.entry(identity{byAudit, id})
		e.writes = append(e.writes, written{c, at})
		e.nodes.each(o.forest.touch)
	}
}

func (o *traces) unwrite(c *change, id string) {
	delete(c.audits, id)
	which := identity{byAudit, id}
	e := o.identities.entries[which]
	e.writes = slices.DeleteFunc(e.writes, func(w written) bool { return w.change == c })
	e.nodes.each(o.forest.touch)
	o.identities.release(which)
}

// knowStays records the reconciliations of Pods.
func (o *traces) knowStays(c *change, t *span.Trace) {
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
	o.unstay(c)
	c.stays = now
	for _, st := range now {
		e := o.identities.entry(identity{byPod, st.pod})
		at, _ := slices.BinarySearchFunc(e.stays, st, compareStays)
		e.stays = slices.Insert(e.stays, at, st)
		o.touchPod(e)
		named := o.identities.entry(st.named)
		at, _ = slices.BinarySearchFunc(named.stays, st, compareStays)
		named.stays = slices.Insert(named.stays, at, st)
	}
}

// touchPod marks all spans of a Pod, and of its containers, to be resolved again.
func (o *traces) touchPod(e *entry) {
	e.nodes.each(o.forest.touch)
	for _, id := range e.containers {
		if c := o.identities.entries[id]; c != nil {
			c.nodes.each(o.forest.touch)
		}
	}
}

func (o *traces) unstay(c *change) {
	for _, st := range c.stays {
		for _, which := range []identity{{byPod, st.pod}, st.named} {
			if e := o.identities.entries[which]; e != nil {
				e.stays = slices.DeleteFunc(e.stays, func(other stay) bool { return other.change == c })
				o.touchPod(e)
				o.identities.release(which)
			}
		}
	}
	c.stays = nil
}

// amend adds spans of ours to a finished change.
func (o *traces) amend(c *change, t *span.Trace) {
	for _, own := range t.Spans {
		if _, known := c.keys[own.ID]; !known {
			c.keys[own.ID] = c.version
			o.own[key{t.ID, own.ID}] = spot{change: c, id: own.ID}
			o.forest.touchBelow(key{t.ID, own.ID})
		}
	}
	o.addWrites(c, auditsOf(t))
}

// forget removes a change, and marks the spans joined to it to be resolved again.
func (o *traces) forget(c *change) {
	for id := range c.keys {
		delete(o.own, key{c.id, id})
		o.forest.touchBelow(key{c.id, id})
	}
	for _, k := range c.given {
		delete(o.own, k)
		o.forest.touchBelow(k)
	}
	for id := range c.audits {
		o.unwrite(c, id)
	}
	o.unstay(c)
	for top := range c.trees {
		o.forest.touch(top)
	}
	delete(o.changes, c.id)
	delete(o.open, c)
	delete(o.late, c)
}

// touchAll marks all spans that may belong to c to be resolved again.
func (o *traces) touchAll(c *change) {
	if g := o.forest.groups[c.id]; g != nil {
		g.each(o.forest.touch)
	}
	for id := range c.keys {
		o.forest.touchBelow(key{c.id, id})
	}
	for id := range c.audits {
		o.identities.entries[identity{byAudit, id}].nodes.each(o.forest.touch)
	}
	for _, st := range c.stays {
		o.touchPod(o.identities.entries[identity{byPod, st.pod}])
	}
}
