// SPDX-License-Identifier: Apache-2.0

package cause

import (
	"testing"
	"time"
)

// TestByEvent: an Event by the author of a write relates its object to another one.
func TestByEvent(t *testing.T) {
	claim := func(c *cluster, name string) {
		c.store(name, custom("Claim"), pending).begins()
	}
	bucket := all(of("example.com", "Bucket"), by("bucket-controller"), leaf("spec.size"), fresh)
	// report stores the claim, its bucket, and an Event by the component.
	report := func(c *cluster, component string) {
		claim(c, "claim")
		c.store("bucket", bucket)
		c.ask()
		c.event(component, "claim", "Made", "made a bucket", "bucket")
	}
	testRule(t, byEvent, map[string]ruleCase{
		"About the cause": {"it relates the written object", func(c *cluster) {
			report(c, "bucket-controller")
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
		"Forged reporter": {"an unauthenticated log decides nothing", func(c *cluster) {
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
			report(c, "other")
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
		"About the cause in another namespace": {"the author of an Event could write any UID", func(c *cluster) {
			c.store("claim", custom("Claim"), elsewhere, pending).begins()
			c.store("bucket", bucket)
			c.ask()
			c.event("bucket-controller", "claim", "Made", "made a bucket", "bucket")
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
			report(c, "bucket-controller")
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
