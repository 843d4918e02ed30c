// SPDX-License-Identifier: Apache-2.0

package cause

import (
	"testing"
	"time"
)

// TestByOwnerOpaque: nothing shows when an unknown controller has handled a change. The quiet time decides, except for
// the first dependant of a role and the first update.
func TestByOwnerOpaque(t *testing.T) {
	head := func(c *cluster) {
		c.store("head", custom("Head"), converged, func(st *state) { st.ObservedGeneration = -1 }).begins()
	}
	testRule(t, plain(byOwner), map[string]ruleCase{
		"At once": {"the quiet time is not over", func(c *cluster) {
			head(c)
			c.store("head-0", childOfHead("Tail"))
		}, "below head (owner)"},
		"Second of a role at once": {"only the quiet time keeps the owner open", func(c *cluster) {
			head(c)
			c.store("head-0", childOfHead("Tail")).below("head")
			c.store("head-1", childOfHead("Tail"))
		}, "below head (time)"},
		"First of a role": {"it comes after any delay", func(c *cluster) {
			head(c)
			c.wait(time.Minute)
			c.store("head-0", childOfHead("Tail"))
		}, "below head (owner)"},
		"Another name lost": {"it replaces the lost object under a name of its own", func(c *cluster) {
			head(c)
			c.store("tail-a", childOfHead("Tail")).below("head")
			c.wait(time.Minute)
			c.gone("tail-a").begins()
			c.store("tail-b", childOfHead("Tail"))
		}, "new trace, heals tail-a ~owner head ~heals tail-a"},
		"Another kind lost": {"the new object is of another kind", func(c *cluster) {
			head(c)
			c.store("tail", childOfHead("Tail")).below("head")
			c.store("body-0", childOfHead("Body")).below("head")
			c.wait(time.Minute)
			c.gone("tail").begins()
			c.store("body-1", childOfHead("Body"))
		}, "new trace ~owner head"},
		"Second of a role": {"the quiet time is over", func(c *cluster) {
			head(c)
			c.store("head-0", childOfHead("Tail")).below("head")
			c.wait(time.Minute)
			c.store("head-1", childOfHead("Tail"))
		}, "new trace ~owner head"},
		"Another role": {"each role has a first dependant", func(c *cluster) {
			head(c)
			c.store("head-primary", childOfHead("Tail")).below("head")
			c.wait(time.Minute)
			c.store("head-replica", childOfHead("Tail"))
		}, "below head (owner)"},
		"Generated name": {"the generated names have one role", func(c *cluster) {
			generated := func(st *state) { st.GenerateName = "head-" }
			head(c)
			c.store("head-primary", childOfHead("Tail"), generated).below("head")
			c.wait(time.Minute)
			c.store("head-replica", childOfHead("Tail"), generated)
		}, "new trace ~owner head"},
		"First of a role since a change": {"older dependants do not count", func(c *cluster) {
			head(c)
			c.store("head-0", childOfHead("Tail")).below("head")
			c.wait(time.Minute)
			c.store("head", by("kubectl-edit"), leaf("spec.size")).begins()
			c.wait(time.Minute)
			c.store("head-1", childOfHead("Tail"))
		}, "below head (owner)"},
		"Update after a loss": {"the loss may be the cause", func(c *cluster) {
			head(c)
			c.store("head-0", childOfHead("Tail")).below("head")
			c.store("head-1", childOfHead("Tail")).below("head")
			c.wait(time.Minute)
			c.store("head", by("kubectl-edit"), leaf("spec.size")).begins()
			c.gone("head-1").begins()
			c.wait(10 * time.Second)
			c.store("head-0", by("head-controller"), leaf("spec.size"))
		}, "new trace ~owner head"},
		"Update after that of another": {"both follow from the change", func(c *cluster) {
			head(c)
			c.store("head-0", childOfHead("Tail")).below("head")
			c.store("head-1", childOfHead("Tail")).below("head")
			c.wait(time.Minute)
			c.store("head", by("kubectl-edit"), leaf("spec.size")).begins()
			c.store("head-1", by("head-controller"), leaf("spec.size")).below("head")
			c.wait(10 * time.Second)
			c.store("head-0", by("head-controller"), leaf("spec.size"))
		}, "below head (time)"},
		"Second update": {"only the first one follows after the quiet time", func(c *cluster) {
			head(c)
			c.store("head-0", childOfHead("Tail")).below("head")
			c.wait(time.Minute)
			c.store("head", by("kubectl-edit"), leaf("spec.size")).begins()
			c.store("head-0", by("head-controller"), leaf("spec.size")).below("head")
			c.wait(10 * time.Second)
			c.store("head-0", by("head-controller"), leaf("spec.size"))
		}, "new trace ~owner head"},
		"Update after a label": {"a person labelled a dependant", func(c *cluster) {
			head(c)
			c.store("head-0", childOfHead("Tail")).below("head")
			c.wait(time.Minute)
			c.store("head", by("kubectl-edit"), leaf("spec.size")).begins()
			c.store("head-0", by("kubectl-label"), leaf("metadata.labels[x]")).instant()
			c.wait(10 * time.Second)
			c.store("head-0", by("head-controller"), leaf("spec.size"))
		}, "new trace ~owner head"},
		"First update": {"it follows within a minute", func(c *cluster) {
			head(c)
			c.store("head-0", childOfHead("Tail")).below("head")
			c.wait(time.Minute)
			c.store("head", by("kubectl-edit"), leaf("spec.size")).begins()
			c.wait(10 * time.Second)
			c.store("head-0", by("head-controller"), leaf("spec.size"))
		}, "below head (time)"},
		"Late update": {"more than a minute is over", func(c *cluster) {
			head(c)
			c.store("head-0", childOfHead("Tail")).below("head")
			c.wait(time.Minute)
			c.store("head", by("kubectl-edit"), leaf("spec.size")).begins()
			c.wait(90 * time.Second)
			c.store("head-0", by("head-controller"), leaf("spec.size"))
		}, "new trace ~owner head"},
		"Update after another change": {"another author changed a dependant", func(c *cluster) {
			head(c)
			c.store("head-0", childOfHead("Tail")).below("head")
			c.wait(time.Minute)
			c.store("head", by("kubectl-edit"), leaf("spec.size")).begins()
			c.wait(5 * time.Second)
			c.store("head-0", by("kubectl-edit"), leaf("spec.other")).begins()
			c.wait(5 * time.Second)
			c.store("head-0", by("head-controller"), leaf("spec.size"))
		}, "new trace ~owner head"},
		"Deletion": {"nothing shows why the controller deletes", func(c *cluster) {
			head(c)
			c.store("head-0", childOfHead("Tail")).below("head")
			c.gone("head-0")
		}, "below head (time)"},
	})
}
