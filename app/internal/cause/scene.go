// SPDX-License-Identifier: Apache-2.0

// Package cause finds the trace and the parent of each write, by the rules of one ordered list
// (cause.go), one file a rule. A rule reads a Scene and returns a Cause. It changes nothing; look-ups only fill
// memos. Apply, Occupy and Relate change the Scene.
package cause

import (
	"iter"

	"k8s.io/apimachinery/pkg/types"

	"github.com/kube-lifeline/lifeline/app/internal/change"
	"github.com/kube-lifeline/lifeline/app/internal/index"
	"github.com/kube-lifeline/lifeline/app/internal/placed"
	"github.com/kube-lifeline/lifeline/app/internal/trail"
)

// Scene is all that a rule may look at. All writes before the present one have been placed.
type Scene struct {
	// Known are the observed objects, Placed their reconciliations so far, and Trail the audit log.
	Known  index.View
	Placed *placed.Changes
	Trail  *trail.Trail

	// All maps are made on their first use: most groups need none of them.
	options change.Options
	// places are the places of dependants, by the UID of the owner. Occupy changes them.
	places map[types.UID]*places
	// roles are the dependants of an owner by role, filled on demand.
	roles map[types.UID]map[string][]*change.Timeline
	// rebuilt are the origins of objects from before the start. It is empty without Options.Rebuild.
	rebuilt map[*change.Timeline]*rebuild
	// relatives are the newest reconciliations of objects with relations by name.
	relatives map[relative]*change.Reconciliation
}

// NewScene returns the Scene of some objects before the first write, with the origins of those from before the
// start.
func NewScene(
	known index.View, p *placed.Changes, tr *trail.Trail, o change.Options, members iter.Seq[*change.Timeline],
) *Scene {
	s := &Scene{Known: known, Placed: p, Trail: tr, options: o}
	rebuildAll(s, members)
	return s
}

// put adds an entry to a map, and makes the map if it is nil.
func put[K comparable, V any](m *map[K]V, key K, value V) {
	if *m == nil {
		*m = map[K]V{}
	}
	(*m)[key] = value
}

// Apply records the trace of c, the cause of a write.
func Apply(s *Scene, c *Cause) {
	// A new trace may have the ID of a forgotten one. The stand-in of the latter never replaces it.
	if known := s.Placed.Lines[c.Line.ID]; known == nil || known.Old {
		s.Placed.Lines[c.Line.ID] = c.Line
	}
	if c.follows != nil {
		c.Line.Follows = append(c.Line.Follows, c.follows)
	}
	if c.rescales != nil {
		c.rescales.BecomeScaling()
	}
}
