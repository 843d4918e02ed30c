// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"context"
	"slices"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"

	"github.com/kube-lifeline/lifeline/app/internal/kind"
	"github.com/kube-lifeline/lifeline/app/internal/object"
	"github.com/kube-lifeline/lifeline/app/internal/observation"
	"github.com/kube-lifeline/lifeline/app/internal/span"
)

// cause is where a write belongs: its trace and its parent there.
type cause struct {
	line     *lineage
	parent   *reconciliation
	above    trace.SpanID
	remote   bool
	evidence span.Evidence
	links    []span.Link
	heals    *timeline
	// span is the ID that the reconciliation's span has been given already; zeros
	// if it is to be derived.
	span trace.SpanID
}

// cause applies the rules in their order; the first that holds names the
// parent. The request of a run that was seen whole comes before a context on
// the object: the user asked for that trace (see docs/trace-model.md).
func (d *derivation) cause(w *write) cause {
	var links []span.Link
	if w.req != nil {
		if c, ok := d.byRequest(w); ok {
			return c
		}
	}
	if c, ok := d.byRebuild(w); ok {
		return c
	}
	c, ok, link := d.byAnnotation(w)
	if ok {
		return c
	}
	links = append(links, link...)
	if w.verb == deleted {
		c, ok = d.byOwnersEnd(w)
	}
	if !ok {
		c, ok = d.byOwner(w)
	}
	if !ok {
		c, ok = d.byItself(w)
	}
	if !ok {
		c, ok, link = d.byAdmission(w)
		links = append(links, link...)
	}
	if !ok {
		c, ok = d.byRelation(w)
	}
	if !ok {
		c = d.byNone(w)
	}
	c.links = append(c.links, links...)
	return c
}

// byRequest is rule C2: the request was made by a run.
func (d *derivation) byRequest(w *write) (cause, bool) {
	l := d.lineOf(w.req)
	if l == nil {
		return cause{}, false
	}
	c := cause{
		line:     l,
		above:    parseContext(l.run.TraceParent, "").SpanID(),
		evidence: span.ByRequest,
		span:     d.admittedIn(w, l.id),
	}
	if w.v != nil && w.v.TraceParent != "" {
		if sc := parseContext(
			w.v.TraceParent,
			w.v.TraceState,
		); sc.IsValid() && sc.TraceID() != l.id &&
			(w.prev == nil || w.prev.TraceParent != w.v.TraceParent) {
			c.links = append(
				c.links,
				span.Link{TraceID: sc.TraceID(), SpanID: sc.SpanID(), Attributes: linkReason(linkAnnotation)},
			)
		}
	}
	return c, true
}

// byOwnersEnd is rule C3b: a dependant that goes after its owner.
func (d *derivation) byOwnersEnd(w *write) (cause, bool) {
	for _, o := range w.t.owners() {
		if r := d.current(o.UID); r != nil && r.verb == deleted && d.engine.owns(o, w.t) {
			return cause{line: r.line, parent: r, evidence: span.ByOwner}, true
		}
	}
	if r := d.endingNamespace(w); r != nil {
		return cause{line: r.line, parent: r, evidence: span.ByRelation}, true
	}
	return cause{}, false
}

// byOwner is rule C3: the write was made by the controller of the controller
// owner.
func (d *derivation) byOwner(w *write) (cause, bool) {
	o := d.engine.controllerOf(w.t)
	if o == nil || !d.byController(w) {
		return cause{}, false
	}
	r := d.wanting(w, o)
	if kind.Of(o.Group, o.Kind.Kind).Schedule && (r == nil || r.verb != deleted) {
		return d.scheduled(w, o, r)
	}
	if r == nil {
		// It had converged before the observer began.
		if w.verb != created || d.lost(w, o) == nil {
			return cause{}, false
		}
		return d.healing(w, nil, o), true
	}
	open := r.openAt(w, d.opts.Quiet)
	switch {
	case w.verb == deleted && open && d.surplus(w, r):
		return cause{line: r.line, parent: r, evidence: span.ByOwner}, true
	case w.verb == deleted && d.surplusSet(w, o):
		return cause{line: r.line, parent: r, evidence: span.ByOwner}, true
	case w.verb == deleted:
		return cause{}, false
	case open && !d.refills(w, o):
		return cause{line: r.line, parent: r, evidence: d.byWindow(w, r, o)}, true
	case opaque(r.t) && d.lost(w, o) == nil && d.newRole(w, r, o):
		return cause{line: r.line, parent: r, evidence: span.ByOwner}, true
	}
	return d.healing(w, r, o), true
}

// byWindow is the evidence for the owner's open reconciliation r: time, if only the quiet window says
// that it is open.
func (d *derivation) byWindow(w *write, r *reconciliation, o *object.Owner) span.Evidence {
	if r.verb != deleted && r.convergedBy(w.rv) != nil && !d.newRole(w, r, o) {
		return span.ByTime
	}
	return span.ByOwner
}

