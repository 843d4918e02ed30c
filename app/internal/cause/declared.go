// SPDX-License-Identifier: Apache-2.0

package cause

import (
	"slices"
	"strings"

	"github.com/kube-lifeline/lifeline/app/internal/change"
	"github.com/kube-lifeline/lifeline/app/internal/history"
	"github.com/kube-lifeline/lifeline/app/internal/object"
)

// declared returns the causes of the object of w, by the relations of the configuration, each once.
func declared(s *Scene, w *change.Write) []*change.Timeline {
	var out []*change.Timeline
	for _, r := range w.Timeline.Refers() {
		if r.Type != object.Effect {
			continue
		}
		for _, t := range s.Known.Named(r.To) {
			if t != w.Timeline && !slices.Contains(out, t) {
				out = append(out, t)
			}
		}
	}
	return out
}

// byComponent reports whether a component made w: the audit log names a user of the cluster's
// (system:) without kubectl, or without the log the field manager is not that of kubectl. A deletion
// leaves no field manager.
func byComponent(s *Scene, w *change.Write) bool {
	if w.Request != nil {
		return false
	}
	if user := userOf(s, w); user != "" {
		return strings.HasPrefix(user, "system:") && !change.IsClient(AuthorOf(s.Trail.Audited(w).Write))
	}
	return !change.IsClient(w.Manager) && (w.Manager != "" || w.Verb == history.Deleted)
}

// byOtherComponent is byComponent, without autoscalers: these have a relation of their own.
func byOtherComponent(s *Scene, w *change.Write) bool {
	return byComponent(s, w) && Autoscaler(s, w) == nil
}

// awaitsDeclared reports whether a component created the object of w, and no cause is known. The
// watch of the cause may be delayed.
func awaitsDeclared(s *Scene, w *change.Write) bool {
	return w.Verb == history.Created && byComponent(s, w) && len(declared(s, w)) == 0 &&
		slices.ContainsFunc(w.Timeline.Refers(), func(r object.Relation) bool { return r.Type == object.Effect })
}
