// SPDX-License-Identifier: Apache-2.0

package kind

import "github.com/kube-lifeline/lifeline/app/internal/object"

// MachineDeployment is the kind MachineDeployment of Cluster API.
var MachineDeployment = Kind{
	Kind:     object.Kind{Group: groupClusterAPI, Version: "v1beta2", Kind: "MachineDeployment"},
	Resource: "machinedeployments",
	Short:    "md",
	Shown:    []string{"spec.replicas"},
	Effects:  []*Kind{&MachineSet},
	Goals:    []string{"Available"},
	Ongoing:  []string{"RollingOut", "ScalingUp", "ScalingDown", "Remediating"},
}