// scheduled is the work of a controller that makes objects at set times: each is a change of its own,
// linked to the last change of the schedule. The removal of an old one belongs to the newest.
func (d *derivation) scheduled(w *write, o *object.Owner, owner *reconciliation) (cause, bool) {
	switch w.verb {
	case created:
		c := cause{line: d.newLine(w)}
		if owner != nil {
			c.links = append(c.links, owner.link("owner"))
		}
		return c, true
	case deleted:
		if r := d.latestRun(w, o); r != nil {
			return cause{line: r.line, parent: r, evidence: span.ByTime}, true
		}
	}
	return cause{}, false
}

// latestRun returns the reconciliation of the newest object of a schedule that had ended before w, if
// the schedule's controller removed as many as its history limits say.
func (d *derivation) latestRun(w *write, o *object.Owner) *reconciliation {
	var newest *reconciliation
	for _, t := range d.engine.dependantsOf(o.UID) {
		if t == w.t || t.removal != nil && t.removal.rv < w.rv {
			continue
		}
		r := d.current(t.ref.UID)
		if r == nil || r.verb != created || !d.alive(r.line, w) {
			continue
		}
		if newest == nil || r.first().rv > newest.first().rv {
			newest = r
		}
	}
	return newest
}

// byItself is an object's own controller that completes what it works on: it
// adds a field or a label to an object whose reconciliation is open. That is a
// step of the reconciliation and replaces nothing.
func (d *derivation) byItself(w *write) (cause, bool) {
	if !d.itself(w) {
		return cause{}, false
	}
	r := d.underWay(w)
	return cause{line: r.line, parent: r.parent, above: r.above, remote: r.remote, evidence: r.evidence}, true
}

// itself reports whether w is such a step.
func (d *derivation) itself(w *write) bool {
	r := d.underWay(w)
	return r != nil && w.verb == updated && r.verb != deleted && r.openAt(w, d.opts.Quiet) && ownController(w)
}

// ownController reports whether who made the write is who writes the object's
// status. A scale is somebody else's wish: an autoscaler may go by the same
// name.
func ownController(w *write) bool {
	if w.manager == "" || isClient(w.manager) || w.v == nil || w.prev == nil {
		return false
	}
	for _, m := range w.v.Managers {
		if m.Name == w.manager && m.Subresource == "scale" && !slices.ContainsFunc(w.prev.Managers, is(m)) {
			return false
		}
	}
	return slices.ContainsFunc(w.t.versions, func(v *version) bool {
		return slices.ContainsFunc(v.Managers, func(m *observation.Manager) bool {
			return m.Name == w.manager && m.Subresource == "status"
		})
	})
}

// healing is the cluster restoring what had converged: a trace of its own,
// which names what it reacted to. owner is nil if its last reconciliation is not
// known.
func (d *derivation) healing(w *write, owner *reconciliation, o *object.Owner) cause {
	c := cause{line: d.newLine(w)}
	d.heal(&c, w, owner, o)
	return c
}

// heal notes in c what healing refers to: the owner's last trace, and what w
// replaces.
func (d *derivation) heal(c *cause, w *write, owner *reconciliation, o *object.Owner) {
	if owner != nil {
		c.links = append(c.links, owner.link("owner"))
	}
	lost := d.lost(w, o)
	if w.verb != created || lost == nil {
		return
	}
	lost.replaced = true
	c.heals = lost.t
	if lost.rec != nil {
		if owner == nil || lost.rec.line != owner.line {
			c.links = append(c.links, lost.rec.link("heals"))
		}
		c.line.follows = append(c.line.follows, lost.rec.line)
	}
}

// refills reports whether w replaces a Pod that a StatefulSet had made and lost.
func (d *derivation) refills(w *write, o *object.Owner) bool {
	return kind.StatefulSet.Is(o.Kind) && w.verb == created && d.lost(w, o) != nil
}

// lost is the dependant that w replaces: the first that went before it and that
// nothing has replaced yet. A StatefulSet's Pod replaces that of its name.
func (d *derivation) lost(w *write, o *object.Owner) *departure {
	named := kind.StatefulSet.Is(o.Kind)
	for _, lost := range d.departed[o.UID] {
		if !lost.replaced && lost.rv < w.rv && lost.t != w.t && lost.t.ref.Kind == w.t.ref.Kind &&
			(!named || lost.t.ref.Name == w.t.ref.Name) {
			return lost
		}
	}
	return nil
}

// byNone is rule C6: a new trace.
func (d *derivation) byNone(w *write) cause { return cause{line: d.newLine(w)} }

// newLine returns the lineage that w starts; its ID is the same in every
// observer.
func (d *derivation) newLine(w *write) *lineage {
	id := d.derivedID(w)
	if l := d.lines[id]; l != nil {
		return l
	}
	l := &lineage{id: id, first: w.rv}
	d.lines[id] = l
	return l
}

