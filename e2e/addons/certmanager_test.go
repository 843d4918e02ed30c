// SPDX-License-Identifier: Apache-2.0

package addons

import (
	"fmt"
	"testing"
	"time"

	"github.com/kube-lifeline/lifeline/e2e/internal/addon"
	"github.com/kube-lifeline/lifeline/lab"
)

const authority = `apiVersion: cert-manager.io/v1
kind: Certificate
metadata: {name: authority}
spec:
  isCA: true
  commonName: authority
  secretName: authority
  privateKey: {algorithm: ECDSA, size: 256}
  issuerRef: {name: self-signed, kind: Issuer, group: cert-manager.io}
`

const authorityIssuer = `apiVersion: cert-manager.io/v1
kind: Issuer
metadata: {name: authority}
spec: {ca: {secretName: authority}}
`

// issued waits for a revision of a Certificate.
func (s *stage) issued(name string, revision int) {
	s.t.Helper()
	s.await(fmt.Sprintf("jsonpath={.status.revision}=%d", revision), "certificate/"+name)
	s.await("condition=Ready", "certificate/"+name)
	s.settle()
}

// TestCertManager records certificates: issued, renewed, changed, stuck, lost and deleted.
func TestCertManager(t *testing.T) {
	opts := lab.Options{AddOns: []lab.AddOn{lab.CertManager}, Nodes: lab.NodesNone}
	traces := record(t, "cert-manager.kwok", opts, func(s *stage) {
		s.apply(userA, addon.SelfSigned("self-signed"))
		s.await("condition=Ready", "issuer/self-signed")
		s.settle()
		s.apply(userA, authority)
		s.issued("authority", 1)
		s.apply(userA, authorityIssuer)
		s.await("condition=Ready", "issuer/authority")
		s.settle()
		s.apply(userA, addon.Certificate("web", "authority"))
		s.issued("web", 1)

		s.as(userB, "patch", "certificate/web", "--subresource=status", "--type=json", "-p", addon.Renewal())
		s.issued("web", 2)
		s.as(userB, "patch", "certificate/web", "--type=merge", "-p", `{"spec":{"dnsNames":["web.shop.svc","web"]}}`)
		s.issued("web", 3)

		// The controller sees two changes by two people at once.
		if err := s.Pause(lab.CertController); err != nil {
			t.Fatal(err)
		}
		s.as(userA, "patch", "certificate/web", "--type=merge", "-p", `{"spec":{"duration":"1000h"}}`)
		s.as(userB, "patch", "certificate/web", "--type=merge", "-p", `{"spec":{"dnsNames":["web.shop.svc"]}}`)
		if err := s.Resume(lab.CertController); err != nil {
			t.Fatal(err)
		}
		s.issued("web", 4)

		s.as(userC, "delete", "secret/web-tls")
		s.await("create", "secret/web-tls")
		s.issued("web", 5)

		s.apply(userB, addon.Certificate("stuck", "none"))
		s.await(`jsonpath={.status.conditions[?(@.type=="Issuing")].status}=True`, "certificate/stuck")
		s.settle()
		time.Sleep(quiet)
		s.apply(userC, addon.SelfSigned("none"))
		s.issued("stuck", 1)

		s.as(userA, "delete", "certificate/web")
		s.settle()
	})
	expect(t, traces, map[string]int{
		// A creation, a renewal, three changes (two at once), an issuance after a loss, and a deletion.
		"Certificate web <":                          7,
		"Secret web-tls < Certificate web":           5,
		"Secret web-tls <":                           1, // its loss
		"CertificateRequest web-4 < Certificate web": 2, // made, and removed later
		"Certificate stuck <":                        1,
		"Secret stuck-tls < Certificate stuck":       1,
	})
}
