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
	testRule(t, byRelation, map[string]ruleCase{
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

// TestNamespaceDefault: the default objects of a Namespace belong to its creation.
func TestNamespaceDefault(t *testing.T) {
	namespace := func(c *cluster) {
		c.store("default", of("", "Namespace"), clusterScoped, by("kubectl-create"), converged).begins()
	}
	testParent(t, NamespaceDefault, map[string]ruleCase{
		"Default": {"every Namespace has one", func(c *cluster) {
			namespace(c)
			c.store("account", named("default"), of("", "ServiceAccount"))
		}, "create default"},
		"By the manager": {"kube-controller-manager makes others", func(c *cluster) {
			namespace(c)
			c.store("kube-root-ca.crt", of("", "ConfigMap"), by(theManager))
		}, "create default"},
		"Update by the manager": {"only a creation is a default", func(c *cluster) {
			namespace(c)
			c.store("kube-root-ca.crt", of("", "ConfigMap"), by("kubectl-create"), leaf("data")).instant()
			c.store("kube-root-ca.crt", by(theManager), leaf("data"))
		}, "none"},
		"Ending Namespace": {"a deletion makes nothing", func(c *cluster) {
			namespace(c)
			c.store("default", deleting).begins()
			c.store("kube-root-ca.crt", of("", "ConfigMap"), by(theManager))
		}, "none"},
		"By a person": {"a person makes it", func(c *cluster) {
			namespace(c)
			c.store("settings", of("", "ConfigMap"), by("kubectl-create"))
		}, "none"},
		"Later": {"the trace of the Namespace has ended", func(c *cluster) {
			namespace(c)
			c.wait(time.Minute)
			c.store("kube-root-ca.crt", of("", "ConfigMap"), by(theManager))
		}, "none"},
	})
}

// TestRelates: a controller's work waits for the named object until a later observation of that.
func TestRelates(t *testing.T) {
	key := object.DeclaredName("claims", "key")
	claims := kind.ClaimsOf("default", "data", "db")
	// seen are an object, and its observation after the write in question.
	asked := func(name string, traits ...trait) func(*cluster) {
		return func(c *cluster) { c.store(name, traits...); c.ask() }
	}
	later := func(first func(*cluster), name string, traits ...trait) func(*cluster) {
		return func(c *cluster) {
			c.store(name, traits...).begins()
			first(c)
			c.store(name, leaf("metadata.labels[x]"))
		}
	}
	claim := asked("data-db-0", of("", "PersistentVolumeClaim"), by(theManager))
	volume := asked("disk", of("", "PersistentVolume"), clusterScoped, by("csi"),
		refers(object.Claim, nameOf("", "PersistentVolumeClaim", "data")))
	agent := asked("agent-x", podOf("apps", "DaemonSet", "agent"), refers(object.Placed, nodeName("node-1")))
	effect := asked("bucket", of("example.com", "Bucket"), by("bucket-controller"), refers(object.Effect, key))
	applied := asked("web", of("apps", "Deployment"), by("kustomize-controller"),
		appliedByApp)
	secret := asked("tls", of("", "Secret"), by("cert-manager"),
		refers(object.Issued, kind.CertificateName("default", "cert")))
	certificate := of("cert-manager.io", "Certificate")
	kustomization := of("kustomize.toolkit.fluxcd.io", "Kustomization")
	setOfClaim := all(statefulSet(1), refers(object.Claim, claims))
	causeOfEffect := all(custom("Claim"), refers(object.Cause, key))
	workload := asked("work", of("kueue.x-k8s.io", "Workload"), by("kueue"), plainlyOwned("batch", "Job", "sums"))
	testReport(t, AwaitsRelated, map[string]ruleCase{
		"Claim":        {"its set is unknown", claim, "yes"},
		"Claim, later": {"its set was observed later", later(claim, "db", setOfClaim), "no"},
		"Claim, earlier": {"its set was observed only before", func(c *cluster) {
			c.store("db", setOfClaim).begins()
			claim(c)
		}, "yes"},
		"Claim of a removed set": {"its set was removed", func(c *cluster) {
			c.store("db", setOfClaim).begins()
			claim(c)
			c.gone("db")
		}, "no"},
		"Claim by a person": {
			"a person waits for no set", asked("data-db-0", pendingClaim), "no",
		},
		"Volume by a person": {
			"a person waits for no claim",
			asked("disk", of("", "PersistentVolume"), clusterScoped, by("kubectl-create"),
				refers(object.Claim, nameOf("", "PersistentVolumeClaim", "data"))), "no",
		},
		"Updated volume": {"only a creation waits", func(c *cluster) {
			volume(c)
			c.store("disk", by("csi"), leaf("spec.x"))
			c.ask()
		}, "no"},
		"Volume":        {"its claim is unknown", volume, "yes"},
		"Volume, later": {"its claim was observed later", later(volume, "data", pendingClaim), "no"},
		"Node":          {"its Node is unknown", agent, "yes"},
		"Node of an updated Pod": {"only a creation waits", func(c *cluster) {
			agent(c)
			c.store("agent-x", leaf("spec.x"))
			c.ask()
		}, "no"},
		"Node, later":     {"its Node was observed", later(agent, "node-1", of("", "Node"), clusterScoped), "no"},
		"Effect":          {"its cause is unknown", effect, "yes"},
		"Effect, later":   {"its cause was observed", later(effect, "claim", causeOfEffect), "no"},
		"Applied":         {"its revision is unknown", applied, "yes"},
		"Applied, later":  {"its revision was observed later", later(applied, "app", kustomization), "no"},
		"Secret":          {"its Certificate is unknown", secret, "yes"},
		"Secret, later":   {"its Certificate was observed later", later(secret, "cert", certificate), "no"},
		"Workload":        {"its plain owner is unknown", workload, "yes"},
		"Workload, later": {"its plain owner was observed later", later(workload, "sums", job(1)), "no"},
		"Effect by a person": {
			"a person has no cause",
			asked("bucket", of("example.com", "Bucket"), by("kubectl"), refers(object.Effect, key)), "no",
		},
		"Updated effect": {"only a creation waits", func(c *cluster) {
			effect(c)
			c.store("bucket", by("bucket-controller"), leaf("spec.size"))
			c.ask()
		}, "no"},
		"Revision": {"its publication is unknown", func(c *cluster) {
			flux(c)
			c.store("app", revision("main@1", "pending"))
		}, "yes"},
		"Published revision": {"its publication was observed", func(c *cluster) {
			c.store("src", of("source.toolkit.fluxcd.io", "GitRepository"), revision("main@1", "published"))
			flux(c)
			c.store("app", revision("main@1", "pending"))
		}, "no"},
		"Publication": {"a source waits for nothing", func(c *cluster) {
			c.store("src", of("source.toolkit.fluxcd.io", "GitRepository"), revision("main@0", "published"))
			c.store("src", revision("main@1", "published"))
		}, "no"},
		"Stored release": {
			"a release waits for no other one", asked("sh.helm.release.v1.shop.v1", of("", "Secret"), by("helm"),
				refers(object.Applied, kind.ReleaseName("default", "shop"))), "no",
		},
		"Applied by a person": {
			"a person waits for no revision", asked("web", of("apps", "Deployment"), by("kubectl-edit"),
				appliedByApp), "no",
		},
		"Adopted": {"the new owner is unknown", func(c *cluster) {
			c.store("notes", of("", "Secret"), by("kubectl-create"))
			c.store("notes", by("head-controller"), ofHead)
		}, "yes"},
		"Adopted, later": {"the new owner was observed later", func(c *cluster) {
			c.store("head", custom("Head"), converged).begins()
			c.store("notes", of("", "Secret"), by("kubectl-create"))
			c.store("notes", by("head-controller"), ofHead)
			c.ask()
			c.store("head", leaf("metadata.labels[x]"))
		}, "no"},
		"For a replacement": {"the replacement has not adopted the object", func(c *cluster) {
			c.store("sums", job(1)).begins()
			c.store("sums-x", podOf("batch", "Job", "sums")).below("sums")
			c.gone("sums-x").begins()
			workload(c)
			c.store("sums", leaf("metadata.labels[x]"))
		}, "yes"},
		"Scaling": {"the autoscaler is unknown", func(c *cluster) {
			settledWeb(c)
			c.store("web", by(theManager), wants(3))
		}, "yes"},
		"Scaling, later": {"the autoscaler was observed later", func(c *cluster) {
			autoscaled(c)
			c.store("web", by(theManager), wants(3))
			c.ask()
			c.store("scaler", active)
		}, "no"},
		"Person": {"a person waits for nothing", asked("web", deployment(1)), "no"},
		"Deletion": {"a deletion waits for nothing", func(c *cluster) {
			c.store("data-db-0", of("", "PersistentVolumeClaim"), by(theManager)).begins()
			c.gone("data-db-0")
		}, "no"},
	})
}
