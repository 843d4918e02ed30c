// SPDX-License-Identifier: Apache-2.0

package kind

import (
	"strings"

	"github.com/kube-lifeline/lifeline/app/internal/object"
)

// groupCertManager is the API group of cert-manager.
const groupCertManager = "cert-manager.io"

// Certificate is the kind Certificate of cert-manager. Its controllers store the result in a Secret
// that it does not own.
var Certificate = Kind{
	Kind:      object.Kind{Group: groupCertManager, Version: "v1", Kind: "Certificate"},
	Resource:  "certificates",
	Short:     "cert",
	Effects:   []*Kind{&CertificateRequest, &Secret},
	Goals:     []string{"Ready"},
	Relations: []Relation{{object.Issues, "spec.secretName", &Secret}},
}

// CertificateName returns the name of a Certificate.
func CertificateName(namespace, name string) object.Name {
	return object.Name{Group: groupCertManager, Kind: Certificate.Kind.Kind, Namespace: namespace, Name: name}
}

// IsCertManager reports whether a field manager is a controller of cert-manager.
func IsCertManager(manager string) bool { return strings.HasPrefix(manager, "cert-manager") }
