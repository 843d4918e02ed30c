// SPDX-License-Identifier: Apache-2.0

package kind

import "github.com/kube-lifeline/lifeline/app/internal/object"

// Machine is the kind Machine of Cluster API. Its controller copies some fields from the objects of the
// providers.
var Machine = Kind{
	Kind:     object.Kind{Group: groupClusterAPI, Version: "v1beta2", Kind: "Machine"},
	Resource: "machines",
	Short:    "ma",
	Filled:   []string{"spec.providerID", "spec.bootstrap.dataSecretName"},
	Goals:    []string{"Available"},
	Ongoing:  []string{"Updating"},
}
