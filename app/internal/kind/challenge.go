// SPDX-License-Identifier: Apache-2.0

package kind

import "github.com/kube-lifeline/lifeline/app/internal/object"

// Challenge is the kind Challenge of cert-manager: a proof that an ACME server asks for.
var Challenge = Kind{
	Kind:     object.Kind{Group: groupACME, Version: "v1", Kind: "Challenge"},
	Resource: "challenges",
	Progress: true,
	State:    acmeState,
}
