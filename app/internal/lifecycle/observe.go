// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"github.com/kube-lifeline/lifeline/app/internal/change"
	"github.com/kube-lifeline/lifeline/app/internal/index"
	"github.com/kube-lifeline/lifeline/app/internal/observation"
	"github.com/kube-lifeline/lifeline/app/internal/trail"
)

// Observe adds one observation. It keeps the parts of o, so o must not change afterwards. A
// repeated observation changes nothing.
func (e *Engine) Observe(o *observation.Observation) {
	if wall := o.Seen.Round(0); wall != o.Seen {
		// A monotonic clock reading cannot be saved. A restored Engine must reach the same
		// conclusions without it.
		stripped := *o
		stripped.Seen, o = wall, &stripped
	}
	if o.Seen.After(e.last) {
		e.last = o.Seen
	}
	e.after.observed(o.Seen)
	switch {
	case o.State != nil:
		e.observeState(o)
	case o.Gone != nil:
		e.observeGone(o)
	case o.Write != nil && o.Source == observation.SourceAudit:
		e.trail.Measure(o)
		e.observeAudit(o.Write)
	case o.Write != nil:
		e.observeWrite(o.Write)
	case o.Event != nil:
		e.observeEvent(o)
	case o.Run != nil:
		e.observeRun(o.Run)
	}
}

// observeState adds a version. The endpoints of a slice come first: they count also if the version is late. The
// index precedes the groups, which follow its owners and names.
func (e *Engine) observeState(o *observation.Observation) {
	s := o.State
	if s.Node != nil && e.index.SetNode(s.Name, s.Node) {
		e.groups.changeAll()
	}
	t := e.index.Timeline(s.Ref)
	if s.Endpoints != nil {
		e.groups.changedPods(e.endpoints.publish(t, o))
	}
	if e.late.state(t, o) {
		e.index.Relate(t, nil)
		e.changed(t)
		return
	}
	before := t.Last()
	put := e.index.Put(t, o, e.groups.of[t] != nil, !e.opts.Rebuild)
	e.memory.fates.add(&put)
	e.after.version(t, before, t.Last())
	e.problems.touch(t)
	for _, other := range put.Doubtful {
		e.groups.doubt(other)
	}
	if put.Quiet {
		return
	}
	e.groups.doubt(t)
	e.changed(t)
	e.groups.tieOwners(t, put.Above)
	e.groups.context(t, s.TraceParent)
	if len(t.Versions) == 1 {
		for _, w := range e.trail.Waiting(t) {
			e.attach(t, w, true)
		}
		e.groups.changedPods(e.endpoints.first(t))
	}
}

func (e *Engine) observeGone(o *observation.Observation) {
	t := e.index.Timeline(o.Gone.Ref)
	first, doubtful := e.index.PutGone(t, o)
	if first {
		e.memory.fates.Observed++
		e.after.gone(t)
	}
	for _, other := range append(doubtful, t) {
		e.groups.doubt(other)
	}
	e.changed(t)
}

func (e *Engine) observeEvent(o *observation.Observation) {
	t := e.index.Timeline(o.Event.Regarding)
	e.after.event(t, o)
	if !e.late.event(t, o, e.index.Shared()) {
		t.Event(o, e.index.Shared())
	}
	if change.Relates(o.Event) {
		e.index.Relate(t, nil)
	}
	e.changed(t)
}

func (e *Engine) observeWrite(w *observation.Write) {
	if w.UID == "" {
		e.index.AddRefused(w)
		e.groups.changedRequest(w)
		return
	}
	t := e.index.Timeline(w.Ref)
	t.Request(w)
	e.changed(t)
	e.groups.context(t, w.TraceParent)
}

// observeAudit adds a write from the audit log.
func (e *Engine) observeAudit(w *observation.Write) {
	again, contradicted := e.trail.Sight(w)
	if contradicted {
		e.groups.changeAll()
	}
	id, known := index.Identify(w), e.index.View()
	if w.Failed() {
		if !again {
			e.refuse(id, w)
		}
		return
	}
	if t := known.Object(id.UID); id.UID != "" && t != nil {
		e.attach(t, w, again)
		return
	}
	waits := w
	if id.UID == "" {
		for _, t := range known.BySubject(id) {
			e.attach(t, w, again)
			waits = trail.Claimed(t, waits)
		}
	}
	if !again {
		e.trail.Wait(id, waits)
	}
}

// refuse adds a refused request of the audit log.
func (e *Engine) refuse(id index.Subject, w *observation.Write) {
	e.trail.Count(func(s *trail.Stats) { s.Refused++ })
	if t := e.index.View().Object(id.UID); id.UID != "" && t != nil && e.late.refusal(t, w) {
		return
	}
	again, dropped := e.trail.Refuse(id, w)
	if dropped {
		e.groups.changeAll()
	}
	if again != nil {
		e.late.refusedAgain(again, w)
	}
	e.groups.changedRefusal(id)
}

// attach adds a write of the audit log to the timeline of its object.
func (e *Engine) attach(t *change.Timeline, w *observation.Write, again bool) {
	if e.late.audit(t, w, again) {
		return
	}
	e.trail.Attach(t, w)
	e.groups.doubt(t)
	e.changed(t)
	e.groups.context(t, w.TraceParent)
}

func (e *Engine) observeRun(r *observation.Run) {
	sc := change.ParseContext(r.TraceParent, "")
	if !sc.IsValid() {
		return
	}
	if known := e.index.Runs()[sc.TraceID()]; known != nil && r.End.IsZero() {
		return // its end was already observed
	}
	e.index.AddRun(sc.TraceID(), r)
	e.groups.changedRun(sc.TraceID())
}

// changed marks the group of t as changed.
func (e *Engine) changed(t *change.Timeline) {
	e.problems.touch(t)
	if len(t.Versions) == 0 {
		e.index.Relate(t, nil) // it has a name already
	}
	e.groups.changed(t)
}
