// SPDX-License-Identifier: Apache-2.0

package cause

import (
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kube-lifeline/lifeline/app/internal/change"
	"github.com/kube-lifeline/lifeline/app/internal/kind"
	"github.com/kube-lifeline/lifeline/app/internal/object"
)

// TestOpenOwner: the open reconciliation of the controller owner.
func TestOpenOwner(t *testing.T) {
	testParent(t, OpenOwner, map[string]ruleCase{
		"Open":      {"the owner is under way", func(c *cluster) { web(c) }, "create web"},
		"Converged": {"the owner has ended", func(c *cluster) { settledWeb(c); c.store("web-1", wants(3)) }, "none"},
		"No owner":  {"nothing is above it", func(c *cluster) { c.store("web", deployment(1)) }, "none"},
	})
}

// TestOwnershipCause: the deletion of an owner, or the reconciliation of the adopting owner.
func TestOwnershipCause(t *testing.T) {
	orphaned := func(st *state) { st.Owners = nil }
	testParent(t, OwnershipCause, map[string]ruleCase{
		"Orphaned": {"the owner is deleted", func(c *cluster) {
			settledWeb(c)
			c.store("web", deleting).begins()
			c.store("web-1", orphaned)
		}, "delete web"},
		"Orphaned elsewhere": {"the deleted owner is in another namespace", func(c *cluster) {
			c.store("web", deployment(1), elsewhere).begins()
			c.store("web-1", of("apps", "ReplicaSet"), wants(1), plainlyOwned("apps", "Deployment", "web")).begins()
			c.store("web", deleting).begins()
			c.store("web-1", orphaned)
		}, "none"},
		"Released": {"the owner stays", func(c *cluster) {
			settledWeb(c)
			c.store("web-1", orphaned)
		}, "none"},
		"Adopted": {"the new owner is under way", func(c *cluster) {
			c.store("web", deployment(1)).begins()
			c.store("web-1", of("apps", "ReplicaSet"), wants(1)).begins()
			c.store("web-1", owned("apps", "Deployment", "web"))
		}, "create web"},
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

// TestDrain: the cordon by a user that was in effect at a time.
func TestDrain(t *testing.T) {
	cordoned := func(c *cluster) {
		c.store("node-1", aNode, converged).begins()
		c.audited(c.store("node-1", by("kubectl-cordon"), leaf(pathUnschedulable)).instant(), "alice", "kubectl/v1.36")
	}
	uncordoned := func(c *cluster) {
		uncordon := all(by("kubectl-uncordon"), without(pathUnschedulable))
		c.audited(c.store("node-1", uncordon).instant(), "alice", "kubectl/v1.36")
	}
	for name, tc := range map[string]struct {
		reason string
		tell   func(*cluster)
		user   string
		after  time.Duration
		want   bool
	}{
		"Same user":    {"the user drains", cordoned, "alice", time.Minute, true},
		"Another user": {"somebody else evicts", cordoned, "bob", time.Minute, false},
		"Unknown user": {"nothing names the user", cordoned, "", time.Minute, false},
		"Before":       {"the cordon came later", cordoned, "alice", -time.Minute, false},
		"Uncordoned": {"the cordon had ended", func(c *cluster) {
			cordoned(c)
			uncordoned(c)
		}, "alice", time.Minute, false},
		"Labelled since": {"another field changed since", func(c *cluster) {
			cordoned(c)
			c.store("node-1", by("kubectl-label"), leaf("metadata.labels[x]")).instant()
		}, "alice", time.Minute, true},
		"Uncordoned later": {"the cordon was in effect then", func(c *cluster) {
			cordoned(c)
			c.wait(time.Hour)
			uncordoned(c)
		}, "alice", time.Minute, true},
	} {
		t.Run(name, func(t *testing.T) {
			c := newCluster()
			tc.tell(c)
			c.store("other", pod)
			c.set()
			if r := Drain(c.scene, "node-1", tc.user, epoch.Add(tc.after)); (r != nil) != tc.want {
				t.Errorf("%s: got %+v, want one %t", tc.reason, r, tc.want)
			}
		})
	}
}

// TestMerges: the controller of EndpointSlices removes a slice whose endpoints fit into the others.
func TestMerges(t *testing.T) {
	slice := all(of("discovery.k8s.io", "EndpointSlice"), owned("", "Service", "shop"), by(change.Manager))
	service := func(c *cluster) {
		c.store("shop", of("", "Service"), by("kubectl-create"), leaf("spec.selector[app]"), fresh, converged).begins()
	}
	testReport(t, Merges, map[string]ruleCase{
		"Another slice": {"the others have room", func(c *cluster) {
			service(c)
			c.store("shop-1", slice)
			c.store("shop-2", slice)
			c.gone("shop-2")
		}, "yes"},
		"Last slice": {"the controller never removes the last one", func(c *cluster) {
			service(c)
			c.store("shop-1", slice)
			c.gone("shop-1")
		}, "no"},
		"After the Service": {"the Service is deleted", func(c *cluster) {
			service(c)
			c.store("shop-1", slice)
			c.store("shop-2", slice)
			c.gone("shop").begins()
			c.gone("shop-2")
		}, "no"},
		"Person": {"a person removes it", func(c *cluster) {
			service(c)
			c.store("shop-1", slice)
			c.store("shop-2", slice)
			c.audited(c.gone("shop-2"), "alice", "kubectl/v1.36")
		}, "no"},
	})
	testReport(t, BecauseOfService, map[string]ruleCase{
		"First": {"the Service had none", func(c *cluster) {
			service(c)
			c.wait(time.Minute)
			c.store("shop-1", slice)
		}, "yes"},
		"Further": {"its endpoints need another one", func(c *cluster) {
			service(c)
			c.store("shop-1", slice)
			c.wait(time.Minute)
			c.store("shop-2", slice)
		}, "no"},
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
	testReport(t, Relates, map[string]ruleCase{
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

// TestCensus: the number of living dependants, at each resourceVersion.
func TestCensus(t *testing.T) {
	c := newCluster()
	made := podOf("apps", "ReplicaSet", "web-1")
	c.store("a", made)                                                 // 101
	c.store("b", made)                                                 // 102
	c.store("b", failed)                                               // 103
	c.store("c", made)                                                 // 104
	c.store("a", deleting)                                             // 105
	c.gone("a")                                                        // 106
	c.gone("c")                                                        // 107
	c.store("d", made, elsewhere)                                      // 108
	c.store("e", made, func(st *state) { st.Pod.Phase = "Succeeded" }) // 109
	c.set()
	got := map[uint64]int{}
	for rv := uint64(100); rv < 111; rv++ {
		got[rv] = CensusOf(c.scene, "uid-web-1").Before(rv)
	}
	want := map[uint64]int{
		100: 0, 101: 0, 102: 1, 103: 2, 104: 1, 105: 2, 106: 1, 107: 1, 108: 0, 109: 1, 110: 1,
	}
	if diff := gocmp.Diff(want, got); diff != "" {
		t.Errorf("living dependants before each resourceVersion (-want +got):\n%s", diff)
	}
}

// TestSlotsOfPods: a new Pod gets the lowest free slot. Pods of the start are in order of creation.
func TestSlotsOfPods(t *testing.T) {
	c := newCluster()
	made := podOf("batch", "Job", "sums")
	old := func(d time.Duration) trait { return func(st *state) { st.Created = epoch.Add(-d) } }
	c.found("younger", made, old(time.Minute))
	c.found("older", made, old(time.Hour))
	c.store("third", made)
	c.gone("older").begins()
	c.store("again", made)
	c.store("fourth", made)
	c.set()
	want := map[types.UID]int{"uid-older": 1, "uid-younger": 2, "uid-third": 3, "uid-again": 1, "uid-fourth": 4}
	if diff := gocmp.Diff(want, slots(c.scene, "uid-sums")); diff != "" {
		t.Errorf("slots (-want +got):\n%s", diff)
	}
}
