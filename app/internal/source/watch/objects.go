// SPDX-License-Identifier: Apache-2.0

package watch

import (
	"sync/atomic"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kube-lifeline/lifeline/app/internal/kind"
	"github.com/kube-lifeline/lifeline/app/internal/normalize"
	"github.com/kube-lifeline/lifeline/app/internal/object"
	"github.com/kube-lifeline/lifeline/app/internal/observation"
)

// converter turns objects into observations, for all streams.
type converter struct {
	normalizer *normalize.Normalizer
	storages   *storages
	// impossible counts the replaced times.
	impossible atomic.Uint64
}

// observe returns an observation of an object that arrived at that time, or nil if the object has no
// identity.
func (c *converter) observe(
	of schema.GroupVersionResource, in storage, obj metav1.Object, at time.Time,
) *observation.Observation {
	o := &observation.Observation{Seen: at, Source: observation.SourceWatch}
	switch obj := obj.(type) {
	case *metav1.PartialObjectMetadata:
		o.State = c.normalizer.Metadata(kind.OfResource(of.Group, of.Resource).Kind, obj)
	case *unstructured.Unstructured:
		if isEvents(of) {
			c.event(o, obj)
		} else if k := kind.OfResource(of.Group, of.Resource); k.MetadataOnly {
			o.State = c.normalizer.Content(k.Kind, obj)
		} else {
			c.object(o, obj)
		}
	}
	if o.State == nil && o.Event == nil {
		return nil
	}
	c.storages.order(o, in)
	c.impossible.Add(uint64(o.BoundTimes(o.Seen))) //nolint:gosec // a count
	return o
}

// learn remembers the values of an object that an earlier process observed.
func (c *converter) learn(of schema.GroupVersionResource, obj metav1.Object) {
	k := kind.OfResource(of.Group, of.Resource)
	switch obj := obj.(type) {
	case *metav1.PartialObjectMetadata:
		c.normalizer.Metadata(k.Kind, obj)
	case *unstructured.Unstructured:
		if k.MetadataOnly {
			c.normalizer.Content(k.Kind, obj)
		} else {
			c.normalizer.Learn(obj)
		}
	}
}

// object sets the state. Its messages are completed later if they may quote values of other objects.
func (c *converter) object(o *observation.Observation, obj *unstructured.Unstructured) {
	state, waits := c.normalizer.Early(obj)
	if o.State = state; waits {
		o.Later = func() {
			later := c.normalizer.Object(obj)
			later.Order = state.Order
			*state = *later
			o.BoundTimes(o.Seen)
		}
	}
}

// event sets the Event, likewise.
func (c *converter) event(o *observation.Observation, obj *unstructured.Unstructured) {
	event, waits := c.normalizer.EarlyEvent(obj)
	if o.Event = event; waits {
		o.Later = func() {
			later := c.normalizer.Event(obj)
			later.Order = event.Order
			*event = *later
			o.BoundTimes(o.Seen)
		}
	}
}

type uidKey = types.UID

// held is the record that a stream keeps of an object.
type held struct {
	version uint64
	kind    object.Kind
	namespace,
	name string
	// round is the last list that contained the object.
	round uint32
}

func (h held) ref(uid uidKey) object.Ref {
	return object.Ref{Kind: h.kind, Namespace: h.namespace, Name: h.name, UID: uid}
}

// objects emits the observations of one stream. Of each object it keeps the version, to detect
// duplicates, and the identity, to report a removal that a list shows. Of Events it keeps nothing.
type objects struct {
	*converter
	storage storage
	// seen receives the observations.
	seen  func(*observation.Observation)
	count *counters
	delay meter
	// round is the number of the list; held are the records.
	round uint32
	held  map[uidKey]held
}

// list emits an object of a list, unless the version is known. It reports false for one without an
// identity. For emitted and first see progress. Another version of a known object is a change, also in the
// first list: an earlier process, or an earlier attempt, had listed it before.
func (l *objects) list(
	of schema.GroupVersionResource, obj metav1.Object, at time.Time, emitted uint64, first bool,
) bool {
	o := l.observe(of, l.storage, obj, at)
	if o == nil {
		return false
	}
	_, known := l.held[obj.GetUID()]
	if l.hold(o, emitted) {
		o.Listed = true
		o.Baseline = first && !known
		l.hand(o)
	}
	return true
}

// change emits a created or changed object of a watch, unless the version is known.
func (l *objects) change(of schema.GroupVersionResource, obj metav1.Object, at time.Time, p *progress, g *lag) {
	o := l.observe(of, l.storage, obj, at)
	if o == nil || !l.hold(o, p.emitted) {
		return
	}
	if took, known := l.delay.measure(obj, o); known {
		l.count.delay.note(took, o.Seen)
	}
	if o.State != nil {
		o.Late = g.isLate(o.State.ResourceVersion)
	} else {
		o.Late = g.isLate(o.Event.ResourceVersion)
	}
	o.Listed = o.Late
	l.hand(o)
}

// remove emits the removal of an object of a watch.
func (l *objects) remove(of schema.GroupVersionResource, obj metav1.Object, at time.Time, g *lag) {
	o := l.observe(of, l.storage, obj, at)
	if o == nil {
		return
	}
	delete(l.held, obj.GetUID())
	if o.State == nil {
		return // an Event that expired
	}
	o.Late = g.isLate(o.State.ResourceVersion)
	o.Listed = o.Late
	o.Gone = &observation.Gone{Ref: o.State.Ref, ResourceVersion: o.State.ResourceVersion, Order: o.State.Order}
	o.State, o.Later = nil, nil
	l.normalizer.Forget(o.Gone.UID)
	l.hand(o)
}

// removeMissing emits the removals that a list at that version shows.
func (l *objects) removeMissing(version uint64, now func() time.Time) {
	for uid, h := range l.releaseMissing() {
		l.normalizer.Forget(uid)
		gone := &observation.Gone{Ref: h.ref(uid), ResourceVersion: version}
		if l.storage == separateStorage {
			gone.Order = l.storages.place()
		}
		l.hand(&observation.Observation{Seen: now(), Source: observation.SourceWatch, Listed: true, Gone: gone})
	}
}

// hold stores the object's record and reports whether this version is new. An Event needs no record,
// since its removal is not observed: its version is new if the stream has not reached it. So a list of
// Events that breaks on a later page emits its first pages twice; the engine ignores the repetition.
func (l *objects) hold(o *observation.Observation, emitted uint64) bool {
	if o.Event != nil {
		return o.Event.ResourceVersion > emitted
	}
	s := o.State
	before, known := l.held[s.UID]
	l.held[s.UID] = held{
		version: s.ResourceVersion, kind: s.Kind, namespace: s.Namespace, name: s.Name, round: l.round,
	}
	return !known || before.version != s.ResourceVersion
}

// releaseMissing removes and returns the objects that the last list did not contain.
func (l *objects) releaseMissing() map[uidKey]held {
	var missing map[uidKey]held
	for uid, h := range l.held {
		if h.round == l.round {
			continue
		}
		delete(l.held, uid)
		if missing == nil {
			missing = map[uidKey]held{}
		}
		missing[uid] = h
	}
	return missing
}

// hand emits an observation.
func (l *objects) hand(o *observation.Observation) {
	l.count.observed(o.Seen)
	l.seen(o)
}
