// SPDX-License-Identifier: Apache-2.0

package kind

import "github.com/kube-lifeline/lifeline/app/internal/object"

// ResourceQuota is the kind ResourceQuota.
var ResourceQuota = Kind{
	Kind:       object.Kind{Version: "v1", Kind: "ResourceQuota"},
	Resource:   "resourcequotas",
	Short:      "quota",
	Shown:      []string{"spec.hard"},
	Attributes: "k8s.resourcequota.",
}
