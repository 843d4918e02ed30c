// SPDX-License-Identifier: Apache-2.0

package change

import (
	"slices"

	"github.com/kube-lifeline/lifeline/app/internal/object"
	"github.com/kube-lifeline/lifeline/app/internal/observation"
)

// maxReported bounds the related objects in the Events of one object. The oldest ones count, so that later
// Events do not change earlier causes.
const maxReported = 64

// Relates reports whether the Event may relate its object to another one, or show a refusal.
func Relates(e *observation.Event) bool { return e.Related != nil || e.Reason == FailedCreate }

// reported appends the related objects of the Events of t.
func reported(t *Timeline, to []object.Relation) []object.Relation {
	found := 0
	for _, e := range t.Events {
		if e.Related == nil || e.Related.UID == t.Ref.UID {
			continue
		}
		r := object.Relation{Type: object.Reported, To: object.UIDName(e.Related.UID)}
		if found < maxReported && !slices.Contains(to, r) {
			found++
			to = append(slices.Clip(to), r)
		}
	}
	return to
}
