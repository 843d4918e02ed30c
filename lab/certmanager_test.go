// SPDX-License-Identifier: Apache-2.0

package lab

import "testing"

const selfSigned = `apiVersion: cert-manager.io/v1
kind: Issuer
metadata: {name: self-signed}
spec: {selfSigned: {}}
---
apiVersion: cert-manager.io/v1
kind: Certificate
metadata: {name: web}
spec:
  secretName: web-tls
  dnsNames: [web.default.svc]
  issuerRef: {name: self-signed, kind: Issuer, group: cert-manager.io}
`

// TestCertManager lets cert-manager issue a certificate, and issue it again after its Secret is
// deleted.
func TestCertManager(t *testing.T) {
	slow(t)
	c := start(t, Options{AddOns: []AddOn{CertManager}, Nodes: NodesNone})
	kubectl(t, c, selfSigned, "apply", "-f", "-")
	kubectl(t, c, "", "wait", "certificate/web", "--for=condition=Ready", "--timeout=2m")
	kubectl(t, c, "", "delete", "secret/web-tls")
	kubectl(t, c, "", "wait", "certificate/web", "--for=jsonpath={.status.revision}=2", "--timeout=2m")
	kubectl(t, c, "", "get", "secret/web-tls")
}
