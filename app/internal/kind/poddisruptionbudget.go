// SPDX-License-Identifier: Apache-2.0

package kind

import "github.com/kube-lifeline/lifeline/app/internal/object"

// PodDisruptionBudget is the kind PodDisruptionBudget.policy.
var PodDisruptionBudget = Kind{
	Kind:       object.Kind{Group: "policy", Version: "v1", Kind: "PodDisruptionBudget"},
	Resource:   "poddisruptionbudgets",
	Short:      "pdb",
	Shown:      []string{"spec.minAvailable", "spec.maxUnavailable"},
	Controller: "disruption-controller",
}
