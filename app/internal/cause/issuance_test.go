// SPDX-License-Identifier: Apache-2.0

package cause

import (
	"testing"
	"time"

	"github.com/kube-lifeline/lifeline/app/internal/change"
	"github.com/kube-lifeline/lifeline/app/internal/kind"
	"github.com/kube-lifeline/lifeline/app/internal/object"
	"github.com/kube-lifeline/lifeline/app/internal/span"
)

// TestByIssuance: cert-manager writes the Secret of a Certificate, and issues it again after its loss.
func TestByIssuance(t *testing.T) {
	certificate := all(of("cert-manager.io", "Certificate"), by("kubectl-create"), leaf("spec.secretName"), fresh,
		refers(object.Issues, nameOf("", "Secret", "tls")), pending)
	issued := refers(object.Issued, kind.CertificateName("default", "cert"))
	secret := all(of("", "Secret"), by("cert-manager-certificates-issuing"), issued)
	reissue := func(reason string) trait {
		return all(condition("Issuing", "True", reason, ""), bySubresource("cert-manager-trigger", "status"),
			revision("2", "pending"))
	}
	lost := func(c *cluster) {
		c.store("cert", certificate).begins()
		c.store("tls", secret).below("cert")
		c.store("cert", converged, revision("1", "applied")).noted()
		c.wait(time.Minute)
		c.gone("tls").begins()
	}
	either := func(s *Scene, w *change.Write) (Cause, bool, []span.Link) {
		if c, found := byLostSecret(s, w); found {
			return c, true, nil
		}
		return byRelation(s, w)
	}
	testRule(t, either, map[string]ruleCase{
		"Secret": {"the Certificate is under way", func(c *cluster) {
			c.store("cert", certificate).begins()
			c.store("tls", secret)
		}, "below cert (relation)"},
		"One user": {"cert-manager began the issuance, too", func(c *cluster) {
			const user, agent = "system:serviceaccount:cert-manager:cert-manager", "controller/v1"
			c.audited(c.store("cert", certificate, by("cert-manager-ingress-shim")).begins(), user, agent)
			c.audited(c.store("tls", secret), user, agent)
		}, "below cert (relation)"},
		"By a person": {"cert-manager did not write it", func(c *cluster) {
			c.store("cert", certificate).begins()
			c.store("tls", of("", "Secret"), by("kubectl-create"), issued)
		}, "no cause"},
		"Another component": {"its name is not that of cert-manager", func(c *cluster) {
			c.store("cert", certificate).begins()
			c.store("tls", of("", "Secret"), by("reflector"), issued)
		}, "no cause"},
		"Another Certificate": {"the Secret names another one", func(c *cluster) {
			c.store("cert", certificate).begins()
			c.store("tls", of("", "Secret"), by("cert-manager-certificates-issuing"),
				refers(object.Issued, kind.CertificateName("default", "other")))
		}, "no cause"},
		"Later": {"the Certificate had ended", func(c *cluster) {
			c.store("cert", certificate).begins()
			c.store("cert", converged).noted()
			c.wait(time.Minute)
			c.store("tls", secret)
		}, "no cause ~relation cert"},
		"Lost Secret": {"the issuance makes a new one", func(c *cluster) {
			lost(c)
			c.store("cert", reissue("DoesNotExist"))
		}, "new trace, heals tls ~heals tls"},
		"Lost without a change": {"the loss itself is in no trace", func(c *cluster) {
			c.store("cert", certificate).begins()
			c.store("tls", secret).below("cert")
			c.store("cert", converged, revision("1", "applied")).noted()
			c.wait(time.Minute)
			c.gone("tls")
			c.store("cert", reissue("DoesNotExist"))
		}, "new trace, heals tls"},
		"By a patch": {"a person requested the issuance", func(c *cluster) {
			lost(c)
			c.store("cert", condition("Issuing", "True", "DoesNotExist", ""), bySubresource("kubectl-x", "status"),
				revision("2", "pending"))
		}, "no cause"},
		"Another lost Secret": {"the Certificate only refers to it", func(c *cluster) {
			c.store("ca", of("", "Secret"), by("kubectl-create"))
			c.store("cert", certificate, refers(object.Config, nameOf("", "Secret", "ca"))).begins()
			c.store("cert", converged, revision("1", "applied")).noted()
			c.gone("ca").begins()
			c.wait(time.Minute)
			c.store("cert", reissue("DoesNotExist"))
		}, "no cause"},
		"Audited person": {"the log names a person", func(c *cluster) {
			c.store("cert", certificate).begins()
			c.audited(c.store("tls", secret), "alice", "vendor/v1")
		}, "no cause"},
		"Without a revision": {"the write begins no issuance", func(c *cluster) {
			lost(c)
			issuing := condition("Issuing", "True", "DoesNotExist", "")
			c.store("cert", by("cert-manager"), leaf("spec.secretName"), issuing)
		}, "no cause"},
		"Renewal": {"the issuance has another reason", func(c *cluster) {
			lost(c)
			c.store("cert", reissue("Renewing"))
		}, "no cause"},
		"Secret stays": {"the Secret is there", func(c *cluster) {
			c.store("cert", certificate).begins()
			c.store("tls", secret).below("cert")
			c.store("cert", converged, revision("1", "applied")).noted()
			c.wait(time.Minute)
			c.store("cert", reissue("DoesNotExist"))
		}, "no cause"},
	})
}
