// SPDX-License-Identifier: Apache-2.0

package kind

import "github.com/kube-lifeline/lifeline/app/internal/object"

// MachineSet is the kind MachineSet of Cluster API.
var MachineSet = Kind{
	Kind:     object.Kind{Group: groupClusterAPI, Version: "v1beta2", Kind: "MachineSet"},
	Resource: "machinesets",
	Short:    "ms",
	Shown:    []string{"spec.replicas"},
	Effects:  []*Kind{&Machine},
	Goals:    []string{"MachinesReady"},
	Ongoing:  []string{"ScalingUp", "ScalingDown", "Remediating"},
}
