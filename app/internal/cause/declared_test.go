// SPDX-License-Identifier: Apache-2.0

package cause

import (
	"testing"
	"time"

	"github.com/kube-lifeline/lifeline/app/internal/object"
)

// TestByDeclared: a component's write belongs to the open change of the object that the configuration relates.
func TestByDeclared(t *testing.T) {
	key := object.DeclaredName("claims", "key")
	claim := func(c *cluster, name string) {
		c.store(name, custom("Claim"), refers(object.Cause, key), pending).begins()
	}
	bucket := all(of("example.com", "Bucket"), by("bucket-controller"), leaf("spec.size"), fresh)
	effect := all(bucket, refers(object.Effect, key))
	testRule(t, byDeclared, map[string]ruleCase{
		"Open": {"the cause is under way", func(c *cluster) {
			claim(c, "claim")
			c.store("bucket", effect)
		}, "below claim (relation)"},
		"Two open": {"the newest is the parent", func(c *cluster) {
			claim(c, "claim")
			claim(c, "newer")
			c.store("bucket", effect)
		}, "below newer (relation) ~relation claim"},
		"Converged": {"the last change is a link", func(c *cluster) {
			claim(c, "claim")
			c.store("claim", converged).noted()
			c.wait(time.Minute)
			c.store("bucket", effect)
		}, "no cause ~relation claim"},
		"Quiet time": {"only the quiet time keeps the cause open", func(c *cluster) {
			c.store("claim", custom("Claim"), refers(object.Cause, key), converged, func(st *state) {
				st.ObservedGeneration = -1
			}).begins()
			c.store("bucket", effect)
		}, "below claim (time)"},
		"By a person": {"a person made the effect", func(c *cluster) {
			claim(c, "claim")
			c.store("bucket", of("example.com", "Bucket"), by("kubectl-create"), refers(object.Effect, key))
		}, "no cause"},
		"Another key": {"the keys differ", func(c *cluster) {
			claim(c, "claim")
			c.store("bucket", of("example.com", "Bucket"), by("bucket-controller"),
				refers(object.Effect, object.DeclaredName("claims", "other")))
		}, "no cause"},
		"Same author": {"a program may write several related objects", func(c *cluster) {
			c.store("claim", of("example.com", "Claim"), by("bucket-controller"), refers(object.Cause, key),
				pending).begins()
			c.store("bucket", effect)
		}, "no cause ~relation claim"},
		"Before": {"the cause came later", func(c *cluster) {
			c.store("bucket", effect)
			c.ask()
			claim(c, "claim")
		}, "no cause"},
		"Removed with it": {"both are removed", func(c *cluster) {
			claim(c, "claim")
			c.store("bucket", effect).below("claim")
			c.store("claim", deleting).begins()
			c.gone("bucket")
		}, "below claim (relation)"},
		"Removed after it": {"the trace of the removed cause is open", func(c *cluster) {
			claim(c, "claim")
			c.store("bucket", effect).below("claim")
			c.gone("claim").begins()
			c.gone("bucket")
		}, "below claim (relation)"},
		"Removed long after it": {"the trace of the removed cause has ended", func(c *cluster) {
			claim(c, "claim")
			c.store("bucket", effect).below("claim")
			c.gone("claim").begins()
			c.wait(time.Minute)
			c.gone("bucket")
		}, "no cause ~relation claim"},
		"Made after it": {"a removed cause makes nothing", func(c *cluster) {
			claim(c, "claim")
			c.gone("claim").begins()
			c.store("bucket", effect)
		}, "no cause ~relation claim"},
		"Same author below": {"the cause is an effect itself", func(c *cluster) {
			claim(c, "top")
			c.store("top", func(st *state) { st.Relations = nil })
			made := all(of("example.com", "Claim"), by("bucket-controller"), pending)
			c.store("claim", made, refers(object.Cause, key)).below("top")
			c.store("bucket", effect)
		}, "below claim (relation)"},
		"Unknown author": {"nothing names the author", func(c *cluster) {
			claim(c, "claim")
			c.store("bucket", of("example.com", "Bucket"), refers(object.Effect, key))
		}, "no cause"},
		"Audited kubectl": {"a person acts as a user of the cluster", func(c *cluster) {
			claim(c, "claim")
			c.audited(c.store("bucket", effect), "system:admin", "kubectl/v1.36")
		}, "no cause"},
		"No user in the log": {"the field manager decides", func(c *cluster) {
			claim(c, "claim")
			c.audited(c.store("bucket", effect), "", "kubectl/v1.36")
		}, "below claim (relation)"},
		"Removed alone": {"an unknown author removed it", func(c *cluster) {
			claim(c, "claim")
			c.store("bucket", effect).below("claim")
			c.gone("bucket")
		}, "no cause ~relation claim"},
		"Removed by a component": {"the audit log names a component", func(c *cluster) {
			claim(c, "claim")
			c.store("bucket", effect).below("claim")
			c.audited(c.gone("bucket"), "system:serviceaccount:buckets:controller", "bucket-controller/v1")
		}, "below claim (relation)"},
		"Scaling": {"the autoscaler is nearer", func(c *cluster) {
			autoscaled(c)
			c.store("web", refers(object.Effect, key))
			claim(c, "claim")
			c.store("web", by(theManager), wants(3))
		}, "no cause"},
		"Audited person": {"the audit log names a person", func(c *cluster) {
			claim(c, "claim")
			c.audited(c.store("bucket", effect), "alice", "bucket-controller/v1")
		}, "no cause"},
	})
}

