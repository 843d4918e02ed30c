// SPDX-License-Identifier: Apache-2.0

package kind

import "github.com/kube-lifeline/lifeline/app/internal/object"

// ServiceAccount is the kind ServiceAccount. The token controller fills in secrets.
var ServiceAccount = Kind{
	Kind:     object.Kind{Version: "v1", Kind: "ServiceAccount"},
	Resource: "serviceaccounts",
	Short:    "sa",
	Filled:   []string{"secrets"},
	Default:  "default",
}
