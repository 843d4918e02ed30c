// SPDX-License-Identifier: Apache-2.0

package normalize

import (
	"slices"
	"strconv"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kube-lifeline/lifeline/app/internal/kind"
	"github.com/kube-lifeline/lifeline/app/internal/mask"
	"github.com/kube-lifeline/lifeline/app/internal/object"
	"github.com/kube-lifeline/lifeline/app/internal/observation"
)

// Event returns the Event fields that the engine uses, from events.k8s.io/v1 or core/v1.
// The API server serves the same stored object as both, with different field names. It returns nil
// for an Event without UID or numeric resourceVersion.
func (n *Normalizer) Event(u *unstructured.Unstructured) *observation.Event {
	e, _ := n.event(u, false)
	return e
}

// EarlyEvent is Event as Early is Object.
func (n *Normalizer) EarlyEvent(u *unstructured.Unstructured) (e *observation.Event, waits bool) {
	return n.event(u, true)
}

func (n *Normalizer) event(u *unstructured.Unstructured, early bool) (*observation.Event, bool) {
	obj := u.Object
	meta := sub(obj, "metadata")
	version, err := strconv.ParseUint(raw(meta, "resourceVersion"), 10, 64)
	if err != nil || raw(meta, "uid") == "" {
		return nil, false
	}
	e := &observation.Event{
		UID:             text(meta, "uid"),
		ResourceVersion: version,
		Type:            word(obj, "type"),
		Reason:          word(obj, "reason"),
		Time:            moment(obj, "eventTime"),
	}
	series := sub(obj, "series")
	var regarding fields
	var source fields
	if raw(obj, "apiVersion") == "v1" {
		regarding, source = sub(obj, "involvedObject"), sub(obj, "source")
		e.Note = raw(obj, "message")
		e.Component = word(obj, "reportingComponent")
		e.Count = count(number(obj, "count"))
		e.First, e.Last = moment(obj, "firstTimestamp"), moment(obj, "lastTimestamp")
	} else {
		regarding, source = sub(obj, "regarding"), sub(obj, "deprecatedSource")
		e.Note = raw(obj, "note")
		e.Component = word(obj, "reportingController")
		e.Count = count(number(obj, "deprecatedCount"))
		e.First, e.Last = moment(obj, "deprecatedFirstTimestamp"), moment(obj, "deprecatedLastTimestamp")
	}
	if e.Component == "" {
		e.Component = word(source, "component")
	}
	if series != nil {
		e.Count = count(number(series, "count"))
		e.Last = moment(series, "lastObservedTime").Truncate(time.Second)
	}
	e.Regarding = ref(regarding)
	e.FieldPath = word(regarding, "fieldPath")
	if related := sub(obj, "related"); related != nil {
		r := ref(related)
		e.Related = &r
		if entries := items(meta, "managedFields"); len(entries) > 0 {
			entry, _ := entries[0].(fields) // the one of the creation
			e.Manager = word(entry, "manager")
		}
	}
	said := n.textsOfEvent(e, early)
	e.Kept = said.kept
	e.CleanBy(said.clean)
	e.Masked = said.masked
	return e, said.waits
}

// latest returns the time of the last occurrence of an Event.
func latest(e *observation.Event) time.Time {
	at := e.First
	for _, t := range []time.Time{e.Time, e.Last} {
		if t.After(at) {
			at = t
		}
	}
	return at
}

// textsOfEvent returns the texts of an Event: those of its object.
func (n *Normalizer) textsOfEvent(e *observation.Event, early bool) *texts {
	if slices.Contains(programReasons, e.Reason) {
		return &texts{kept: n.Messages.For(kindOfEvent(e)) == mask.Keep}
	}
	return n.texts(kindOfEvent(e), early, func() (mask.Values, bool) {
		if kind.Node.Is(e.Regarding.Kind) { // the kubelet writes its name in place of the UID
			return n.Memory.Named(object.NameOf(&object.Ref{Kind: e.Regarding.Kind, Name: e.Regarding.Name}))
		}
		return n.Memory.At(e.Regarding.UID, latest(e))
	})
}

func kindOfEvent(e *observation.Event) schema.GroupKind {
	return schema.GroupKind{Group: e.Regarding.Group, Kind: e.Regarding.Kind.Kind}
}

func ref(m fields) object.Ref {
	return object.Ref{
		Kind:      kindOf(raw(m, "apiVersion"), raw(m, "kind")),
		Namespace: word(m, "namespace"),
		Name:      word(m, "name"),
		UID:       types.UID(word(m, "uid")),
	}
}
