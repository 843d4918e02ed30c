// SPDX-License-Identifier: Apache-2.0

package kind

import "github.com/kube-lifeline/lifeline/app/internal/object"

// LimitRange is the kind LimitRange.
var LimitRange = Kind{
	Kind:     object.Kind{Version: "v1", Kind: "LimitRange"},
	Recalled: true,
	Resource: "limitranges",
	Shown:    []string{"spec.limits"},
	Short:    "limits",
}
