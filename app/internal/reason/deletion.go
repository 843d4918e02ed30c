// SPDX-License-Identifier: Apache-2.0

package reason

import (
	"strings"

	"github.com/kube-lifeline/lifeline/app/internal/history"
	"github.com/kube-lifeline/lifeline/app/internal/kind"
)

// foreground is the finalizer of an object that waits for its dependants.
const foreground = "foregroundDeletion"

// deletion is the reason of an object in deletion.
func deletion(v *history.Version, events []*history.Event) Reason {
	switch {
	case v.Deleting.IsZero():
		return Reason{}
	case kind.Namespace.Is(v.Kind):
		return content(v)
	case len(v.Finalizers) == 1 && v.Finalizers[0] == foreground:
		return Reason{Category: Dependants, Text: "waits for the deletion of its dependants", For: "its dependants"}
	case len(v.Finalizers) > 0:
		r := waits("finalizer " + strings.Join(v.Finalizers, ", "))
		r.Category = Finalizer
		return r
	case v.Pod != nil:
		return disrupted(v, events)
	}
	return Reason{Text: "is terminating", For: "its removal"}
}

// disrupted is the reason of a Pod in deletion. Its condition DisruptionTarget names the author of an
// eviction.
func disrupted(v *history.Version, events []*history.Event) Reason {
	r := Reason{Text: "is terminating", For: "its containers to stop"}
	c := v.Condition("DisruptionTarget")
	if c == nil || c.Status != "True" || c.Reason != "PreemptionByScheduler" {
		return r
	}
	r.Category, r.Text = Preempted, "is preempted: "+says(c)
	if e := newest(events, "Preempted"); e != nil {
		r.Text = "is preempted " + strings.TrimPrefix(explained(e.Reason, e.Note), "Preempted ")
	}
	return r
}

// content is the reason of a Namespace in deletion.
func content(v *history.Version) Reason {
	var left []string
	for _, typ := range []string{
		"NamespaceDeletionDiscoveryFailure", "NamespaceDeletionContentFailure", "NamespaceFinalizersRemaining",
		"NamespaceContentRemaining",
	} {
		if c := v.Condition(typ); c != nil && c.Status == "True" {
			left = append(left, says(c))
		}
	}
	if len(left) == 0 {
		return Reason{Text: "is terminating", For: "the deletion of its content"}
	}
	return Reason{
		Category: NamespaceContent, Text: "waits for the deletion of its content: " + strings.Join(left, "; "),
		For: "the deletion of its content",
	}
}
