// SPDX-License-Identifier: Apache-2.0

package lifecycle

// loose reports whether only a list showed what the write made: its version is
// the newest of several, so its resourceVersion is that of a later write, and
// what the write caused may have a lower one.
func (w *write) loose() bool {
	return w.v != nil && w.v.listed && !w.v.late && !w.reconstructed && w.req == nil && w.part == desired &&
		w.verb != deleted
}

// loosen puts each write that only a list showed before the creations of
// dependants that only a list showed: who finds a Deployment, its ReplicaSet
// and its Pods after an outage sees the last status of each, the Pods' first. A
// creation comes before those of all dependants, also of those that were seen to
// happen: the first object of a kind that is new may be found when its controller
// has gone on already.
func (d *derivation) loosen(all []*write) {
	born := map[*timeline]*write{}
	loose := false
	for _, w := range all {
		if w.verb == created {
			born[w.t] = w
			loose = loose || w.loose()
		}
	}
	if !loose {
		return
	}
	for _, w := range all {
		d.placed(w, born)
	}
}

// placed is where w comes in the order of writes, see loosen; it is never 0.
func (d *derivation) placed(w *write, born map[*timeline]*write) uint64 {
	if w.place != 0 || !w.loose() {
		return max(w.stored(), 1)
	}
	w.place = max(w.rv, 1) // owners may go in a circle
	for _, t := range d.engine.dependantsOf(w.t.ref.UID) {
		b := born[t]
		switch {
		case b == nil:
		case w.prev == nil && b.v.Created.Before(w.v.Created):
			// It was there before, and adopted.
		case w.prev == nil:
			w.place = min(w.place, d.placed(b, born))
		case !b.loose():
		case b.rv > w.prev.ResourceVersion:
			w.place = min(w.place, max(d.placed(b, born), w.prev.ResourceVersion+1))
		}
	}
	return w.place
}

// stored is where w comes in the order of writes.
func (w *write) stored() uint64 {
	if w.place != 0 {
		return w.place
	}
	return w.rv
}

// tie orders two writes of the same place: who owns comes first.
func (d *derivation) tie(a, b *write) int { return d.depth(a.t, 0) - d.depth(b.t, 0) }
