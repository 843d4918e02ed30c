// SPDX-License-Identifier: Apache-2.0

package kind

import "github.com/kube-lifeline/lifeline/app/internal/object"

// CertificateSigningRequest is the kind CertificateSigningRequest.certificates.k8s.io.
var CertificateSigningRequest = Kind{
	Kind:          object.Kind{Group: "certificates.k8s.io", Version: "v1", Kind: "CertificateSigningRequest"},
	Resource:      "certificatesigningrequests",
	Short:         "csr",
	ClusterScoped: true,
	Progress:      true,
	Shown:         []string{"spec.signerName"},
}
