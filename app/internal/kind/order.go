// SPDX-License-Identifier: Apache-2.0

package kind

import "github.com/kube-lifeline/lifeline/app/internal/object"

// groupACME is the API group of cert-manager's ACME client.
const groupACME = "acme.cert-manager.io"

// acmeState is the state of an Order or a Challenge.
var acmeState = State{
	Field: "state", Message: "reason", Done: []string{"valid"}, Failed: []string{"invalid", "expired", "errored"},
}

// Order is the kind Order of cert-manager: a certificate that an ACME server has to issue.
var Order = Kind{
	Kind:     object.Kind{Group: groupACME, Version: "v1", Kind: "Order"},
	Resource: "orders",
	Progress: true,
	State:    acmeState,
}
