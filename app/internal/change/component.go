// SPDX-License-Identifier: Apache-2.0

package change

import (
	"cmp"
	"slices"
	"strings"

	"github.com/kube-lifeline/lifeline/app/internal/history"
	"github.com/kube-lifeline/lifeline/app/internal/kind"
	"github.com/kube-lifeline/lifeline/app/internal/kind/judge"
	"github.com/kube-lifeline/lifeline/app/internal/object"
	"github.com/kube-lifeline/lifeline/app/internal/span"
)

// The names of known components.
const (
	// Scheduler is the default scheduler.
	Scheduler = "kube-scheduler"
	// Kubelet is the agent of a Node.
	Kubelet = kind.Kubelet
	// Manager is the component, and the field manager, of most controllers of Kubernetes.
	Manager = "kube-controller-manager"
	// Collector is the controller for the deletion of dependants.
	Collector = "garbage-collector"
)

// Reconciler returns the component that reconciles objects of t's kind: the known controller, or
// else the last writer of the status, or else a name made of the kind.
func Reconciler(t *Timeline) string {
	if c := t.Kind().Controller; c != "" {
		if v := t.Last(); v != nil {
			c = cmp.Or(judge.JobManager(v), c)
		}
		return c
	}
	if _, _, ok := kind.Release(t.Ref.Kind, t.Ref.Name); ok {
		return "helm"
	}
	for i := len(t.Versions) - 1; i >= 0; i-- {
		for _, m := range t.Versions[i].Managers {
			if m.Subresource == "status" {
				return Component(m.Name)
			}
		}
	}
	return strings.ToLower(t.Ref.Kind.Kind) + "-controller"
}

// Actor returns the component of the writer of w, or "" if it is unknown.
func (w *Write) Actor() string {
	switch {
	case w.Request != nil:
		return ClientOf(w.Request.UserAgent)
	case w.Manager == Manager && w.taintsLost():
		return NodeController
	case w.Manager == Manager && (w.Part == Desired || w.Part == Ownership) && ServiceOf(w.Timeline) == nil:
		if o := object.ControllerOf(w.Owners()); o != nil {
			if c := kind.Of(o.Group, o.Kind.Kind).Controller; c != "" {
				return c
			}
		}
		return Manager
	case w.Manager == Manager:
		return Reconciler(w.Timeline)
	case w.Manager == "kube-scheduler",
		w.Verb == history.Updated && w.Previous != nil && w.Version.Pod != nil && w.Previous.Pod != nil &&
			w.Previous.Pod.Node == "" && w.Version.Pod.Node != "":
		return Scheduler
	}
	return Component(w.Manager)
}

// Component returns the program of a field manager: "kubectl" for "kubectl-client-side-apply".
func Component(fieldManager string) string {
	if IsClient(fieldManager) {
		return "kubectl"
	}
	return span.Bound(fieldManager)
}

// IsClient reports whether a field manager is that of kubectl.
func IsClient(fieldManager string) bool {
	return fieldManager == "kubectl" || strings.HasPrefix(fieldManager, "kubectl-")
}

// ClientOf returns the program of a user agent: "kubectl" for "kubectl/v1.36.3 (linux…)".
func ClientOf(agent string) string {
	name, _, _ := strings.Cut(agent, "/")
	name, _, _ = strings.Cut(name, " ")
	if name == "" {
		return "client"
	}
	return span.Bound(name)
}

// Akin reports whether w has the actor of the first write of r, or an object with an owner in
// common.
func (r *Reconciliation) Akin(w *Write) bool {
	if by := r.First().Actor(); by != "" && by == w.Actor() {
		return true
	}
	owners := r.Timeline.Owners()
	return slices.ContainsFunc(w.Owners(), func(o object.Owner) bool {
		return slices.ContainsFunc(owners, func(other object.Owner) bool { return o.UID == other.UID })
	})
}