// derivedID is the ID of the trace that w starts, if it does.
func (d *derivation) derivedID(w *write) trace.TraceID {
	return span.DeriveTraceID(d.opts.Cluster, string(w.t.ref.UID), string(w.verb), w.which())
}

// openOwner returns the open reconciliation of the controller owner, or nil.
func (d *derivation) openOwner(w *write) *reconciliation {
	o := d.engine.controllerOf(w.t)
	if o == nil {
		return nil
	}
	if r := d.current(o.UID); r != nil && r.openAt(w, d.opts.Quiet) {
		return r
	}
	return nil
}

// ownershipCause is the reconciliation that made ownerReferences come or go:
// that of the owner which is going, or which has adopted the object.
func (d *derivation) ownershipCause(w *write) *reconciliation {
	for _, o := range w.prev.Owners {
		if r := d.current(o.UID); r != nil && r.verb == deleted && d.engine.owns(o, w.t) {
			return r
		}
	}
	return d.openOwner(w)
}

// byController reports whether the owner's controller may have made the write: the audit log names it,
// or it made the object, and by managedFields nobody else made this change.
func (d *derivation) byController(w *write) bool {
	if o := d.engine.controllerOf(w.t); o != nil {
		if is, known := d.auditedController(w, o); known {
			return is
		}
	}
	if w.verb != updated || w.manager == "" && !w.changed.known || len(w.t.versions) == 0 {
		return true
	}
	if w.manager == "" {
		return false // unknown is not the controller (rule A3)
	}
	maker := writer(nil, w.t.versions[0], true)
	for _, m := range w.t.versions[0].Managers {
		if m.Subresource == "" && m.Name == w.manager {
			return !isClient(w.manager)
		}
	}
	return maker == w.manager
}

// surplus reports whether the owner's controller takes a dependant away because of r, which is open.
// Kinds that are not known may for any reason.
func (d *derivation) surplus(w *write, r *reconciliation) bool {
	switch of := r.t.ref.Kind; {
	case kind.ReplicaSet.Is(of):
		want := wanted(r.t, w.rv)
		return want >= 0 && d.census(r.t.ref.UID).before(w.rv) > want
	case kind.StatefulSet.Is(of):
		n, ok := ordinal(w.t.ref.Name)
		return r.verb == updated || ok && n >= wanted(r.t, w.rv)
	case kind.DaemonSet.Is(of):
		return r.verb == updated
	case kind.Job.Is(of):
		return r.verb == updated || ended(r.t, w.rv)
	}
	return true
}

// wanted is the number of replicas of an owner just before rv, or -1 if it is unknown.
func wanted(t *timeline, rv uint64) int {
	i, _ := t.position(rv)
	for i--; i >= 0; i-- {
		if w := t.versions[i].Workload; w != nil {
			return int(w.Replicas)
		}
	}
	return -1
}

// ended reports whether a Job's controller had decided just before rv to end its Pods.
func ended(t *timeline, rv uint64) bool {
	i, _ := t.position(rv)
	if i == 0 {
		return false
	}
	v := t.versions[i-1]
	return holds(v, "FailureTarget") || holds(v, "SuccessCriteriaMet") || holds(v, "Failed") || holds(v, "Complete")
}

// surplusSet reports whether the owner's controller removed a ReplicaSet that was scaled to nothing:
// the audit log says so, or as many of them are left as the owner keeps.
func (d *derivation) surplusSet(w *write, o *object.Owner) bool {
	up := d.engine.objects[o.UID]
	if !idle(w) || up == nil || up.last() == nil || up.last().Workload == nil {
		return idle(w)
	}
	if is, _ := d.auditedController(w, o); is {
		return true
	}
	left := 0
	for _, t := range d.engine.dependantsOf(o.UID) {
		if v := t.last(); t != w.t && (t.removal == nil || t.removal.rv > w.rv) && v != nil && isIdle(v) {
			left++
		}
	}
	return left >= int(up.last().Workload.HistoryLimit)
}

// idle reports whether w removes a ReplicaSet that was scaled to nothing.
func idle(w *write) bool { return w.prev != nil && isIdle(w.prev) }

func isIdle(v *version) bool {
	return kind.ReplicaSet.Is(v.Kind) && v.Workload != nil && v.Workload.Replicas == 0 && v.Workload.Total == 0
}

// parseContext reads a W3C context; what is malformed is no context.
func parseContext(parent, state string) trace.SpanContext {
	if parent == "" {
		return trace.SpanContext{}
	}
	carrier := propagation.MapCarrier{"traceparent": parent, "tracestate": state}
	return trace.SpanContextFromContext(propagation.TraceContext{}.Extract(context.Background(), carrier))
}

func linkReason(why string) []attribute.KeyValue {
	return []attribute.KeyValue{span.KeyLink.String(why)}
}
