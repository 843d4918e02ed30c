// SPDX-License-Identifier: Apache-2.0

package cause

import (
	"testing"
	"time"

	"github.com/kube-lifeline/lifeline/app/internal/kind"
	"github.com/kube-lifeline/lifeline/app/internal/object"
)

// TestByRelation: the API server registers the API of a CustomResourceDefinition.
func TestByRelation(t *testing.T) {
	definition := func(c *cluster) {
		c.store("widgets.example.com", of("apiextensions.k8s.io", "CustomResourceDefinition"), clusterScoped,
			by("kubectl-create"), converged).begins()
	}
	service := all(of("apiregistration.k8s.io", "APIService"), clusterScoped, by(kind.APIServer))
	testRule(t, plain(byRelation), map[string]ruleCase{
		"Registered": {"the definition has its group", func(c *cluster) {
			definition(c)
			c.store("v1.example.com", service)
		}, "below widgets.example.com (relation)"},
		"Another group": {"it is the API of another definition", func(c *cluster) {
			definition(c)
			c.store("v1.example.org", service)
		}, "no cause"},
		"By a person": {"the API server did not make it", func(c *cluster) {
			definition(c)
			c.store("v1.example.com", service, func(st *state) { st.Managers = nil }, by("kubectl-create"))
		}, "no cause"},
		"Later": {"the trace of the definition has ended", func(c *cluster) {
			definition(c)
			c.wait(time.Minute)
			c.store("v1.example.com", service)
		}, "no cause"},
		"Removed": {"a removal has no author", func(c *cluster) {
			definition(c)
			c.store("v1.example.com", service).below("widgets.example.com")
			c.gone("v1.example.com")
		}, "below widgets.example.com (relation)"},
		"Another kind": {"only an APIService is registered", func(c *cluster) {
			definition(c)
			c.store("v1.example.com", of("", "ConfigMap"), by(kind.APIServer))
		}, "no cause"},
	})
}

// TestByClaim: a StatefulSet makes claims, and a claim gets and loses its volume.
func TestByClaim(t *testing.T) {
	set := func(c *cluster) {
		c.store("db", statefulSet(2), refers(object.Claim, kind.ClaimsOf("default", "data", "db"))).begins()
	}
	claim := all(of("", "PersistentVolumeClaim"), by(theManager))
	volume := all(of("", "PersistentVolume"), clusterScoped, by("csi-provisioner"),
		refers(object.Claim, nameOf("", "PersistentVolumeClaim", "data")))
	claimed := func(c *cluster) {
		c.store("data", pendingClaim).begins()
	}
	testRule(t, plain(byClaim), map[string]ruleCase{
		"Claim": {"its name has the template and the set", func(c *cluster) {
			set(c)
			c.store("data-db-0", claim)
		}, "below db (relation)"},
		"Another set": {"its name has another set", func(c *cluster) {
			set(c)
			c.store("data-cache-0", claim)
		}, "no cause"},
		"Claim by a person": {"the controller did not make it", func(c *cluster) {
			set(c)
			c.store("data-db-0", of("", "PersistentVolumeClaim"), by("kubectl-create"))
		}, "no cause"},
		"Claim of a Deployment": {"only a StatefulSet makes claims", func(c *cluster) {
			c.store("db", deployment(2), refers(object.Claim, kind.ClaimsOf("default", "data", "db"))).begins()
			c.store("data-db-0", claim)
		}, "no cause"},
		"Converged set": {"the set had ended", func(c *cluster) {
			set(c)
			c.store("db", converged).noted()
			c.wait(time.Minute)
			c.store("data-db-0", claim)
		}, "no cause"},
		"Unknown author of a claim": {"nothing names the author", func(c *cluster) {
			set(c)
			c.store("data-db-0", of("", "PersistentVolumeClaim"))
		}, "no cause"},
		"Claim of a deleted set": {"a deletion makes no claims", func(c *cluster) {
			set(c)
			c.store("db", deleting).begins()
			c.store("data-db-0", claim)
		}, "no cause"},
		"Audited claim": {"the log names the controller", func(c *cluster) {
			set(c)
			c.audited(c.store("data-db-0", claim), ControllerAccounts+"statefulset-controller", managerAgent)
		}, "below db (relation)"},
		"Audited claim of a person": {"the log names a person", func(c *cluster) {
			set(c)
			c.audited(c.store("data-db-0", claim), "alice", "vendor/v1")
		}, "no cause"},
		"Forged claim": {"an unauthenticated log decides nothing", func(c *cluster) {
			set(c)
			c.audited(c.store("data-db-0", claim), "alice", "vendor/v1", func(q *write) { q.Unauthenticated = true })
		}, "below db (relation)"},
		"Volume of a deleted claim": {"a deletion makes no volume", func(c *cluster) {
			claimed(c)
			c.store("data", deleting).begins()
			c.store("disk", volume)
		}, "no cause"},
		"Volume of an unknown claim": {"nothing is known of the claim", func(c *cluster) {
			c.store("disk", volume)
		}, "no cause"},
		"Updated volume": {"only the creation and the removal follow", func(c *cluster) {
			claimed(c)
			c.store("disk", volume).below("data")
			c.store("disk", by("csi-provisioner"), leaf("spec.x"))
		}, "no cause"},
		"Removed by the provisioner": {"the log names the provisioner", func(c *cluster) {
			claimed(c)
			c.store("disk", volume).below("data")
			c.gone("data").begins()
			c.audited(c.gone("disk"), "system:serviceaccount:csi:provisioner", "csi-provisioner/v1")
		}, "below data (relation)"},
		"Updated claim": {"only its creation is wanted", func(c *cluster) {
			set(c)
			c.store("data-db-0", claim).below("db")
			c.store("data-db-0", by(theManager), leaf("spec.resources"))
		}, "no cause"},
		"Volume": {"a provisioner makes it for the claim", func(c *cluster) {
			claimed(c)
			c.store("disk", volume)
		}, "below data (relation)"},
		"Volume by a person": {"a person makes it in advance", func(c *cluster) {
			claimed(c)
			c.store("disk", volume, func(st *state) { st.Managers = nil }, by("kubectl-create"))
		}, "no cause"},
		"Volume of a bound claim": {"the claim had its volume", func(c *cluster) {
			claimed(c)
			c.store("data", converged).noted()
			c.wait(time.Minute)
			c.store("disk", volume)
		}, "no cause"},
		"Removed volume": {"it goes with its claim", func(c *cluster) {
			claimed(c)
			c.store("disk", volume).below("data")
			c.gone("data").begins()
			c.gone("disk")
		}, "below data (relation)"},
		"Removed alone": {"the claim stays", func(c *cluster) {
			claimed(c)
			c.store("disk", volume).below("data")
			c.gone("disk")
		}, "no cause"},
		"Removed by a person": {"the audit log names kubectl", func(c *cluster) {
			claimed(c)
			c.store("disk", volume).below("data")
			c.gone("data").begins()
			c.audited(c.gone("disk"), "alice", "kubectl/v1.36")
		}, "no cause"},
	})
}

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
	testRule(t, byIssuance, map[string]ruleCase{
		"Secret": {"the Certificate is under way", func(c *cluster) {
			c.store("cert", certificate).begins()
			c.store("tls", secret)
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
		"By a patch": {"a person asks for the issuance", func(c *cluster) {
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
