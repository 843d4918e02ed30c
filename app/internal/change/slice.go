// SPDX-License-Identifier: Apache-2.0

package change

import (
	"slices"
	"strings"

	"github.com/kube-lifeline/lifeline/app/internal/history"
	"github.com/kube-lifeline/lifeline/app/internal/kind"
	"github.com/kube-lifeline/lifeline/app/internal/object"
)

// ServiceOf returns the Service that controls an EndpointSlice, or nil. It is nil for a slice by another
// author than the endpointslice controller, and for any other object.
func ServiceOf(t *Timeline) *object.Owner {
	if !kind.EndpointSlice.Is(t.Ref.Kind) {
		return nil
	}
	if o := object.ControllerOf(t.Owners()); o != nil && kind.Service.Is(o.Kind) {
		return o
	}
	return nil
}

// UpdatesSlice reports whether w is an update by the endpointslice controller, by the evidence of a
// watch. The removal of the last endpoint, with its ports, may leave no author.
func (w *Write) UpdatesSlice() bool {
	switch {
	case w.Verb != history.Updated, w.Version == nil, w.Previous == nil, w.Request != nil, w.Part == Ownership,
		w.Originates(), !slices.Equal(w.Previous.Relations, w.Version.Relations), ServiceOf(w.Timeline) == nil:
		return false
	case len(w.Changed.Paths) == 0:
		return true
	case w.Manager == "":
		return !slices.ContainsFunc(w.Changed.Paths, besidesPods)
	}
	return w.Manager == Manager || !IsClient(w.Manager) && len(w.Version.Managers) == 1
}

// besidesPods reports whether the field does not follow the Pods of the Service. A port with a name has
// the number that the Pods give it.
func besidesPods(path string) bool {
	return !strings.HasPrefix(path, "endpoints") && !strings.HasPrefix(path, "ports")
}

// Absorb forgets each version between two updates by the endpointslice controller. Then it calls
// AbsorbBaseline. It returns the number of forgotten writes. The versions of one object arrive in order.
func (t *Timeline) Absorb() (n uint64) {
	if t.Removal != nil || ServiceOf(t) == nil {
		return 0
	}
	for i := len(t.Versions) - 1; i > 1; i-- {
		if t.updates(i) && t.updates(i-1) {
			t.Versions = slices.Delete(t.Versions, i-1, i)
			n++
		}
	}
	return n + t.AbsorbBaseline()
}

// AbsorbBaseline forgets the oldest version of an EndpointSlice while that is a baseline before a mere
// update. It returns the number of forgotten writes.
func (t *Timeline) AbsorbBaseline() (n uint64) {
	if t.Removal != nil || ServiceOf(t) == nil {
		return 0
	}
	for len(t.Versions) > 1 && t.Versions[0].Baseline && t.updates(1) {
		t.Versions = slices.Delete(t.Versions, 0, 1)
		t.Baseline()
		n++
	}
	return n
}

// updates reports whether the i-th version is a mere update of the one before.
func (t *Timeline) updates(i int) bool {
	w := update(t, t.Versions[i-1], t.Versions[i])
	return w.UpdatesSlice()
}
