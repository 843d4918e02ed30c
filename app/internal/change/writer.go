// SPDX-License-Identifier: Apache-2.0

package change

import (
	"slices"

	"github.com/kube-lifeline/lifeline/app/internal/history"
)

// Writer returns the name of the managedFields entry that changed between u and v: an entry of the
// object itself if object is true, as for a write to desired state, else an entry of its status.
// Without such an entry it is any other changed entry, then that of a scaling, then "". u is nil
// for a first version.
func Writer(u, v *history.Version, object bool) string {
	best := -1
	for i, m := range v.Managers {
		if (m.Subresource == "") != object || u != nil && slices.ContainsFunc(u.Managers, history.Is(m)) {
			continue
		}
		if best < 0 || m.Time.After(v.Managers[best].Time) {
			best = i
		}
	}
	if best < 0 && u != nil {
		for i, m := range v.Managers {
			if !slices.ContainsFunc(u.Managers, history.Is(m)) && (best < 0 || m.Time.After(v.Managers[best].Time)) {
				best = i
			}
		}
	}
	if best < 0 {
		return scaler(u, v)
	}
	return v.Managers[best].Name
}

// scaler returns the name of the managedFields entry of the scale subresource if the replicas
// changed; otherwise "". Such an entry has no time and stays the same at a second scaling. It ends
// when another manager sets the replicas. So it names the last manager of the replicas.
func scaler(u, v *history.Version) string {
	if u == nil || u.Workload == nil || v.Workload == nil || u.Workload.Replicas == v.Workload.Replicas {
		return ""
	}
	name := ""
	for _, m := range v.Managers {
		if m.Subresource == "scale" {
			if name != "" {
				return ""
			}
			name = m.Name
		}
	}
	return name
}
