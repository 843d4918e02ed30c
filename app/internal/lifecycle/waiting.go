// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/kube-lifeline/lifeline/app/internal/change"
	"github.com/kube-lifeline/lifeline/app/internal/history"
	"github.com/kube-lifeline/lifeline/app/internal/kind"
	"github.com/kube-lifeline/lifeline/app/internal/kind/judge"
	"github.com/kube-lifeline/lifeline/app/internal/reason"
)

// reasonOf returns the reason why the object of t, by its newest version, does not have its desired
// state. It is empty for an object without a version.
func (d *derivation) reasonOf(t *change.Timeline) reason.Reason {
	last := t.Last()
	if last == nil {
		return reason.Reason{}
	}
	r, known := d.reasons[t]
	if !known {
		r = reason.Of(last, d.eventsOf(t))
		if r.Category == "" {
			r = d.byPods(t, r)
		}
		if last.Pod != nil {
			r = d.byNode(last, r)
		}
		d.reasons[t] = r
	}
	return r
}

// byPods returns the reason of the object of t by one of its Pods, or else r.
func (d *derivation) byPods(t *change.Timeline, r reason.Reason) reason.Reason {
	last := t.Last()
	if !reason.WaitsForPods(last) || !last.Deleting.IsZero() {
		return r
	}
	var owned []reason.Owned
	for _, dep := range d.engine.dependantsOf(t.Ref.UID) {
		if v := dep.Last(); v != nil && v.Pod != nil && dep.Removal == nil && !judge.Converged(v) {
			owned = append(owned, reason.Owned{Version: v, Reason: d.reasonOf(dep)})
		}
	}
	if of := reason.Behind(last, owned); of.Text != "" {
		return of
	}
	return r
}

// overdue is the time for which a Pod may be there after its grace period: the kubelet takes a moment.
const overdue = 10 * time.Second

// byNode returns the reason of a Pod by its Node, or that its grace period is over, or else r.
func (d *derivation) byNode(v *history.Version, r reason.Reason) reason.Reason {
	if node := d.engine.node(v.Pod.Node); node != nil {
		if of := reason.OnNode(v, node); of.Category == reason.NodeLost || of.Text != "" && r.Category == "" {
			return of
		}
	}
	if r.Category == "" && !v.Deleting.IsZero() && d.passed(v.Deleting, overdue) {
		return reason.Overdue(v)
	}
	return r
}

// host adds t to the index of Nodes, if it is one. It marks the Pods on a Node as changed if their reasons
// depend on its new readiness.
func (e *Engine) host(t *change.Timeline) {
	last := t.Last()
	if last == nil || !kind.Node.Is(t.Ref.Kind) {
		return
	}
	name, now, before := t.Ref.Name, host{timeline: t}, host{}
	if known := e.hosts[name]; known != nil && known.timeline.Last() != nil {
		if known.timeline.Last().ResourceVersion > last.ResourceVersion {
			return
		}
		before = *known
	}
	if c := last.Condition(judge.PodReady); c != nil {
		now.ready = c.Status
	}
	e.hosts[name] = &now
	if now.ready == before.ready || now.works() && before.works() {
		return
	}
	for t, g := range e.groups.of {
		if last := t.Last(); last != nil && last.Pod != nil && last.Pod.Node == name {
			g.change()
		}
	}
}

// works reports whether no Pod has the Node as its reason: it is ready, or nothing is known of it.
func (h *host) works() bool { return h.ready == "True" || h.ready == "" }

// node returns the newest version of the Node of that name, or nil.
func (e *Engine) node(name string) *history.Version {
	if h := e.hosts[name]; h != nil && h.timeline.Removal == nil {
		return h.timeline.Last()
	}
	return nil
}

// Standing returns the reason why an object in its desired state does not work; see reason.Standing.
// It is empty for an unknown object, and for one that has not converged.
func (e *Engine) Standing(uid types.UID) reason.Reason {
	t := e.objects[uid]
	if t == nil || t.Removal != nil {
		return reason.Reason{}
	}
	last := t.Last()
	if last == nil || !judge.Converged(last) {
		return reason.Reason{}
	}
	var owned []*history.Version
	for _, dep := range e.dependantsOf(uid) {
		if v := dep.Last(); v != nil && dep.Removal == nil {
			owned = append(owned, v)
		}
	}
	return reason.Standing(last, owned, t.Events)
}

// eventsOf returns the Events about the object of t. It leaves out those about a refused dependant
// before the last creation of one.
func (d *derivation) eventsOf(t *change.Timeline) []*history.Event {
	refused := func(e *history.Event) bool { return e.Reason == change.FailedCreate }
	if !t.Kind().Owner || !slices.ContainsFunc(t.Events, refused) {
		return t.Events
	}
	created := d.lastCreation(t)
	return slices.DeleteFunc(slices.Clone(t.Events), func(e *history.Event) bool {
		return refused(e) && e.ResourceVersion < created
	})
}

// lastCreation returns the resourceVersion of the last creation of a dependant of t, or 0.
func (d *derivation) lastCreation(t *change.Timeline) uint64 {
	last := uint64(0)
	for _, dep := range d.engine.dependantsOf(t.Ref.UID) {
		if len(dep.Versions) > 0 {
			last = max(last, dep.Versions[0].ResourceVersion)
		}
	}
	return last
}
