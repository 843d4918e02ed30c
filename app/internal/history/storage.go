// SPDX-License-Identifier: Apache-2.0

package history

import (
	"cmp"
	"slices"
)

// Objects of an aggregated API, and Events in some clusters, are in a storage of their own. Their
// resourceVersions cannot be compared with those of other objects. The observer therefore gives them
// a place among the versions of the cluster's storage (observation.State.Order). The engine orders
// writes by that place. It identifies them by the object's own resourceVersion.

// ObjectVersion returns the resourceVersion of the object.
func (v *Version) ObjectVersion() uint64 { return cmp.Or(v.Foreign, v.ResourceVersion) }

// ObjectVersion returns the resourceVersion of the removal.
func (r *Removal) ObjectVersion() uint64 { return cmp.Or(r.Foreign, r.RV) }

// ObjectVersion returns the resourceVersion of the Event.
func (e *Event) ObjectVersion() uint64 { return cmp.Or(e.Foreign, e.ResourceVersion) }

// split returns the place of a version in the order of all writes, and its own resourceVersion if
// that is another number.
func split(version, order uint64) (place, foreign uint64) {
	if order == 0 {
		return version, 0
	}
	return order, version
}

// IsForeign reports whether another storage than the cluster's keeps the object.
func (t *Record) IsForeign() bool {
	return len(t.Versions) > 0 && t.Versions[0].Foreign != 0 || t.Removal != nil && t.Removal.Foreign != 0
}

// Place returns the place of the object's own resourceVersion in the order of all writes, and whether
// that version is known. An unknown version has the place of the next known one.
func (t *Record) Place(version uint64) (place uint64, known bool) {
	if !t.IsForeign() {
		_, known = t.Position(version)
		return version, known
	}
	i, known := t.positionOf(version)
	switch {
	case i < len(t.Versions):
		return t.Versions[i].ResourceVersion, known
	case i > 0:
		return t.Versions[i-1].ResourceVersion + 1, false
	}
	return t.Removal.RV, false
}

// moveTo moves a version to a place, after the version before it. Later versions follow. Two observers
// may give different places.
func (t *Record) moveTo(i int, place uint64) {
	for ; i < len(t.Versions); i++ {
		if i > 0 {
			place = max(place, t.Versions[i-1].ResourceVersion+1)
		}
		t.Versions[i].ResourceVersion = place
		if i+1 < len(t.Versions) {
			place = t.Versions[i+1].ResourceVersion
		}
	}
}

// positionOf is Position for the object's own resourceVersion.
func (t *Record) positionOf(version uint64) (int, bool) {
	return slices.BinarySearchFunc(t.Versions, version, func(v *Version, version uint64) int {
		return cmp.Compare(v.ObjectVersion(), version)
	})
}
