// SPDX-License-Identifier: Apache-2.0

package cause

import (
	"testing"
	"time"
)

// TestByOwnerManifest: the kubelet replaces a mirror Pod after an edit of its manifest.
func TestByOwnerManifest(t *testing.T) {
	node := func(c *cluster) {
		c.store("node-1", of("", "Node"), clusterScoped, by("kubelet"), converged).begins()
		c.wait(time.Minute)
	}
	soon := func(st *state) { st.Deleting, st.GraceSeconds = written(st).Add(time.Second), 1 }
	mirror := all(named("etcd"), pod, owned("", "Node", "node-1"), by("kubelet"), leaf(pathMirror), on("node-1"))
	testRule(t, plain(byOwner), map[string]ruleCase{
		"Edited": {"the new Pod has another manifest", func(c *cluster) {
			node(c)
			c.store("old", mirror).begins()
			c.gone("old").begins()
			c.store("new", mirror)
		}, "new trace ~previous old"},
		"Another static Pod": {"each static Pod has its own name", func(c *cluster) {
			node(c)
			c.store("old", mirror).begins()
			c.gone("old").begins()
			c.store("new", mirror, named("api"))
		}, "new trace ~owner node-1"},
		"Same manifest": {"the new Pod heals the loss of the old one", func(c *cluster) {
			node(c)
			same := c.rv + 1
			c.store("old", mirror).begins()
			c.gone("old").begins()
			c.store("new", mirror, func(st *state) { st.Leaves[0].Value = same })
		}, "new trace, heals old ~owner node-1 ~heals old"},
		"Old Pod": {"its deletion is a part of the change", func(c *cluster) {
			node(c)
			c.store("old", mirror).begins()
			end := c.store("old", deleting, soon)
			c.store("new", mirror).begins()
			c.askLast(end)
		}, "below new (relation)"},
		"Old Pod, by the kubelet": {"the log names the kubelet", func(c *cluster) {
			node(c)
			c.store("old", mirror).begins()
			end := c.store("old", deleting, soon)
			c.audited(end, "system:node:node-1", "kubelet/v1.36")
			c.store("new", mirror).begins()
			c.askLast(end)
		}, "below new (relation)"},
		"Old Pod, by a person": {"the log names a person", func(c *cluster) {
			node(c)
			c.store("old", mirror).begins()
			end := c.store("old", deleting, soon)
			c.audited(end, "alice", "kubectl/v1.36")
			c.store("new", mirror).begins()
			c.askLast(end)
		}, "no cause"},
		"Old Pod, long before": {"the kubelet creates the new Pod at once", func(c *cluster) {
			node(c)
			c.store("old", mirror).begins()
			end := c.store("old", deleting, soon)
			c.wait(time.Minute)
			c.store("new", mirror).begins()
			c.askLast(end)
		}, "no cause"},
		"Old Pod of another name": {"the new Pod is that of another manifest", func(c *cluster) {
			node(c)
			c.store("old", mirror).begins()
			end := c.store("old", deleting, soon)
			c.store("new", mirror, named("api")).begins()
			c.askLast(end)
		}, "no cause"},
		"New Pod beside the old one": {"the old Pod is on its way out", func(c *cluster) {
			node(c)
			c.store("old", mirror).begins()
			old := c.store("old", deleting, soon)
			c.facts = c.facts[:len(c.facts)-1] // its deletion is placed later
			c.store("new", mirror)
			c.ask()
			c.facts = append(c.facts, old)
		}, "new trace ~previous old"},
		"Deleted alone": {"no new Pod follows", func(c *cluster) {
			node(c)
			c.store("old", mirror).begins()
			c.store("old", deleting)
		}, "no cause"},
	})
}
