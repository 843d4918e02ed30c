// SPDX-License-Identifier: Apache-2.0

package reason

import (
	"fmt"

	"github.com/kube-lifeline/lifeline/app/internal/history"
	"github.com/kube-lifeline/lifeline/app/internal/kind"
)

// former is the note about a StatefulSet with Pods of the former revision that its controller keeps.
func former(v *history.Version) Reason {
	w := v.Workload
	if !kind.StatefulSet.Is(v.Kind) || w == nil || w.Updated >= w.Replicas {
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
