// SPDX-License-Identifier: Apache-2.0

package cause

import (
	"testing"
)

// TestByOwnersEnd: the removal of an object belongs to the deletion of an owner, or of its Namespace.
func TestByOwnersEnd(t *testing.T) {
	secret := all(of("", "Secret"), by("kubectl-create"))
	other := func(st *state) { st.ResourceVersion, st.Order = st.ResourceVersion+1000, st.ResourceVersion }
	namespace := func(c *cluster) {
		c.store("default", of("", "Namespace"), clusterScoped, by("kubectl-create"), converged).begins()
	}
	testRule(t, plain(ByOwnersEnd), map[string]ruleCase{
		"After its owner": {"the owner was deleted before", func(c *cluster) {
			settledWeb(c)
			c.gone("web").begins()
			c.gone("web-1")
		}, "below web (owner)"},
		"An update": {"only a deletion follows from one", func(c *cluster) {
			settledWeb(c)
			c.gone("web").begins()
			c.store("web-1", wants(0))
		}, "no cause"},
		"The owner stays": {"the owner was only changed", func(c *cluster) {
			settledWeb(c)
			c.store("web", by("kubectl-edit"), leaf(fieldImage)).begins()
			c.gone("web-1")
		}, "no cause"},
		"Not its controller": {"each owner counts", func(c *cluster) {
			settledWeb(c)
			c.store("notes", secret, plainlyOwned("apps", "Deployment", "web"))
			c.gone("web").begins()
			c.gone("notes")
		}, "below web (owner)"},
		"Owner of another namespace": {"the author of an object could write any UID", func(c *cluster) {
			settledWeb(c)
			c.store("notes", secret, plainlyOwned("apps", "Deployment", "web"), elsewhere)
			c.gone("web").begins()
			c.gone("notes")
		}, "no cause"},
		"Other storage": {"a removal has no time of its own", func(c *cluster) {
			settledWeb(c)
			c.store("load", of("metrics.example.com", "Load"), plainlyOwned("apps", "Deployment", "web"), other)
			c.gone("web").begins()
			c.gone("load")
		}, "below web (time)"},
		"Owner in another storage": {"its removal has no time of its own", func(c *cluster) {
			c.store("load", of("metrics.example.com", "Load"), other).begins()
			c.store("notes", secret, plainlyOwned("metrics.example.com", "Load", "load"))
			c.gone("load").begins()
			c.gone("notes")
		}, "below load (time)"},
		"Namespace": {"its deletion removes all contents", func(c *cluster) {
			namespace(c)
			c.store("notes", secret)
			c.store("default", deleting).begins()
			c.gone("notes")
		}, "below default (relation)"},
		"Namespace stays": {"its creation removes nothing", func(c *cluster) {
			namespace(c)
			c.store("notes", secret)
			c.gone("notes")
		}, "no cause"},
		"Other namespace": {"the object is in another one", func(c *cluster) {
			namespace(c)
			c.store("notes", secret, elsewhere)
			c.store("default", deleting).begins()
			c.gone("notes")
		}, "no cause"},
		"Cluster-scoped": {"the object is in none", func(c *cluster) {
			namespace(c)
			c.store("disk", of("", "PersistentVolume"), clusterScoped)
			c.store("default", deleting).begins()
			c.gone("disk")
		}, "no cause"},
	})
}
