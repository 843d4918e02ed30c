// SPDX-License-Identifier: Apache-2.0

package kind

import "github.com/kube-lifeline/lifeline/app/internal/object"

// ConfigMap is the kind ConfigMap.
var ConfigMap = Kind{
	Kind:         object.Kind{Version: "v1", Kind: "ConfigMap"},
	Recalled:     true,
	Resource:     "configmaps",
	Short:        "cm",
	MetadataOnly: true,
	Default:      "kube-root-ca.crt",
}
