// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"github.com/kube-lifeline/lifeline/app/internal/change"
	"github.com/kube-lifeline/lifeline/app/internal/index"
)

// WriteStats counts stored writes. Observed is the sum of all other counts. It is not saved: after
// Restore it counts the writes that the Engine still holds, and later ones.
type WriteStats struct {
	// Observed counts versions and removals of objects.
	Observed uint64
	// Baseline counts versions from before the start of the observer.
	Baseline uint64
	// Traced counts changes and their effects.
	Traced uint64
	// Step counts statuses, bookkeeping and other steps of reconciliations.
	Step uint64
	// Series counts the changes of a series after the first ones.
	Series uint64
	// Noise counts the writes without a trace.
	Noise uint64
	// Held counts the writes without a final fate: the Engine may still receive more data about
	// them.
	Held uint64
}

// WriteStats returns the counts since the Engine was made or restored.
func (e *Engine) WriteStats() WriteStats {
	s := e.memory.fates
	s.Held = s.Observed - s.Baseline - s.Traced - s.Step - s.Series - s.Noise
	return s
}

// ByFate returns the counts by their names in metrics, without Observed and Held.
func (s *WriteStats) ByFate() map[string]uint64 {
	return map[string]uint64{
		"baseline": s.Baseline, "traced": s.Traced, "step": s.Step, "series": s.Series, "noise": s.Noise,
	}
}

func (s *WriteStats) add(p *index.Put) {
	s.Observed += uint64(p.Versions)  //nolint:gosec // not negative
	s.Baseline += uint64(p.Baselines) //nolint:gosec // wraps around to subtract
	s.Step += p.Absorbed
}

// hold counts the writes that a restored engine holds.
func (e *Engine) hold() {
	for _, t := range e.index.Objects() {
		e.memory.fates.Observed += t.Held()
	}
}

// count counts the stored writes that compaction has forgotten. This includes a version that is now
// the oldest one, as a baseline.
func (k *retention) count(d *derivation) {
	for _, w := range d.placed.Written {
		if w.Version == nil && (w.Timeline.Removal == nil || w.RV != w.Timeline.Removal.RV) || w.Reconstructed ||
			!k.forgotten(w) {
			continue
		}
		switch w.Fate {
		case change.Noise:
			k.memory.fates.Noise++
		case change.Traced:
			k.memory.fates.Traced++
		case change.Step:
			k.memory.fates.Step++
		case change.Repeated:
			k.memory.fates.Series++
		}
	}
}

// forgotten reports whether w is not kept as a write of its object any more.
func (k *retention) forgotten(w *change.Write) bool {
	switch {
	case k.index.View().Object(w.Timeline.Ref.UID) != w.Timeline:
		return true
	case w.Version == nil:
		return w.Timeline.Past != nil && w.Timeline.Past.Gone
	case w.Timeline.Past != nil && w.Timeline.Past.Gone:
		return true
	}
	return len(w.Timeline.Versions) > 0 && w.RV <= w.Timeline.Versions[0].ResourceVersion &&
		w.Timeline.Versions[0].Baseline
}
