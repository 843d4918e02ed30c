// SPDX-License-Identifier: Apache-2.0

package lifecycle

// fate is what became of a stored write.
type fate uint8

const (
	// noise: no trace tells of it.
	noise fate = iota
	// traced: it is a change, or a change caused it.
	traced
	// step: it is a step of a reconciliation: a status, bookkeeping, metadata by a controller.
	step
	// repeated: it is counted in a series.
	repeated
)

// WriteStats counts stored writes. Observed is the sum of all other counts. It is not saved: after
// Restore it counts the writes that the Engine still holds, and later ones.
type WriteStats struct {
	// Observed counts versions and removals of objects.
	Observed uint64
	// Baseline counts versions that were there before the observer.
	Baseline uint64
	// Traced counts changes and their effects.
	Traced uint64
	// Step counts statuses, bookkeeping and other steps of reconciliations.
	Step uint64
	// Series counts the changes of a series after its first ones.
	Series uint64
	// Noise counts the writes without a trace.
	Noise uint64
	// Held counts the writes of which the engine may still learn more.
	Held uint64
}

// WriteStats returns the counts since the Engine was made or restored.
func (e *Engine) WriteStats() WriteStats {
	s := e.fates
	s.Held = s.Observed - s.Baseline - s.Traced - s.Step - s.Series - s.Noise
	return s
}

// ByFate returns the counts by their names in metrics, without Observed and Held.
func (s *WriteStats) ByFate() map[string]uint64 {
	return map[string]uint64{
		"baseline": s.Baseline, "traced": s.Traced, "step": s.Step, "series": s.Series, "noise": s.Noise,
	}
}

func (s *WriteStats) add(versions, baselines int) {
	s.Observed += uint64(versions)  //nolint:gosec // not negative
	s.Baseline += uint64(baselines) //nolint:gosec // wraps around to subtract
}

// hold counts the writes that a restored engine holds.
func (e *Engine) hold() {
	for _, t := range e.objects {
		e.fates.Observed += t.held()
	}
}

// held is the number of stored writes of the object that are not forgotten.
func (t *timeline) held() uint64 {
	n := uint64(0)
	if t.past != nil && t.past.gone {
		return n
	}
	for _, v := range t.versions {
		if !v.baseline {
			n++
		}
	}
	if t.removal != nil {
		n++
	}
	return n
}

// count counts the stored writes that compaction has forgotten. A version that is now the oldest, as
// a baseline, is forgotten as a write.
func (e *Engine) count(d *derivation) {
	for _, w := range d.written {
		if w.v == nil && (w.t.removal == nil || w.rv != w.t.removal.rv) || w.reconstructed || !e.forgotten(w) {
			continue
		}
		switch w.fate {
		case noise:
			e.fates.Noise++
		case traced:
			e.fates.Traced++
		case step:
			e.fates.Step++
		case repeated:
			e.fates.Series++
		}
	}
}

// forgotten reports whether w is a write of its object no more.
func (e *Engine) forgotten(w *write) bool {
	switch {
	case e.objects[w.t.ref.UID] != w.t:
		return true
	case w.v == nil:
		return w.t.past != nil && w.t.past.gone
	case w.t.past != nil && w.t.past.gone:
		return true
	}
	return len(w.t.versions) > 0 && w.rv <= w.t.versions[0].ResourceVersion && w.t.versions[0].baseline
}
