// SPDX-License-Identifier: Apache-2.0

package addon

import (
	"fmt"
	"time"
)

// SelfSigned is a self-signed Issuer.
func SelfSigned(name string) string {
	return fmt.Sprintf(`apiVersion: cert-manager.io/v1
kind: Issuer
metadata: {name: %s}
spec: {selfSigned: {}}
`, name)
}

// Certificate is a Certificate for a Service of the namespace shop, from an issuer.
func Certificate(name, issuer string) string {
	return fmt.Sprintf(`apiVersion: cert-manager.io/v1
kind: Certificate
metadata: {name: %[1]s}
spec:
  secretName: %[1]s-tls
  dnsNames: [%[1]s.shop.svc]
  privateKey: {algorithm: ECDSA, size: 256}
  issuerRef: {name: %[2]s, kind: Issuer, group: cert-manager.io}
`, name, issuer)
}

// Renewal is the condition that cmctl renew adds to a Certificate of the first generation.
func Renewal() string {
	return fmt.Sprintf(`[{"op": "add", "path": "/status/conditions/-", "value": {"type": "Issuing", "status": "True", `+
		`"reason": "ManuallyTriggered", "message": "Certificate re-issuance manually triggered", `+
		`"observedGeneration": 1, "lastTransitionTime": %q}}]`, time.Now().UTC().Format(time.RFC3339))
}
