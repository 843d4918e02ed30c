// SPDX-License-Identifier: Apache-2.0

package cause

import (
	"testing"
	"time"
)

// TestByPlainOwner: a component creates an object for an owner that is not the object's controller.
func TestByPlainOwner(t *testing.T) {
	workload := all(aWorkload, by("kueue"), plainlyOwned("batch", "Job", "sums"))
	settled := func(c *cluster) {
		c.store("sums", job(1)).begins()
		c.store("sums", converged).noted()
		c.wait(time.Minute)
	}
	const clusterAPI = "cluster.x-k8s.io"
	machine := all(of(clusterAPI, "Machine"), by("manager"), owned(clusterAPI, "MachineSet", "set"))
	// infrastructure stores that of a Machine, after the convergence of the MachineSet.
	infrastructure := func(c *cluster) *fact {
		c.store("set", of(clusterAPI, "MachineSet"), by("kubectl-create"), leaf("spec.replicas"), fresh).begins()
		c.store("set", converged).noted()
		c.wait(time.Minute)
		return c.store("infra", of("infra.example.com", "Host"), by("manager"),
			plainlyOwned(clusterAPI, "MachineSet", "set"))
	}
	testRule(t, byPlainOwner, map[string]ruleCase{
		"Open owner": {"the Job is under way", func(c *cluster) {
			c.store("sums", job(1)).begins()
			c.store("work", workload)
		}, "below sums (owner)"},
		"Converged owner": {"the object has a link to the last change", func(c *cluster) {
			settled(c)
			c.store("work", workload)
		}, "no cause ~owner sums"},
		"By a person": {"a person gives the owner a further object", func(c *cluster) {
			c.store("sums", job(1)).begins()
			c.store("notes", of("", "ConfigMap"), by("kubectl-create"), plainlyOwned("batch", "Job", "sums"))
		}, "no cause ~owner sums"},
		"Another client": {"a person does not act for an owner", func(c *cluster) {
			c.store("sums", job(1)).begins()
			c.store("notes", of("", "ConfigMap"), by("kubectl-apply"), plainlyOwned("batch", "Job", "sums"))
		}, "no cause ~owner sums"},
		"Controller by a person": {"no controller is kubectl", func(c *cluster) {
			c.store("sums", job(1)).begins()
			c.store("notes", of("", "ConfigMap"), by("kubectl-create"), owned("batch", "Job", "sums"))
		}, "no cause ~owner sums"},
		"Controller by its controller": {"the controller owner has a rule of its own", func(c *cluster) {
			c.store("sums", job(1)).begins()
			c.store("notes", of("", "ConfigMap"), by("kube-controller-manager"), owned("batch", "Job", "sums"))
		}, "no cause"},
		"Update by a person": {"only a creation names owners", func(c *cluster) {
			c.store("sums", job(1)).begins()
			notes := all(of("", "ConfigMap"), by("kubectl-create"), leaf("metadata.labels[x]"))
			c.store("notes", notes, plainlyOwned("batch", "Job", "sums")).begins()
			c.store("notes", by("kubectl-edit"), leaf("metadata.labels[x]"))
		}, "no cause"},
		"Many owners": {"the links are bounded", func(c *cluster) {
			c.store("sums", job(1)).begins()
			c.store("notes", of("", "ConfigMap"), by("kubectl-create"), func(st *state) {
				for range maxLinks + 1 {
					plainlyOwned("batch", "Job", "sums")(st)
				}
			})
		}, "no cause ~owner sums ~owner sums ~owner sums ~owner sums"},
		"Most owners": {"each has a link", func(c *cluster) {
			c.store("sums", job(1)).begins()
			c.store("notes", of("", "ConfigMap"), by("kubectl-create"), func(st *state) {
				for range maxLinks {
					plainlyOwned("batch", "Job", "sums")(st)
				}
			})
		}, "no cause ~owner sums ~owner sums ~owner sums ~owner sums"},
		"Impossible owners": {"one is unknown, and one is in another namespace", func(c *cluster) {
			c.store("sums", job(1), elsewhere).begins()
			c.store("notes", of("", "ConfigMap"), by("kubectl-create"), plainlyOwned("batch", "Job", "sums"),
				plainlyOwned("batch", "Job", "unknown"))
		}, "no cause"},
		"Controller by another component": {"the controller of the Job did not make it", func(c *cluster) {
			c.store("sums", job(1)).begins()
			c.audited(c.store("work", aWorkload, by("kueue"), owned("batch", "Job", "sums")), kueueUser, "kueue/v1")
		}, "below sums (owner)"},
		"Two owners": {"either owner is possible", func(c *cluster) {
			c.store("sums", job(1)).begins()
			c.store("web", deployment(1)).begins()
			c.store("work", workload, plainlyOwned("apps", "Deployment", "web"))
		}, "no cause"},
		"Two owners by a person": {"each has a link", func(c *cluster) {
			c.store("sums", job(1)).begins()
			c.store("web", deployment(1)).begins()
			c.store("notes", of("", "ConfigMap"), by("kubectl-create"), plainlyOwned("batch", "Job", "sums"),
				plainlyOwned("apps", "Deployment", "web"))
		}, "no cause ~owner web ~owner sums"},
		"Unknown owner": {"nothing was observed of it", func(c *cluster) {
			c.store("work", workload)
		}, "no cause"},
		"An update": {"only a creation is for an owner", func(c *cluster) {
			c.store("sums", job(1)).begins()
			c.store("work", workload).below("sums")
			c.store("work", by("kueue"), leaf("spec.active"))
		}, "no cause"},
		"Author of the owner": {"the author wrote several objects, one after another", func(c *cluster) {
			c.store("sums", job(1), func(st *state) { st.Managers = nil }, by("kueue")).begins()
			c.store("work", workload)
		}, "no cause ~owner sums"},
		"Adopted": {"the Machine made with it becomes its controller", func(c *cluster) {
			infra := infrastructure(c)
			c.store("machine", machine).begins()
			c.store("infra", func(st *state) { st.Owners = nil }, owned(clusterAPI, "Machine", "machine"))
			c.askLast(infra)
		}, "below machine (owner)"},
		"Adopted by another author": {"another component made the Machine", func(c *cluster) {
			infra := infrastructure(c)
			c.store("machine", machine, func(st *state) { st.Managers = nil }, by("other")).begins()
			c.store("infra", func(st *state) { st.Owners = nil }, owned(clusterAPI, "Machine", "machine"))
			c.askLast(infra)
		}, "no cause ~owner set"},
		"Adopted under another owner": {"the Machine has another owner", func(c *cluster) {
			infra := infrastructure(c)
			made := all(of(clusterAPI, "Machine"), by("manager"))
			c.store("machine", made, owned(clusterAPI, "MachineSet", "other")).begins()
			c.store("infra", func(st *state) { st.Owners = nil }, owned(clusterAPI, "Machine", "machine"))
			c.askLast(infra)
		}, "no cause ~owner set"},
		"Adopted much later": {"the Machine was not made with it", func(c *cluster) {
			infra := infrastructure(c)
			c.wait(time.Minute)
			c.store("machine", machine).begins()
			c.store("infra", func(st *state) { st.Owners = nil }, owned(clusterAPI, "Machine", "machine"))
			c.askLast(infra)
		}, "no cause ~owner set"},
	})
}

// TestAdopter: the open reconciliation of an owner that a component adds.
func TestAdopter(t *testing.T) {
	plain := all(of("", "Secret"), by("kubectl-create"))
	open := func(c *cluster) {
		c.store("head", custom("Head"), pending).begins()
		c.store("notes", plain)
	}
	testParent(t, Adopter, map[string]ruleCase{
		"Component": {"the owner is under way", func(c *cluster) {
			open(c)
			c.store("notes", by("head-controller"), leaf("metadata.labels[x]"), ofHead)
		}, "create head"},
		"Person": {"a person adds the owner", func(c *cluster) {
			open(c)
			c.store("notes", by("kubectl-edit"), leaf("metadata.labels[x]"), ofHead)
		}, "none"},
		"Known owner": {"the owner was there before", func(c *cluster) {
			open(c)
			c.store("notes", by("kubectl-edit"), ofHead)
			c.store("notes", by("head-controller"), leaf("metadata.labels[x]"))
		}, "none"},
		"Converged": {"the owner has ended", func(c *cluster) {
			open(c)
			c.store("head", converged).noted()
			c.wait(time.Minute)
			c.store("notes", by("head-controller"), leaf("metadata.labels[x]"), ofHead)
		}, "none"},
	})
}
