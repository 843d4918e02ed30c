// SPDX-License-Identifier: Apache-2.0

package cause

import (
	"testing"
	"time"

	"github.com/kube-lifeline/lifeline/app/internal/kind"
	"github.com/kube-lifeline/lifeline/app/internal/object"
)

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
	testRule(t, byRelation, map[string]ruleCase{
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
		"Unnumbered claim": {"its name has no ordinal", func(c *cluster) {
			set(c)
			c.store("data-db-x", claim)
		}, "no cause"},
		"Claim of a found set": {"the change of the set is unknown", func(c *cluster) {
			c.found("db", statefulSet(2), refers(object.Claim, kind.ClaimsOf("default", "data", "db")), converged)
			c.store("data-db-0", claim)
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

// TestBinding: a volume is bound to the open claim.
func TestBinding(t *testing.T) {
	disk := all(of("", "PersistentVolume"), clusterScoped, by("csi"), leaf("spec.capacity"), fresh)
	claim := refers(object.Claim, nameOf("", "PersistentVolumeClaim", "data"))
	claimed := func(c *cluster) {
		c.store("data", pendingClaim).begins()
		c.store("disk", disk)
	}
	testParent(t, Binding, map[string]ruleCase{
		"Bound": {"the volume gets its claim", func(c *cluster) {
			claimed(c)
			c.store("disk", claim)
		}, "create data"},
		"Bound before": {"its claim is the same", func(c *cluster) {
			c.store("data", pendingClaim).begins()
			c.store("disk", disk, claim)
			c.store("disk", func(st *state) { st.Finalizers = []string{"x"} })
		}, "none"},
		"Ended": {"the claim was bound before", func(c *cluster) {
			claimed(c)
			c.store("data", converged).noted()
			c.wait(time.Minute)
			c.store("disk", claim)
		}, "none"},
	})
}
