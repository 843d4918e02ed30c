// SPDX-License-Identifier: Apache-2.0

package reason

import (
	"strings"

	"github.com/kube-lifeline/lifeline/app/internal/history"
	"github.com/kube-lifeline/lifeline/app/internal/kind/judge"
)

// projects are the ends of the API groups of well-known controllers, and the categories of their
// kinds.
var projects = []struct {
	group    string
	category Category
}{
	{"argoproj.io", ArgoCD},
	{"toolkit.fluxcd.io", Flux},
	{"cert-manager.io", Certificate},
	{"cluster.x-k8s.io", ClusterAPI},
	{"crossplane.io", Crossplane},
	{"kueue.x-k8s.io", Kueue},
	{"tekton.dev", Tekton},
}

// category returns the category of a kind with special conditions.
func category(v *history.Version) Category {
	for _, p := range projects {
		if v.Group == p.group || strings.HasSuffix(v.Group, "."+p.group) {
			return p.category
		}
	}
	if v.Revision != nil && v.Group == "" {
		return HelmRelease
	}
	return ConditionFalse
}

// others is the reason of any other object, by its status.
func others(v *history.Version, _ []*history.Event) Reason {
	text := v.ProgressMessage
	if text == "" {
		if v.Revision != nil && v.Group == "" {
			return Reason{Text: "waits for Helm to finish", For: "Helm"}
		}
		return Reason{Text: "waits for its controller to report completion", For: "its controller"}
	}
	if what, waits := strings.CutPrefix(text, "waiting for "); waits {
		return Reason{Text: "waits for " + what, For: what}
	}
	r := Reason{Text: "is not ready: " + strings.TrimSuffix(text, "."), For: "its controller"}
	for _, typ := range []string{judge.PodReady, "Available", "Synced", "Healthy", "Succeeded"} {
		if c := refused(
			v,
			typ,
		); c != nil && c.Reason != "" &&
			!has(c.Reason, "progress", "pending", "wait", "reconcil") {
			r.Category = category(v)
		}
	}
	return r
}
