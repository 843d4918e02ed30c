// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"strings"

	"github.com/kube-lifeline/lifeline/app/internal/kind"
	"github.com/kube-lifeline/lifeline/app/internal/object"
	"github.com/kube-lifeline/lifeline/app/internal/span"
)

// Components that appear by name.
const (
	scheduler = "kube-scheduler"
	kubelet   = kind.Kubelet
	manager   = "kube-controller-manager"
	collector = "garbage-collector"
)

// reconciler names the component that works on objects of t's kind: a known
// controller, or whoever writes its status.
func reconciler(t *timeline) string {
	if c := kind.Of(t.ref.Group, t.ref.Kind.Kind).Controller; c != "" {
		return c
	}
	for i := len(t.versions) - 1; i >= 0; i-- {
		for _, m := range t.versions[i].Managers {
			if m.Subresource == "status" {
				return component(m.Name)
			}
		}
	}
	return strings.ToLower(t.ref.Kind.Kind) + "-controller"
}

// actor names the component that made w, or is empty.
func (w *write) actor() string {
	switch {
	case w.req != nil:
		return clientOf(w.req.UserAgent)
	case w.manager == manager && (w.part == desired || w.part == ownership):
		if o := object.ControllerOf(w.t.owners()); o != nil {
			if c := kind.Of(o.Group, o.Kind.Kind).Controller; c != "" {
				return c
			}
		}
		return manager
	case w.manager == manager:
		return reconciler(w.t)
	case w.manager == "kube-scheduler",
		w.verb == updated && w.prev != nil && w.v.Pod != nil && w.prev.Pod != nil &&
			w.prev.Pod.Node == "" && w.v.Pod.Node != "":
		return scheduler
	}
	return component(w.manager)
}

// component reduces a field manager to the program behind it:
// "kubectl-client-side-apply" is kubectl.
func component(fieldManager string) string {
	if isClient(fieldManager) {
		return "kubectl"
	}
	return span.Bound(fieldManager)
}

func isClient(fieldManager string) bool {
	return fieldManager == "kubectl" || strings.HasPrefix(fieldManager, "kubectl-")
}

// clientOf reduces a user agent to the program: "kubectl/v1.36.3 (linux…)" is
// kubectl.
func clientOf(agent string) string {
	name, _, _ := strings.Cut(agent, "/")
	name, _, _ = strings.Cut(name, " ")
	if name == "" {
		return "client"
	}
	return span.Bound(name)
}
