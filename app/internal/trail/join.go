// SPDX-License-Identifier: Apache-2.0

package trail

import (
	"slices"

	"github.com/kube-lifeline/lifeline/app/internal/audit"
	"github.com/kube-lifeline/lifeline/app/internal/change"
	"github.com/kube-lifeline/lifeline/app/internal/index"
	"github.com/kube-lifeline/lifeline/app/internal/observation"
)

// joins returns the joins of the audit log's requests to the writes of t.
func (tr *Trail) joins(t *change.Timeline) *audit.Joins {
	a := t.Audits
	if a == nil {
		return audit.None
	}
	if a.Joined == nil || a.Joined.Doubts != tr.doubts {
		a.Joined = tr.join(t)
	}
	return a.Joined
}

func (tr *Trail) join(t *change.Timeline) *audit.Joins {
	j := &audit.Joins{Doubts: tr.doubts, Version: map[uint64]audit.Joined{}}
	slots := audit.Slots(&t.Record)
	// Authenticated requests are joined first. A forged request gets one of the remaining slots.
	for _, unauthenticated := range []bool{false, true} {
		tr.joinSome(t, j, slots, unauthenticated)
	}
	j.Hurried(&t.Record)
	if t.Past == nil {
		j.Find(&t.Record, slices.DeleteFunc(slices.Clone(t.Audits.List), func(q *observation.Write) bool {
			return tr.Contradicted(q) || q.UID == "" && !tr.means(t, q)
		}))
	}
	return j
}

// joinSome joins either the authenticated or the unauthenticated requests to the free slots.
func (tr *Trail) joinSome(t *change.Timeline, j *audit.Joins, slots []audit.Slot, unauthenticated bool) {
	var open []*observation.Write
	for _, q := range t.Audits.List {
		switch {
		case q.Unauthenticated != unauthenticated, tr.Contradicted(q), q.UID == "" && !tr.means(t, q):
		case q.ResourceVersion > 0:
			j.ByVersion(&t.Record, slots, q)
		default:
			open = append(open, q)
		}
	}
	if len(open) == 0 {
		return
	}
	free := slices.DeleteFunc(slices.Clone(slots), func(s audit.Slot) bool {
		_, taken := j.Version[s.RV]
		return s.Version != nil && taken || s.Version == nil && j.Removal.Write != nil
	})
	j.ByOrder(free, open)
}

// means reports whether a request without a UID can mean the object of t, and only that object, by
// its name. The object must have existed at the time of the request. The times of an object are
// precise to the second, so another object of that name counts only with a write that fits.
func (tr *Trail) means(t *change.Timeline, q *observation.Write) bool {
	if !audit.There(&t.Record, q) {
		return false
	}
	for _, other := range tr.known.BySubject(index.NameOf(q)) {
		if other == t || !audit.There(&other.Record, q) {
			continue
		}
		if compacted := other.Past != nil; compacted || audit.Fits(&other.Record, q) {
			return false
		}
	}
	return true
}
