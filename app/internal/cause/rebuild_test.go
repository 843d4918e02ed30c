// SPDX-License-Identifier: Apache-2.0

package cause

import (
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/kube-lifeline/lifeline/app/internal/change"
	"github.com/kube-lifeline/lifeline/app/internal/history"
)

// rebuilds makes the options those of an explanation.
func rebuilds(c *cluster) { c.opts.Rebuild = true }

// TestByRebuild: an object found at the start belongs to its owner's change if it was made during that change.
func TestByRebuild(t *testing.T) {
	testRule(t, plain(byRebuild), map[string]ruleCase{
		"Made together": {"the ReplicaSet is as old as its Deployment", func(c *cluster) {
			rebuilds(c)
			c.found("web", deployment(1), converged).begins()
			c.found("web-1", replicaSet("web", 1), converged)
		}, "below web (owner)"},
		"Made later": {"the pause is longer than a minute", func(c *cluster) {
			rebuilds(c)
			c.found("web", deployment(1), converged).begins()
			c.wait(61 * time.Second)
			c.found("web-1", replicaSet("web", 1), converged)
		}, "new trace ~owner web"},
		"In a chain": {"each dependant is less than a minute after the one before", func(c *cluster) {
			rebuilds(c)
			c.found("web-1", of("apps", "ReplicaSet"), by("kubectl-create"), wants(2), fresh, converged).begins()
			c.wait(40 * time.Second)
			c.found("web-1-a", podOf("apps", "ReplicaSet", "web-1"), converged).below("web-1")
			c.wait(40 * time.Second)
			c.found("web-1-b", podOf("apps", "ReplicaSet", "web-1"), converged)
		}, "below web-1 (owner)"},
		"Open owner": {"the change of the owner goes on", func(c *cluster) {
			rebuilds(c)
			c.found("web", deployment(1)).begins()
			c.wait(10 * time.Minute)
			c.found("web-1", replicaSet("web", 1), converged)
		}, "below web (owner)"},
		"Complete rollout": {"the rollout was complete before", func(c *cluster) {
			rebuilds(c)
			c.found("web", deployment(1), converged, func(st *state) { st.Workload.Complete = c.now() }).begins()
			c.wait(20 * time.Second)
			c.found("web-1", replicaSet("web", 1), converged)
		}, "new trace ~owner web"},
		"Without an owner": {"nothing is above it", func(c *cluster) {
			rebuilds(c)
			c.found("web", deployment(1), converged)
		}, "no cause"},
		"Not an explanation": {"only an explanation rebuilds", func(c *cluster) {
			c.found("web", deployment(1)).begins()
			c.found("web-1", replicaSet("web", 1))
		}, "no cause"},
		"Observed": {"the write itself was observed", func(c *cluster) {
			rebuilds(c)
			c.found("web", deployment(1)).begins()
			c.store("web-1", replicaSet("web", 1))
		}, "no cause"},
	})
}

// TestHowRebuilt: the found state of an object has a verb, a start and an end, by its own timestamps.
func TestHowRebuilt(t *testing.T) {
	at := func(d time.Duration) time.Time { return epoch.Add(d).Truncate(time.Second) }
	for name, tc := range map[string]struct {
		reason string
		tell   func(*cluster)
		want   *change.Rebuilt
	}{
		"Pod": {"its conditions give its end", func(c *cluster) {
			c.wait(10 * time.Second)
			c.found("web", pod, converged, func(st *state) { st.Created = at(0) })
		}, &change.Rebuilt{Verb: history.Created, Start: at(0), End: at(10 * time.Second)}},
		"Edited": {"the last field manager gives the time of the update", func(c *cluster) {
			c.wait(10 * time.Second)
			c.found("web", custom("Head"), func(st *state) { st.Created, st.Generation = at(0), 3 }, converged)
		}, &change.Rebuilt{Verb: history.Updated, Start: at(10 * time.Second), End: at(10 * time.Second)}},
		"First revision": {"a Deployment of the first revision was only scaled", func(c *cluster) {
			c.wait(10 * time.Second)
			c.found("web", deployment(1), func(st *state) {
				st.Created, st.Generation, st.Workload.Revision = at(0), 3, "1"
			}, converged)
		}, &change.Rebuilt{Verb: history.Created, Start: at(0), End: at(0)}},
		"In deletion": {"it is on its way out", func(c *cluster) {
			c.found("web", pod, deleting)
		}, nil},
		"Kept ReplicaSet": {"it is kept for a rollback", func(c *cluster) {
			c.found("web", of("apps", "ReplicaSet"), wants(0), converged)
		}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			c := newCluster()
			rebuilds(c)
			tc.tell(c)
			c.facts = append(c.facts, &fact{t: c.facts[0].t})
			c.set()
			got := HowRebuilt(c.scene, c.facts[0].t)
			if diff := gocmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}
