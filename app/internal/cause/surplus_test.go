// SPDX-License-Identifier: Apache-2.0

package cause

import (
	"testing"
	"time"
)

// TestByOwnerRequest: the controller removes the CertificateRequest of an earlier revision.
func TestByOwnerRequest(t *testing.T) {
	const group = "cert-manager.io"
	request := all(of(group, "CertificateRequest"), owned(group, "Certificate", "cert"), by("cert-manager"))
	settled := func(c *cluster) {
		c.store("cert", of(group, "Certificate"), by("kubectl-create"), leaf("spec.dnsNames"), fresh).begins()
		c.store("cert", converged).noted()
		c.wait(time.Minute)
		c.store("cert-1", request).begins()
		c.wait(time.Minute)
	}
	testRule(t, plain(byOwner), map[string]ruleCase{
		"Earlier": {"a later request is left", func(c *cluster) {
			settled(c)
			c.store("cert-2", request).begins()
			c.wait(time.Minute)
			c.gone("cert-1")
		}, "below cert (owner)"},
		"Newest": {"no later request is left", func(c *cluster) {
			settled(c)
			c.store("cert-2", request).begins()
			c.wait(time.Minute)
			c.gone("cert-2")
		}, "no cause"},
		"After a later one": {"the later request is gone", func(c *cluster) {
			settled(c)
			c.store("cert-2", request).begins()
			c.wait(time.Minute)
			c.gone("cert-2").below("cert")
			c.gone("cert-1")
		}, "no cause"},
		"Before a later one": {"the later request was there at the time", func(c *cluster) {
			settled(c)
			c.store("cert-2", request).begins()
			c.wait(time.Minute)
			c.gone("cert-1")
			c.ask()
			c.gone("cert-2")
		}, "below cert (owner)"},
		"Before a Secret": {"the later dependant is no request", func(c *cluster) {
			settled(c)
			c.store("tls", of("", "Secret"), owned(group, "Certificate", "cert"), by("cert-manager"))
			c.wait(time.Minute)
			c.gone("cert-1")
		}, "no cause"},
		"Another kind": {"only requests have revisions", func(c *cluster) {
			c.store("tls", of("", "Secret"), owned(group, "Certificate", "cert"), by("cert-manager"))
			c.wait(time.Minute)
			settled(c)
			c.gone("tls")
		}, "no cause"},
		"Alone": {"it is the only one", func(c *cluster) {
			settled(c)
			c.gone("cert-1")
		}, "no cause"},
	})
}
