// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"slices"

	"github.com/kube-lifeline/lifeline/app/internal/change"
	"github.com/kube-lifeline/lifeline/app/internal/history"
)

// anchor is a change of desired state in the cluster's storage.
type anchor struct {
	second int64
	rv     uint64
	of     *change.Timeline
}

// align corrects the places of writes to objects in other storages (history/storage.go). An observer
// places them by their arrival, and its watches may be at different positions. The timestamps of the
// objects decide instead, as far as whole seconds can. Within one second, a write comes after the
// others, but before those to its dependants. The result depends on the set of writes only.
func (d *derivation) align(all []change.Write) {
	if !slices.ContainsFunc(all, func(w change.Write) bool { return w.Timeline.IsForeign() }) {
		return
	}
	var anchors []anchor
	for i := range all {
		w := &all[i]
		if s := secondOf(w); s > 0 && w.Part == change.Desired && !w.Timeline.IsForeign() {
			anchors = append(anchors, anchor{s, w.RV, w.Timeline})
		}
	}
	var of *change.Timeline
	last := uint64(0)
	for i := range all {
		w := &all[i]
		if w.Timeline != of {
			of, last = w.Timeline, 0
		}
		if !of.IsForeign() || w.Reconstructed {
			continue
		}
		if s := secondOf(w); s > 0 && w.Part == change.Desired {
			w.RV = d.between(w, s, anchors)
		}
		w.RV = max(w.RV, last+1)
		last = w.RV
		switch {
		case w.Version != nil:
			w.Version.ResourceVersion = w.RV
		case of.Removal != nil && w.Verb != history.Updated:
			of.Removal.RV = w.RV
		}
	}
}

// between returns the place of w, a write in the given second.
func (d *derivation) between(w *change.Write, second int64, anchors []anchor) uint64 {
	rv := w.RV
	for _, a := range anchors {
		if a.second <= second && a.rv >= rv && !d.dependsOn(a.of, w.Timeline) {
			rv = a.rv + 1
		}
	}
	for _, a := range anchors {
		if a.second >= second && a.rv <= rv && d.dependsOn(a.of, w.Timeline) {
			rv = a.rv - 1
		}
	}
	return rv
}

// dependsOn reports whether up is an owner of t.
func (d *derivation) dependsOn(t, up *change.Timeline) bool {
	for _, o := range t.Owners() {
		if o.UID == up.Ref.UID {
			return true
		}
	}
	return false
}

// secondOf returns the second of a write by the timestamps of its object, or 0.
func secondOf(w *change.Write) int64 {
	if v := w.Version; w.Verb == history.Deleted && v != nil && !v.Deleting.IsZero() {
		return v.Deleting.Unix() - v.GraceSeconds
	}
	return w.Second()
}
