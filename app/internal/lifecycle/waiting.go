// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"cmp"
	"regexp"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/kube-lifeline/lifeline/app/internal/change"
	"github.com/kube-lifeline/lifeline/app/internal/history"
	"github.com/kube-lifeline/lifeline/app/internal/kind"
	"github.com/kube-lifeline/lifeline/app/internal/kind/judge"
	"github.com/kube-lifeline/lifeline/app/internal/object"
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
		switch r.Category {
		case reason.VolumeNotBound:
			r = d.byClaims(last, r)
		case reason.Preempted:
			r.Text = d.withName(r.Text) // the scheduler reports the UID of the other Pod
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
	var pods []*change.Timeline
	for _, dep := range d.engine.dependantsOf(t.Ref.UID) {
		if v := dep.Last(); v != nil && v.Pod != nil && dep.Removal == nil {
			pods = append(pods, dep)
		}
	}
	if kind.Job.Is(last.Kind) && len(pods) > 0 {
		pods = []*change.Timeline{slices.MaxFunc(pods, byAge)} // the last attempt
	}
	var owned []reason.Owned
	for _, pod := range pods {
		if v := pod.Last(); !judge.Converged(v) {
			owned = append(owned, reason.Owned{Version: v, Reason: d.reasonOf(pod)})
		}
	}
	of := reason.Behind(last, owned)
	switch pod := d.Object(of.At.UID); {
	case of.Text == "":
		return r
	case pod != nil:
		of.Since = d.reasonSince(pod).Since
	}
	return of
}

// byAge orders objects by their creation, and by name within a second.
func byAge(a, b *change.Timeline) int {
	return cmp.Or(a.Last().Created.Compare(b.Last().Created), strings.Compare(a.Ref.Name, b.Ref.Name))
}

// podByUID is a Pod in a message of the scheduler.
var podByUID = regexp.MustCompile(`\bpod (\S+)`)

// withName returns the text with the name of a Pod instead of its UID, if the Pod is known.
func (d *derivation) withName(text string) string {
	return podByUID.ReplaceAllStringFunc(text, func(pod string) string {
		uid := types.UID(strings.TrimPrefix(pod, "pod "))
		if t := d.Object(uid); t != nil && t.Ref.Name != "" {
			return "Pod " + t.Ref.Name
		}
		if name := d.engine.otherPods[uid]; name != "" {
			return "Pod " + name
		}
		return pod
	})
}

// NamePods gives the names of Pods that are not observed, by UID. Messages of the scheduler name a Pod by its UID.
// The names are not saved.
func (e *Engine) NamePods(names map[types.UID]string) { e.otherPods = names }

// byClaims returns the reason of a Pod by the first of its claims that is not bound and has a reason, or else r.
func (d *derivation) byClaims(pod *history.Version, r reason.Reason) reason.Reason {
	for _, relation := range pod.Relations {
		if relation.Type != object.Claim {
			continue
		}
		for _, claim := range d.Named(relation.To) {
			v := claim.Last()
			if v == nil || claim.Removal != nil || judge.Converged(v) {
				continue
			}
			if of := reason.Unbound(r, reason.Owned{Version: v, Reason: d.reasonSince(claim)}); of.Cause != "" {
				return of
			}
		}
	}
	return r
}

// reasonSince is reasonOf with the time when the object got its reason, if that is known.
func (d *derivation) reasonSince(t *change.Timeline) reason.Reason {
	r := d.reasonOf(t)
	r.Since = since(r, reason.Waits(t.Versions, d.eventsOf(t)))
	return r
}

// since returns the time when an object with these waits got the reason, its present one; zero if it is
// not known.
func since(r reason.Reason, waits []reason.Wait) time.Time {
	if n := len(waits); r.Since.IsZero() && n > 0 && waits[n-1].Category == r.Category {
		return waits[n-1].Since
	}
	return r.Since
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

// noteNode adds t to the index of Nodes, if it is one. It notes a new readiness, or the removal of a Node
// that did not work.
func (e *Engine) noteNode(t *change.Timeline) {
	last := t.Last()
	if last == nil || !kind.Node.Is(t.Ref.Kind) {
		return
	}
	name, now, before := t.Ref.Name, nodeState{timeline: t}, nodeState{}
	if known := e.nodesByName[name]; known != nil && known.timeline.Last() != nil {
		if known.timeline.Last().ResourceVersion > last.ResourceVersion {
			return
		}
		before = *known
	}
	if c := last.Condition(judge.PodReady); c != nil && t.Removal == nil {
		now.ready = c.Status
	}
	e.nodesByName[name] = &now
	if now.ready != before.ready && !(now.works() && before.works()) {
		e.turned[name] = true
	}
}

// works reports whether no Pod has the Node as its reason: it is ready, or nothing is known of it.
func (n *nodeState) works() bool { return n.ready == "True" || n.ready == "" }

// turn marks the Pods on Nodes with another readiness as changed. Their reasons depend on it.
func (e *Engine) turn() {
	if len(e.turned) == 0 {
		return
	}
	for t, g := range e.groups.of {
		if last := t.Last(); last != nil && last.Pod != nil && e.turned[last.Pod.Node] {
			g.change()
		}
	}
	clear(e.turned)
}

// node returns the newest version of the Node of that name, or nil.
func (e *Engine) node(name string) *history.Version {
	if n := e.nodesByName[name]; n != nil && n.timeline.Removal == nil {
		return n.timeline.Last()
	}
	return nil
}

// Standing returns the reason why an object in its desired state does not work; see reason.Standing.
// It is empty for an unknown object, and for one that has not converged.
func (e *Engine) Standing(uid types.UID) reason.Reason {
	t := e.object(uid)
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
