// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"slices"

	"github.com/kube-lifeline/lifeline/app/internal/change"
	"github.com/kube-lifeline/lifeline/app/internal/history"
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
		d.reasons[t] = r
	}
	return r
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
