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
	testRule(t, byRelation, map[string]ruleCase{
		"Open": {"the cause is under way", func(c *cluster) {
			claim(c, "claim")
			c.store("bucket", effect)
		}, "below claim (relation)"},
		"Two keys": {"two relations to one cause are one cause", func(c *cluster) {
			second := object.DeclaredName("buckets", "key")
			c.store("claim", custom("Claim"), refers(object.Cause, key), refers(object.Cause, second), pending).begins()
			c.store("bucket", effect, refers(object.Effect, second))
		}, "below claim (relation)"},
		"Itself": {"an object is no cause of its own writes", func(c *cluster) {
			c.store("bucket", custom("Bucket"), refers(object.Cause, key), refers(object.Effect, key), pending).begins()
			c.store("bucket", by("bucket-controller"), leaf("spec.size"))
		}, "no cause"},
		"Command": {"a command made the effect", func(c *cluster) {
			c.run(traceA)
			claim(c, "claim")
			c.requested(c.store("bucket", effect), traceA)
		}, "no cause"},
		"Another storage": {"only the arrival orders two changes and the effect", func(c *cluster) {
			claim(c, "claim")
			c.store("claim", by("kubectl-edit"), leaf("spec.size")).begins()
			c.store("bucket", effect, func(st *state) {
				st.ResourceVersion, st.Order = st.ResourceVersion+1000, st.ResourceVersion
			})
		}, "below claim (time)"},
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
		}, "below scaler (relation)"},
		"Audited person": {"the audit log names a person", func(c *cluster) {
			claim(c, "claim")
			c.audited(c.store("bucket", effect), "alice", "bucket-controller/v1")
		}, "no cause"},
	})
}
