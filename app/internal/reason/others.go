// SPDX-License-Identifier: Apache-2.0

package reason

import (
	"cmp"
	"strings"

	"github.com/kube-lifeline/lifeline/app/internal/history"
	"github.com/kube-lifeline/lifeline/app/internal/kind"
	"github.com/kube-lifeline/lifeline/app/internal/observation"
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
	{"upbound.io", Crossplane},
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
	if why, paused := strings.CutPrefix(text, observation.Waits); paused {
		return held(v, why)
	}
	c := decisive(v)
	if c != nil {
		text = cmp.Or(says(c), text)
	}
	if text == "" {
		if v.Revision != nil && v.Group == "" {
			return Reason{Text: "waits for Helm to finish", For: "Helm"}
		}
		return Reason{Text: "waits for its controller to report completion", For: "its controller"}
	}
	if what, waits := strings.CutPrefix(text, "waiting for "); waits {
		return Reason{Text: "waits for " + what, For: what}
	}
	text = strings.TrimPrefix(strings.TrimSuffix(text, "."), "* ") // Cluster API makes lists
	r := Reason{Text: "is not ready: " + text, For: "its controller"}
	if c != nil {
		r.Shown = c.Since
	}
	if c != nil || troubled(text) {
		r.Category = category(v)
	}
	return r
}

// held is the reason of an object that is paused until somebody lets it go on. why may be "".
func held(v *history.Version, why string) Reason {
	r := Reason{Category: Paused, Text: "is paused", For: "the end of its pause"}
	if why != "" {
		r.Text += " (" + why + ")"
	}
	if kind.IsRollout(v.Kind) && !strings.Contains(why, "Step") {
		r.Text, r.For = r.Text+", and waits for its promotion", "its promotion"
	}
	return r
}

// decisive returns the condition that says why the object is not ready, or nil. A condition of ordinary
// progress does not.
func decisive(v *history.Version) *observation.Condition {
	if kind.IsApplication(v.Kind) {
		return nil // its conditions are about the time after a sync; see application
	}
	for _, typ := range desired(v) {
		c := refused(v, typ)
		if c == nil {
			continue
		}
		broken := c.Reason != "" && (!has(c.Reason, ordinary...) || has(c.Reason, "error", "fail"))
		if broken || troubled(c.Message) {
			return c
		}
	}
	return nil
}

// ordinary are parts of the reasons of conditions during ordinary work.
var ordinary = []string{"progress", "pending", "wait", "reconcil", "creating", "issuing", "doesnotexist"}

// troubled reports whether a message speaks of an error.
func troubled(text string) bool {
	text = strings.ReplaceAll(text, "Failed: 0", "") // the count of a run of Tekton
	return has(
		text, "not found", "error", "fail", "cannot", "can't", "couldn't", "unable", "invalid", "denied",
		"forbidden", "refused", "insufficient", "no such", "wrong ", "timed out", "exceed",
	)
}
