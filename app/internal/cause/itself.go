// SPDX-License-Identifier: Apache-2.0

package cause

import (
	"slices"

	"github.com/kube-lifeline/lifeline/app/internal/change"
	"github.com/kube-lifeline/lifeline/app/internal/history"
	"github.com/kube-lifeline/lifeline/app/internal/kind"
	"github.com/kube-lifeline/lifeline/app/internal/object"
	"github.com/kube-lifeline/lifeline/app/internal/observation"
)

// byItself is the rule for the own controller of an object. Such a controller completes the object
// during an open reconciliation, by a field or a label. The write is a step of the reconciliation
// and replaces nothing.
func byItself(s *Scene, w *change.Write) (Cause, bool) {
	if !itself(s, w) {
		return Cause{}, false
	}
	r := s.Placed.UnderWay(w)
	return Cause{Line: r.Lineage, Parent: r.Parent, Above: r.Above, Remote: r.Remote, Evidence: r.Evidence}, true
}

// itself reports whether w is such a step.
func itself(s *Scene, w *change.Write) bool {
	r := s.Placed.UnderWay(w)
	return r != nil && w.Verb == history.Updated && r.Verb != history.Deleted && r.OpenAt(w, s.options.Quiet) &&
		(OwnController(s, w) || manages(s, w))
}

// manages reports whether the author of w is a component that made an object with the object of w as its
// controller owner: it acts for that owner. For example, Kueue makes the Workload of a Job and resumes the
// Job.
func manages(s *Scene, w *change.Write) bool {
	if scalesReplicas(w) || !byComponent(s, w) || w.Manager == change.Manager && userOf(s, w) == "" {
		return false
	}
	return slices.ContainsFunc(s.Known.Dependants(w.Timeline.Ref.UID), func(t *change.Timeline) bool {
		if len(t.Versions) == 0 || t.Versions[0].ResourceVersion > w.RV {
			return false
		}
		o := s.Known.Controller(t)
		return o != nil && o.UID == w.Timeline.Ref.UID && isMaker(s, w, t)
	})
}

// OwnController reports whether the author of the write also writes the object's status, just
// before it or later. An earlier status proves nothing: cmctl renews a Certificate by a patch of
// its status. A scale is excluded, because an autoscaler may have the same name. The controller of a
// workload whose status a component of Kubernetes writes is that component.
func OwnController(s *Scene, w *change.Write) bool {
	if w.Manager == "" || change.IsClient(w.Manager) || w.Version == nil || w.Previous == nil || scalesReplicas(w) {
		return false
	}
	if kind.IsApplication(w.Timeline.Ref.Kind) {
		tool := kind.DeliveryOf(object.NameOf(&w.Timeline.Ref)) // its status has no subresource
		return tool.Is(w.Manager)
	}
	if w.Previous.Workload != nil && slices.ContainsFunc(w.Previous.Managers, isComponentsStatus) {
		return kind.IsComponent(w.Manager)
	}
	same := slices.ContainsFunc(w.Timeline.Versions, func(v *history.Version) bool {
		return v.ResourceVersion >= w.Previous.ResourceVersion &&
			slices.ContainsFunc(v.Managers, func(m *observation.Manager) bool {
				return m.Name == w.Manager && m.Subresource == "status"
			})
	})
	user := userOf(s, w)
	if !same || user == "" {
		return same
	}
	users := statusAuthors(s, w.Timeline, w.Manager)
	return len(users) == 0 || slices.Contains(users, user)
}

func isComponentsStatus(m *observation.Manager) bool {
	return m.Subresource == "status" && kind.IsComponent(m.Name)
}

// scalesReplicas reports whether the author of w changed the number of replicas by the subresource for it.
func scalesReplicas(w *change.Write) bool {
	return w.Version != nil && w.Previous != nil &&
		slices.ContainsFunc(w.Version.Managers, func(m *observation.Manager) bool {
			return m.Name == w.Manager && m.Subresource == "scale" &&
				!slices.ContainsFunc(w.Previous.Managers, history.Is(m))
		})
}
