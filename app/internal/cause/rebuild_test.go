// SPDX-License-Identifier: Apache-2.0

package cause

import (
	"fmt"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/kube-lifeline/lifeline/app/internal/observation"
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

// made is the time of creation, after the epoch.
func made(d time.Duration) trait { return func(st *state) { st.Created = epoch.Add(d) } }

// wrote is the only entry of a field manager, at a time after the epoch. subresource may be empty.
func wrote(subresource string, d time.Duration) trait {
	return func(st *state) {
		st.Managers = append(st.Managers, observation.Manager{
			Name: "manager-" + d.String(), Operation: "Update", Subresource: subresource, Time: epoch.Add(d), Fields: 1,
		})
	}
}

// TestHowRebuilt: the found state of an object has a verb, a start and an end, by its own timestamps.
func TestHowRebuilt(t *testing.T) {
	const second = time.Second
	generation := func(n int64) trait { return func(st *state) { st.Generation = n } }
	revised := func(n string) trait { return func(st *state) { st.Workload.Revision = n } }
	plainDeployment := all(of("apps", "Deployment"), wants(1))
	set := all(of("apps", "ReplicaSet"), owned("apps", "Deployment", "web"), wants(1), fresh)
	onePod := all(podOf("apps", "ReplicaSet", "web-1"), converged, func(st *state) { st.Conditions = nil })
	for name, tc := range map[string]struct {
		reason string
		tell   func(*cluster)
		// want is the verb, the start and the end of the first object, in seconds after the epoch.
		want string
	}{
		"Pod": {"its conditions give its end", func(c *cluster) {
			c.wait(10 * second)
			c.found("web", pod, converged, made(0))
		}, "create 0 10"},
		"Pod of generation 3": {"a Pod is created only once", func(c *cluster) {
			c.wait(10 * second)
			c.found("web", pod, by("kubelet"), generation(3), converged, made(0))
		}, "create 0 10"},
		"Containers": {"their start is later than the conditions", func(c *cluster) {
			c.found("web", pod, converged, made(0), func(st *state) {
				st.Pod.Containers[0].State = &observation.ContainerState{Started: epoch.Add(7 * second)}
			})
		}, "create 0 7"},
		"Restarted": {"the Pod does not show its first readiness", func(c *cluster) {
			c.wait(10 * second)
			c.found("web", pod, converged, made(0), func(st *state) {
				st.Pod.Containers[0].Restarts = 1
				st.Pod.Containers[0].State = &observation.ContainerState{Started: epoch.Add(7 * second)}
			})
		}, "create 0 0"},
		"Edited": {"the last field manager gives the time of the update", func(c *cluster) {
			c.wait(10 * second)
			c.found("web", custom("Head"), made(0), generation(3), converged)
		}, "update 10 10"},
		"Status": {"a write to the status is no update", func(c *cluster) {
			twice := all(wrote("", 5*second), wrote("status", 9*second))
			c.found("web", of("example.com", "Head"), made(0), twice, generation(3), converged)
		}, "update 5 9"},
		"First generation": {"the object was never changed", func(c *cluster) {
			c.found("web", of("example.com", "Head"), made(0), wrote("", 5*second), generation(1), converged)
		}, "create 0 0"},
		"First revision": {"a Deployment of the first revision was only scaled", func(c *cluster) {
			c.wait(10 * second)
			c.found("web", deployment(1), made(0), generation(3), converged, revised("1"))
		}, "create 0 0"},
		"Second revision": {"a Deployment of another revision was changed", func(c *cluster) {
			c.wait(10 * second)
			c.found("web", deployment(1), made(0), generation(3), converged, revised("2"))
		}, "update 10 10"},
		"With its ReplicaSet": {"the last dependant gives the end", func(c *cluster) {
			c.found("web", plainDeployment, made(0), fresh, converged)
			c.found("web-1", set, made(second), converged)
			c.found("web-1-a", onePod, made(4*second))
		}, "create 0 4"},
		"Status after its ReplicaSet": {"the status followed soon", func(c *cluster) {
			c.found("web", plainDeployment, made(0), wrote("status", 8*second), fresh, converged)
			c.found("web-1", set, made(second), converged)
			c.found("web-1-a", onePod, made(4*second))
		}, "create 0 8"},
		"Late status": {"the status followed more than a minute later", func(c *cluster) {
			c.found("web", plainDeployment, made(0), wrote("status", 90*second), fresh, converged)
			c.found("web-1", set, made(second), converged)
		}, "create 0 1"},
		"Complete": {"later writes are not part of the rollout", func(c *cluster) {
			c.found("web", plainDeployment, made(0), wrote("status", 8*second), fresh, converged, func(st *state) {
				st.Workload.Complete = epoch.Add(5 * second)
			})
			c.found("web-1", set, made(second), converged)
		}, "create 0 5"},
		"Written after its Pods": {"the write before the Pods is the cause", func(c *cluster) {
			twice := all(wrote("", 10*second), wrote("", 30*second))
			c.found("web", plainDeployment, made(0), twice, generation(3), converged)
			c.found("web-1", set, made(11*second), converged)
			c.found("web-1-a", onePod, made(12*second))
		}, "update 10 12"},
		"Written only after its Pods": {"the ReplicaSet gives the time", func(c *cluster) {
			c.found("web", plainDeployment, made(0), wrote("", 30*second), generation(3), converged)
			c.found("web-1", set, made(11*second), converged)
			c.found("web-1-a", onePod, made(12*second))
		}, "update 11 12"},
		"Old dependant of an update": {"the owner's change gives the time", func(c *cluster) {
			c.found("web-1", set, made(second), wrote("", 30*second), generation(3), converged)
			c.found("web", plainDeployment, made(0), wrote("", 10*second), generation(3), converged)
			c.found("web-1-a", onePod, made(12*second))
		}, "update 10 12"},
		"Open": {"an open change has no end", func(c *cluster) {
			c.found("web", custom("Head"), pending, made(0))
		}, "create 0 none"},
		"In deletion": {"it is on its way out", func(c *cluster) {
			c.found("web", pod, deleting)
		}, "none"},
		"No controller": {"nothing reconciles it", func(c *cluster) {
			c.found("web", of("", "ConfigMap"), func(st *state) { st.Reconciled = false })
		}, "none"},
		"Observed": {"its creation was observed", func(c *cluster) {
			c.store("web", pod)
		}, "none"},
		"Forgotten": {"older versions are forgotten", func(c *cluster) {
			c.found("web", pod).t.Folded = true
		}, "none"},
		"Kept ReplicaSet": {"it is kept for a rollback", func(c *cluster) {
			c.found("web", of("apps", "ReplicaSet"), wants(0), converged)
		}, "none"},
	} {
		t.Run(name, func(t *testing.T) {
			c := newCluster()
			rebuilds(c)
			tc.tell(c)
			first := c.facts[0].t
			c.facts = append(c.facts, &fact{t: first})
			c.set()
			got := "none"
			if how := HowRebuilt(c.scene, first); how != nil {
				end := "none"
				if !how.End.IsZero() {
					end = fmt.Sprint(how.End.Sub(epoch).Seconds())
				}
				got = fmt.Sprintf("%s %v %s", how.Verb, how.Start.Sub(epoch).Seconds(), end)
			}
			if diff := gocmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}
