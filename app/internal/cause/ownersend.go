// SPDX-License-Identifier: Apache-2.0

package cause

import (
	"github.com/kube-lifeline/lifeline/app/internal/change"
	"github.com/kube-lifeline/lifeline/app/internal/history"
	"github.com/kube-lifeline/lifeline/app/internal/span"
)

// ByOwnersEnd is rule C3b: the removal of a dependant after its owner.
func ByOwnersEnd(s *Scene, w *change.Write) (Cause, bool) {
	if w.Verb != history.Deleted {
		return Cause{}, false
	}
	for _, o := range w.Timeline.Owners() {
		if r := s.Placed.Current(o.UID); r != nil && r.Verb == history.Deleted && s.Known.Owns(o, w.Timeline) {
			evidence := span.ByOwner
			if w.Timeline.IsForeign() || r.Timeline.IsForeign() {
				evidence = span.ByTime // a removal has no timestamp (history/storage.go)
			}
			return Cause{Line: r.Lineage, Parent: r, Evidence: evidence}, true
		}
	}
	if r := endingNamespace(s, w); r != nil {
		return Cause{Line: r.Lineage, Parent: r, Evidence: span.ByRelation}, true
	}
	return Cause{}, false
}
