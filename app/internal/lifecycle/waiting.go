// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"strings"

	"github.com/kube-lifeline/lifeline/app/internal/change"
	"github.com/kube-lifeline/lifeline/app/internal/history"
	"github.com/kube-lifeline/lifeline/app/internal/kind/judge"
)

// waitsFor describes what the object of t waits for. last is its newest version. If the status has no
// reason, an Event may have one: a refused dependant, without a creation after it.
func (d *derivation) waitsFor(t *change.Timeline, last *history.Version) string {
	reason := judge.WaitsFor(last)
	if !t.Kind().Owner || last.Pod != nil || judge.Holds(last, "ReplicaFailure") || !last.Deleting.IsZero() {
		return reason
	}
	var refused *history.Event
	for _, e := range t.Events {
		if e.Reason == change.FailedCreate && (refused == nil || e.ResourceVersion > refused.ResourceVersion) {
			refused = e
		}
	}
	if refused == nil {
		return reason
	}
	for _, dep := range d.engine.dependantsOf(t.Ref.UID) {
		if len(dep.Versions) > 0 && dep.Versions[0].ResourceVersion > refused.ResourceVersion {
			return reason
		}
	}
	_, note, found := strings.Cut(refused.Note, "Error creating: ")
	if !found {
		return refused.Note
	}
	return note
}
