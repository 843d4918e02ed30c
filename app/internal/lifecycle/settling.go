// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"math"
	"slices"
	"time"

	"github.com/kube-lifeline/lifeline/app/internal/cause"
	"github.com/kube-lifeline/lifeline/app/internal/change"
	"github.com/kube-lifeline/lifeline/app/internal/history"
	"github.com/kube-lifeline/lifeline/app/internal/kind"
	"github.com/kube-lifeline/lifeline/app/internal/object"
	"github.com/kube-lifeline/lifeline/app/internal/placed"
	"github.com/kube-lifeline/lifeline/app/internal/span"
)

// settling decides whether the traces of a derivation are complete: they have ended, and no source that decides about
// them is late.
type settling struct {
	scene *cause.Scene
	opts  Options
}

// lingers reports whether t is kept whole for maxLag. A version of t may still arrive. A write to
// another object may still arrive, too, and belong to the newest change of t. It belongs there by
// the name of t, by an Event about t, or as a copy of its metadata, and not by an owner reference.
func (st *settling) lingers(t *change.Timeline, now time.Time) bool {
	if last := t.Last(); t.Revisable != nil && last != nil && now.Sub(last.Seen) < change.MaxLag {
		return true // a claim about it is confirmed after a time
	}
	if slices.ContainsFunc(t.Events, func(e *history.Event) bool {
		return e.Related != nil && now.Sub(e.Seen) < change.MaxLag
	}) {
		return true
	}
	var r *change.Reconciliation
	switch {
	case kind.Node.Is(t.Ref.Kind) && st.scene.Placed.Instant(t.Ref.UID) == nil:
		r = placed.Newest(st.scene.Placed.Of(t))
	case len(t.Versions) == 0 && len(t.Requests()) > 0:
		r = placed.Newest(st.scene.Placed.Of(t))
	case kind.Namespace.Is(t.Ref.Kind), kind.CustomResourceDefinition.Is(t.Ref.Kind), kind.Certificate.Is(t.Ref.Kind),
		slices.ContainsFunc(t.Names(), causesByName):
		r = placed.Newest(st.scene.Placed.Of(t))
	case t.Kind().Owner:
		r = st.scene.Placed.Instant(t.Ref.UID)
	}
	if r == nil || r.Folded {
		return false
	}
	taken, known := st.scene.Placed.Taken(r.Lineage.ID)
	return known && now.Sub(taken.At) < change.MaxLag
}

// causesByName reports whether an object of that name may cause writes to objects that refer to it: it is
// the cause in a relation of the configuration, or applies them.
func causesByName(n object.Name) bool {
	_, declared := n.Declared()
	return declared || kind.DeliveryOf(n) != nil
}

// behind reports whether a source that decides the place of r may be delayed: the audit log, the
// watch of an object above r or related to it, or the watch of the Pods of r's object.
func (st *settling) behind(r *change.Reconciliation, now time.Time) bool {
	if st.auditLags(r, now) {
		return true
	}
	for p := r; p != nil; p = p.Parent {
		if st.ownerLags(p, now) || st.relationLags(p, now) {
			return true
		}
	}
	return st.dependantsLag(r, now)
}

// ownerLags reports whether the watch of r's controller owner may be delayed. Either the owner is
// unknown, or its controller made r or ended it for an unknown version of the owner. Controllers of
// the known kinds write the owner's status afterwards. For other kinds, any version of the owner is
// enough. An update of labels or annotations has a separate trace in any case.
func (st *settling) ownerLags(r *change.Reconciliation, now time.Time) bool {
	o := st.scene.Known.Controller(r.Timeline)
	if o == nil || r.Instant && r.Verb == history.Updated {
		return false
	}
	k, up := kind.Of(o.Group, o.Kind.Kind), st.scene.Known.Object(o.UID)
	if k.Schedule || up != nil && (up.Removal != nil || up.Last() != nil &&
		(len(k.Effects) == 0 || up.Last().ResourceVersion > r.Last().RV)) {
		return false
	}
	return now.Sub(r.Heard()) <= change.MaxLag
}

// dependantsLag reports whether the status of r's object counts a different number of Pods than the
// engine. The watch of Pods or of ReplicaSets is then delayed. The status counts of StatefulSets
// and DaemonSets leave some Pods out.
func (st *settling) dependantsLag(r *change.Reconciliation, now time.Time) bool {
	v := r.Timeline.Last()
	if r.Instant || r.Verb == history.Deleted || r.Timeline.Removal != nil || v == nil || v.Workload == nil {
		return false
	}
	known, counted := st.livingPods(r.Timeline), int(v.Workload.Total)
	if known == counted || known > counted && !kind.Deployment.Is(v.Kind) && !kind.ReplicaSet.Is(v.Kind) {
		return false
	}
	return now.Sub(r.Lineage.Latest) <= change.MaxLag
}

