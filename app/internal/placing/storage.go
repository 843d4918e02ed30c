// SPDX-License-Identifier: Apache-2.0

package placing

import (
	"math"
	"slices"
	"time"

	"github.com/kube-lifeline/lifeline/app/internal/change"
	"github.com/kube-lifeline/lifeline/app/internal/history"
	"github.com/kube-lifeline/lifeline/app/internal/object"
)

// anchor is a change of desired state in the cluster's storage. second is its second by the timestamps
// of its object, or 0 for a removal. at is the best known time.
type anchor struct {
	second int64
	at     time.Time
	rv     uint64
	of     *change.Timeline
	// ends means that it deletes the object.
	ends bool
}

// align corrects the places of writes to objects in other storages (history/storage.go). An
// observer places them by their arrival, and its watches may be at different positions. So the
// write of an owner may be placed after the one to its dependant that it caused. The timestamps of
// the two objects decide instead, to the whole second. Within one second, the owner's write comes
// first. A removal has no timestamp. The corrected places stay: a second correction changes
// nothing.
func (p *Placing) align(all []change.Write) {
	foreign := false
	for t := range p.members {
		foreign = foreign || t.IsForeign()
	}
	if !foreign {
		return
	}
	var anchors []anchor
	for i := range all {
		if w := &all[i]; w.Part == change.Desired && !w.Timeline.IsForeign() && !w.Reconstructed {
			anchors = append(anchors, anchorAt(w))
		}
	}
	for from := 0; from < len(all); {
		to := from + 1
		for to < len(all) && all[to].Timeline == all[from].Timeline {
			to++
		}
		if all[from].Timeline.IsForeign() {
			alignObject(all[from:to], anchors)
		}
		from = to
	}
}

// alignObject corrects the places of the writes to one object.
func alignObject(writes []change.Write, anchors []anchor) {
	low, high := make([]uint64, len(writes)), make([]uint64, len(writes))
	for i := range slices.Backward(writes) {
		low[i], high[i] = bounds(&writes[i], anchors)
		if i+1 < len(writes) {
			high[i] = min(high[i], high[i+1]-1)
		}
	}
	last := uint64(0)
	if first := writes[0].Timeline.Versions; len(first) > 0 && first[0].Baseline {
		last = first[0].ResourceVersion
	}
	for i := range writes {
		w := &writes[i]
		if w.Reconstructed {
			continue
		}
		w.RV = max(min(low[i], high[i]), last+1)
		last = w.RV
		switch gone := w.Timeline.Removal; {
		case w.Version != nil:
			w.Version.ResourceVersion = w.RV
		case gone != nil && w.Verb != history.Updated:
			gone.RV = w.RV
		}
	}
}

// anchorAt returns the place and the time of a write.
func anchorAt(w *change.Write) anchor {
	a := anchor{second: w.Second(), at: w.At.At().Time, rv: w.RV, of: w.Timeline, ends: w.Verb == history.Deleted}
	if v := w.Version; w.Verb == history.Deleted && v != nil && !v.Deleting.IsZero() {
		a.second = v.Deleting.Unix() - v.GraceSeconds
	}
	return a
}

// bounds returns the place of w after the writes to its owners that may precede it, and the highest one
// before the writes to its dependants.
func bounds(w *change.Write, anchors []anchor) (low, high uint64) {
	low, high = w.RV, math.MaxUint64
	if w.Part != change.Desired {
		return low, high
	}
	own := anchorAt(w)
	for _, a := range anchors {
		switch owner := dependsOn(w.Timeline, a.of); {
		case owner && a.rv >= low && a.mayPrecede(own), a.rv >= low && a.isBefore(own) && dependsOn(a.of, w.Timeline):
			low = a.rv + 1
		case owner && a.rv <= low && own.isBefore(a):
			high = min(high, a.rv-1)
		}
	}
	for _, a := range anchors {
		if a.rv <= low && dependsOn(a.of, w.Timeline) && own.mayPrecede(a) {
			high = min(high, a.rv-1)
		}
	}
	return low, high
}

// cascade is the maximum time between the removals of an object and of its dependants, and the
// possible lag of a watch.
const cascade = 15 * time.Second

// mayPrecede reports whether a, the write of an owner, may come before b by their timestamps. Without
// these, only a deletion may, within the time of a cascade.
func (a anchor) mayPrecede(b anchor) bool {
	if a.second != 0 && b.second != 0 {
		return a.second <= b.second
	}
	return a.ends && b.ends && a.at.Sub(b.at).Abs() <= cascade
}

// isBefore reports whether a comes before b by their timestamps.
func (a anchor) isBefore(b anchor) bool { return a.second != 0 && b.second != 0 && a.second < b.second }

// dependsOn reports whether up is an owner of t.
func dependsOn(t, up *change.Timeline) bool {
	return slices.ContainsFunc(t.Owners(), func(o object.Owner) bool { return o.UID == up.Ref.UID })
}
