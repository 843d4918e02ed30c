// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/kube-lifeline/lifeline/app/internal/cause"
	"github.com/kube-lifeline/lifeline/app/internal/change"
	"github.com/kube-lifeline/lifeline/app/internal/object"
	"github.com/kube-lifeline/lifeline/app/internal/span"
)

// needed are the objects with data for open traces: the objects of these traces, the owners above
// them, and all dependants of these owners.
type needed struct {
	objects map[*change.Timeline]bool
	owners  map[types.UID]bool
}

func (d *derivation) needed() needed {
	n := needed{objects: map[*change.Timeline]bool{}, owners: map[types.UID]bool{}}
	for _, r := range d.placed.Late() {
		n.add(d, r.Timeline)
	}
	for _, l := range d.placed.Untaken() {
		for _, r := range l.Reconciliations {
			n.add(d, r.Timeline)
			for _, to := range r.Timeline.Refers() {
				// A refused dependant may be created later, and a Pod has the reason of its claims.
				if cause.Refuses(to) || to.Type == object.Claim {
					for _, t := range d.known.Named(to.To) {
						n.add(d, t)
					}
				}
			}
			for _, w := range r.Writes {
				for _, t := range cause.Sources(d.scene, w) {
					n.add(d, t)
				}
			}
			for _, w := range r.Notes {
				n.add(d, w.Timeline)
			}
			if r.Heals != nil {
				n.add(d, r.Heals)
			}
		}
		for _, w := range l.Loose {
			if t := d.known.Object(w.UID); t != nil {
				n.add(d, t)
			}
		}
	}
	return n
}

func (n *needed) add(d *derivation, t *change.Timeline) {
	n.objects[t] = true
	for _, by := range d.known.Referrers(object.UIDName(t.Ref.UID)) { // the causes of t are in their Events
		if !n.objects[by] {
			n.add(d, by)
		}
	}
	for _, o := range t.Owners() {
		if n.owners[o.UID] {
			continue
		}
		n.owners[o.UID] = true
		for _, dependant := range d.known.Claiming(o.UID) {
			n.objects[dependant] = true
		}
		if up := d.known.Object(o.UID); up != nil {
			n.add(d, up)
		}
	}
}

// lastHandedOut returns the last write in a handed-out trace, for each object without a history (see
// placed.Changes.Of).
func (d *derivation) lastHandedOut() map[*change.Timeline]*change.Write {
	out := map[*change.Timeline]*change.Write{}
	for _, w := range d.placed.Written {
		// Most writes are those of a reconciliation in the history of their own object.
		if r := w.Reconciliation; r != nil && (r.Instant || r.Timeline != w.Timeline) && d.placed.HandedOut(r.Lineage) {
			out[w.Timeline] = w
		}
	}
	return out
}

// lingering returns the members for which lingers reports true.
func (d *derivation) lingering(now time.Time) map[*change.Timeline]bool {
	out := map[*change.Timeline]bool{}
	for t := range d.group.members {
		if d.settling.lingers(t, now) {
			out[t] = true
		}
	}
	return out
}

// originations returns the resourceVersions of the writes that are in the trace because of their
// contexts, in order.
func (d *derivation) originations(l *change.Lineage) []uint64 {
	var out []uint64
	for _, r := range l.Reconciliations {
		byRequest := r.Evidence == span.ByRequest && l.Run == nil
		if r.Evidence != span.ByAnnotation && !r.Admitted && !byRequest {
			continue
		}
		for _, w := range r.Writes {
			if w.Originates() || byRequest && cause.IsAsked(d.scene, w) {
				out = append(out, w.RV)
			}
		}
	}
	slices.Sort(out)
	return out
}