// livingPods returns the number of known living Pods below t, including those of its ReplicaSets.
func (st *settling) livingPods(t *change.Timeline) int {
	n := 0
	for _, below := range st.scene.Known.Dependants(t.Ref.UID) {
		switch last := below.Last(); {
		case last == nil, below.Removal != nil:
		case last.Pod != nil && cause.Alive(last):
			n++
		case last.Workload != nil:
			n += st.livingPods(below)
		}
	}
	return n
}

// auditLags reports whether the request of r's first write may still arrive from the audit log. It
// may contain an author other than the owner's controller (rule A2).
func (st *settling) auditLags(r *change.Reconciliation, now time.Time) bool {
	return !r.Folded && st.scene.Trail.Lags(r.First(), now)
}

// settled reports whether the trace has ended and was then quiet for the settle window.
func (st *settling) settled(l *change.Lineage, now time.Time) bool {
	if l.Run != nil && l.Run.End.IsZero() {
		return false
	}
	// A change of metadata waits only for the audit log. It does not wait if its request was
	// observed.
	waits := l.Vain || slices.ContainsFunc(l.Reconciliations, func(r *change.Reconciliation) bool {
		return !r.Instant || r.First().Request == nil
	})
	for _, r := range l.Reconciliations {
		if !r.Done || st.behind(r, now) {
			return false
		}
	}
	// Some objects get a status every second.
	return !waits || now.Sub(l.Latest) >= st.opts.Settle || now.Sub(st.concluded(l)) > change.MaxLag
}

// concluded returns the time from which only steps of ended reconciliations extend the trace. It is that of
// the last activity for a trace with refused writes: a drain goes on after them.
func (st *settling) concluded(l *change.Lineage) time.Time {
	var at time.Time
	if l.Run != nil {
		at = l.Run.End
	}
	for _, w := range l.Loose {
		at = history.Later(at, w.End)
	}
	for _, r := range l.Reconciliations {
		if len(r.Refused) > 0 {
			return l.Latest
		}
		at = history.Later(at, st.endHeard(r))
	}
	if at.IsZero() || len(l.Refused) > 0 {
		return l.Latest
	}
	return at
}

// endHeard returns the time of the observation that ended r. Clocks of the cluster do not count.
func (st *settling) endHeard(r *change.Reconciliation) time.Time {
	at := r.Heard()
	if r.Timeline.Removal != nil {
		return history.Later(at, r.Timeline.Removal.Seen)
	}
	v := r.ConvergedBy(math.MaxUint64)
	if v == nil {
		v = r.FailedBefore(math.MaxUint64)
	}
	switch {
	case v != nil:
		at = history.Later(at, v.Seen)
	case r.Superseded != nil:
		at = history.Later(at, r.Superseded.Heard())
	case r.Ended.Outcome == span.Unfinished && (r.Parent == nil || !r.Parent.Done):
		at = history.Later(at, r.Progressed.Add(st.opts.Patience))
	}
	return at
}

// relationLags reports whether the watch of an object related to r may be delayed (rule C4).
// Examples are the CustomResourceDefinition of an API, the StatefulSet or claim behind storage, the
// autoscaler behind a scaling, and the deleted Namespace of the object of r.
func (st *settling) relationLags(r *change.Reconciliation, now time.Time) bool {
	w := r.First()
	switch {
	case cause.Applies(st.scene, w):
		return now.Sub(r.Heard()) <= change.MaxLag
	case r.Parent != nil:
		return false
	case cause.RegistersAPI(w), cause.AwaitsRelated(st.scene, w):
		return now.Sub(r.Heard()) <= change.MaxLag
	case w.Verb == history.Deleted && w.Timeline.Ref.Namespace != "" && w.Request == nil &&
		st.scene.Trail.Audited(w) == nil,
		w.Verb == history.Deleted && cause.IsMirror(w):
		return now.Sub(r.Heard()) <= maxNamespaceLag
	}
	return false
}

// maxNamespaceLag is the time that the trace of a deletion by an unknown author waits for the
// deletion of the Namespace. It is short because most such objects are deleted alone.
const maxNamespaceLag = 10 * time.Second
