// SPDX-License-Identifier: Apache-2.0

package reason

import (
	"fmt"

	"github.com/kube-lifeline/lifeline/app/internal/history"
	"github.com/kube-lifeline/lifeline/app/internal/kind"
	"github.com/kube-lifeline/lifeline/app/internal/observation"
)

// former is the note about a workload with Pods of the former revision that its controller keeps, and about a paused
// Deployment.
func former(v *history.Version) Reason {
	w := v.Workload
	switch {
	case w == nil:
		return Reason{}
	case kind.Deployment.Is(v.Kind) && w.Paused:
		return paused(w)
	case !kind.StatefulSet.Is(v.Kind), w.Updated >= w.Replicas:
		return Reason{}
	}
	const strategy = "spec.updateStrategy"
	r := Reason{
		Note: true, Category: OnDelete, For: "the deletion of its Pods",
		Text: fmt.Sprintf("keeps %d of %d Pods at the former revision", w.Replicas-w.Updated, w.Replicas),
	}
	partition := v.Field(strategy + ".rollingUpdate.partition")
	switch kind := v.Field(strategy + ".type"); {
	case kind != nil && kind.Shown == "OnDelete":
		r.Text += ": its update strategy OnDelete replaces a Pod only after its deletion"
		r.Fields = []Field{{Path: "spec.template"}, {Path: strategy}}
	case partition != nil && partition.Shown != "0":
		r.Category, r.For = Partition, "a lower partition"
		r.Text += ": its partition is " + partition.Shown
		r.Fields = []Field{{Path: "spec.template"}, {Path: strategy}}
	default:
		return Reason{}
	}
	return r
}

// paused is the note about a paused Deployment.
func paused(w *observation.Workload) Reason {
	r := Reason{
		Note: true, Category: Paused, Text: "is paused", For: "the end of its pause",
		Fields: []Field{{Path: "spec.template"}, {Path: "spec.paused"}},
	}
	if w.Updated < w.Total {
		r.Text += fmt.Sprintf(", and keeps %d of %d Pods at the former revision", w.Total-w.Updated, w.Total)
	}
	return r
}