// TestByEvent: an Event by the author of a write relates its object to another one.
func TestByEvent(t *testing.T) {
	claim := func(c *cluster, name string) {
		c.store(name, custom("Claim"), pending).begins()
	}
	bucket := all(of("example.com", "Bucket"), by("bucket-controller"), leaf("spec.size"), fresh)
	// told tells of the claim, its bucket, and an Event by the component.
	told := func(c *cluster, component string) {
		claim(c, "claim")
		c.store("bucket", bucket)
		c.ask()
		c.event(component, "claim", "Made", "made a bucket", "bucket")
	}
	testRule(t, byEvent, map[string]ruleCase{
		"About the cause": {"it relates the written object", func(c *cluster) {
			told(c, "bucket-controller")
			c.event("bucket-controller", "claim", "Noted", "without a related object", "")
		}, "below claim (event)"},
		"Cluster-scoped": {"the other object is in no namespace", func(c *cluster) {
			c.store("claim", custom("Claim"), clusterScoped, pending).begins()
			c.store("bucket", bucket)
			c.ask()
			c.event("bucket-controller", "bucket", "Made", "made for a claim", "claim")
		}, "below claim (event)"},
		"Removal": {"the controller of the cause reports the removal by an unknown author", func(c *cluster) {
			claim(c, "claim")
			c.store("bucket", bucket).below("claim")
			c.store("claim", deleting).begins()
			c.gone("bucket")
			c.ask()
			c.event("claim-controller", "claim", "Removed", "removed a bucket", "bucket")
		}, "below claim (event)"},
		"Audited reporter": {"the log names the controller", func(c *cluster) {
			claim(c, "claim")
			c.audited(c.store("bucket", of("example.com", "Bucket"), by(theManager)),
				ControllerAccounts+"bucket-controller", managerAgent)
			c.ask()
			c.event("bucket-controller", "claim", "Made", "made a bucket", "bucket")
		}, "below claim (event)"},
		"Forged reporter": {"an unauthenticated log names nobody", func(c *cluster) {
			claim(c, "claim")
			c.audited(c.store("bucket", of("example.com", "Bucket"), by(theManager)),
				ControllerAccounts+"bucket-controller", managerAgent, func(q *write) { q.Unauthenticated = true })
			c.ask()
			c.event("bucket-controller", "claim", "Made", "made a bucket", "bucket")
		}, "no cause"},
		"About the object": {"it relates the cause", func(c *cluster) {
			claim(c, "claim")
			c.store("bucket", bucket)
			c.ask()
			c.event("bucket-controller", "bucket", "Made", "made for a claim", "claim")
		}, "below claim (event)"},
		"Another reporter": {"the author of the write did not report", func(c *cluster) {
			told(c, "other")
		}, "no cause"},
		"By a person": {"only a component's write has a cause by Events", func(c *cluster) {
			claim(c, "claim")
			c.store("bucket", of("example.com", "Bucket"), by("kubectl-create"))
			c.ask()
			c.event("kubectl", "claim", "Made", "made a bucket", "bucket")
		}, "no cause"},
		"Nothing related": {"the Event relates no object", func(c *cluster) {
			claim(c, "claim")
			c.store("bucket", bucket)
			c.ask()
			c.event("bucket-controller", "claim", "Made", "made a bucket", "")
		}, "no cause"},
		"Another namespace": {"the author of an Event could write any UID", func(c *cluster) {
			c.store("claim", custom("Claim"), elsewhere, pending).begins()
			c.store("bucket", bucket)
			c.ask()
			c.event("bucket-controller", "bucket", "Made", "made for a claim", "claim")
		}, "no cause"},
		"Before the change": {"the Event is older than the change", func(c *cluster) {
			claim(c, "claim")
			c.store("bucket", bucket).below("claim")
			c.event("bucket-controller", "claim", "Made", "made a bucket", "bucket")
			c.store("claim", converged).noted()
			c.wait(time.Minute)
			c.store("claim", by("kubectl-edit"), leaf("spec.size")).begins()
			c.store("bucket", by("bucket-controller"), leaf("spec.size"))
		}, "no cause"},
		"Ended": {"an Event after the write gives a link", func(c *cluster) {
			claim(c, "claim")
			c.store("claim", converged).noted()
			c.wait(time.Minute)
			c.store("bucket", bucket)
			c.ask()
			c.event("bucket-controller", "claim", "Made", "made a bucket", "bucket")
		}, "no cause ~event claim"},
		"Two open": {"the newest is the parent", func(c *cluster) {
			claim(c, "claim")
			claim(c, "newer")
			c.store("bucket", bucket)
			c.ask()
			c.event("bucket-controller", "claim", "Made", "made a bucket", "bucket")
			c.event("bucket-controller", "newer", "Made", "made a bucket", "bucket")
		}, "below newer (event) ~event claim"},
		"Below itself": {"the other object is an effect of this one", func(c *cluster) {
			c.store("bucket", bucket).begins()
			c.store("claim", custom("Claim"), pending).below("bucket")
			c.store("bucket", by("bucket-controller"), leaf("spec.size"))
			c.ask()
			c.event("bucket-controller", "claim", "Made", "made a bucket", "bucket")
		}, "no cause"},
		"Handed out": {"the trace of the write was handed out before", func(c *cluster) {
			told(c, "bucket-controller")
			c.takenOwn = true
		}, "no cause"},
		"Controller manager": {"its controllers share one field manager", func(c *cluster) {
			claim(c, "claim")
			c.store("bucket", func(st *state) { st.Managers = nil }, of("example.com", "Bucket"), by(theManager))
			c.ask()
			c.event("some-controller", "claim", "Made", "made a bucket", "bucket", theManager)
		}, "no cause"},
		"By field manager": {"the field manager of the Event identifies its reporter", func(c *cluster) {
			claim(c, "claim")
			c.store("bucket", bucket)
			c.ask()
			c.event("buckets", "claim", "Made", "made a bucket", "bucket", "bucket-controller")
		}, "below claim (event)"},
	})
}
