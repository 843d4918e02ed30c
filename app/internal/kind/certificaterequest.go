// SPDX-License-Identifier: Apache-2.0

package kind

import "github.com/kube-lifeline/lifeline/app/internal/object"

// CertificateRequest is the kind CertificateRequest of cert-manager.
var CertificateRequest = Kind{
	Kind:     object.Kind{Group: groupCertManager, Version: "v1", Kind: "CertificateRequest"},
	Resource: "certificaterequests",
	Short:    "cr",
	Progress: true,
}
