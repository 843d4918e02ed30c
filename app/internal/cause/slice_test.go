// SPDX-License-Identifier: Apache-2.0

package cause

import (
	"testing"
	"time"

	"github.com/kube-lifeline/lifeline/app/internal/change"
)

// TestByOwnerSlice: the first EndpointSlice belongs to its Service after any time, another one for the quiet time.
func TestByOwnerSlice(t *testing.T) {
	service := func(c *cluster) {
		c.store("shop", of("", "Service"), by("kubectl-create"), leaf("spec.selector[app]"), fresh, converged).begins()
	}
	slice := all(of("discovery.k8s.io", "EndpointSlice"), owned("", "Service", "shop"), by(change.Manager))
	testRule(t, plain(byOwner), map[string]ruleCase{
		"First": {"the Service had none", func(c *cluster) {
			service(c)
			c.wait(time.Minute)
			c.store("shop-1", slice)
		}, "below shop (owner)"},
		"Second": {"the Service may have two families of addresses", func(c *cluster) {
			service(c)
			c.store("shop-1", slice)
			c.store("shop-2", slice)
		}, "below shop (time)"},
		"Late second": {"the quiet time is over", func(c *cluster) {
			service(c)
			c.store("shop-1", slice)
			c.wait(time.Minute)
			c.store("shop-2", slice)
		}, "no cause"},
		"Unknown Service": {"its last change is unknown", func(c *cluster) {
			c.store("shop-1", slice)
		}, "no cause"},
		"Updated": {"an update follows from the endpoints", func(c *cluster) {
			service(c)
			c.store("shop-1", slice)
			c.store("shop-1", by(change.Manager), leaf("endpoints[0]"))
		}, "no cause"},
		"Found slice": {"the Service had one before the start", func(c *cluster) {
			c.found("shop-0", slice)
			c.wait(time.Minute)
			service(c)
			c.wait(time.Minute)
			c.store("shop-1", slice)
		}, "no cause"},
		"After a removed one": {"the Service had none at its last change", func(c *cluster) {
			service(c)
			c.store("shop-1", slice)
			c.gone("shop-1").below("shop")
			c.wait(time.Minute)
			c.store("shop", by("kubectl-edit"), leaf("spec.selector[app]"), converged).begins()
			c.wait(time.Minute)
			c.store("shop-2", slice)
		}, "below shop (owner)"},
		"Audited person": {"the log names a person", func(c *cluster) {
			service(c)
			c.audited(c.store("shop-1", slice), "alice", "kubectl/v1.36")
		}, "no cause"},
		"No user in the log": {"the field manager decides", func(c *cluster) {
			service(c)
			c.audited(c.store("shop-1", slice), "", "kubectl/v1.36")
		}, "below shop (owner)"},
		"By a person": {"the controller did not make it", func(c *cluster) {
			service(c)
			c.store("shop-1", slice, func(st *state) { st.Managers = nil }, by("kubectl-create"))
		}, "no cause"},
		"Lost": {"a slice in place of a lost one heals", func(c *cluster) {
			service(c)
			c.store("shop-1", slice)
			c.wait(time.Minute)
			c.gone("shop-1").begins()
			c.store("shop-2", slice)
		}, "new trace, heals shop-1 ~owner shop ~heals shop-1"},
	})
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
