// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"testing"
	"time"

	"github.com/kube-lifeline/lifeline/app/internal/change"
	"github.com/kube-lifeline/lifeline/app/internal/kind"
	"github.com/kube-lifeline/lifeline/app/internal/observation"
)

// statefulSet is a StatefulSet with n replicas.
func statefulSet(n int32) func(*observation.State) {
	return func(st *observation.State) {
		deployment(n)(st)
		ofKind("apps", "StatefulSet")(st)
		sized(n)(st)
		fresh(st)
	}
}

// inSetAs is a Pod of the StatefulSet db of that name. A story names an object once, and a Pod again.
func inSetAs(name string) func(*observation.State) {
	return func(st *observation.State) {
		inSet(st)
		st.Name = name
	}
}

// filled is StatefulSet db with ready Pods, as the state at the start of the observer.
func (s *story) filled(edits []func(*observation.State), pods ...string) {
	s.write("db", append([]func(*observation.State){statefulSet(int32(len(pods)))}, edits...)...)
	for _, p := range pods {
		s.write(p, inSet, bind, ready)
	}
	s.write("db", arrived)
	s.wait(time.Minute)
	s.before()
}

// TestPlaces: a dependant belongs to the write that wanted its place, or heals the loss of the one before it there.
func TestPlaces(t *testing.T) {
	onDelete := func(st *observation.State) {
		st.Leaves = append(st.Leaves, observation.Leaf{
			Path: "spec.updateStrategy.type", Value: 7, Shown: "OnDelete", Managers: 1,
		})
	}
	tellStories(t, map[string]told{
		"Relabelled": {reason: "a Pod that is relabelled for debugging leaves its place", tell: func(s *story) {
			s.settled(2)
			s.write("web-1-a", valued("metadata.labels[app]", 1), by(change.Manager))
			s.before()
			s.write("web-1-a", valued("metadata.labels[app]", 2), by("kubectl-label"))
			s.write("web-1-a", managed(change.Manager, ""), func(st *observation.State) { st.Owners = nil })
			s.write("web-1-c", pod("web-1"))
			s.write("web-1", func(st *observation.State) { st.Workload.Ready, st.Workload.Available = 1, 1 })
			s.started("web-1", "c")
		}, want: `trace 0 converged
  reconcile Pod web-1-a converged
trace 1 converged
  reconcile Pod web-1-c converged ~heals
`, links: []string{"Pod web-1-c of 1: heals Pod web-1-a of 0"},
			authors: []string{"Pod web-1-a: kubectl ", "Pod web-1-c: replicaset-controller "}},
		"FoundBroken": {reason: "a rollout from before the start, behind its deadline, is whole", tell: func(s *story) {
			s.write("web", deployment(1))
			s.write("web-1", replicaSet("web", 1))
			s.write("web-1-a", pod("web-1"), bind, unpulled)
			s.write("web", late)
			s.before()
		}, want: "trace 0 failed: Deployment web exceeded its progress deadline: Pod web-1-a cannot pull image web:2" +
			` of container app: not found
  reconcile Deployment web failed
    reconcile ReplicaSet web-1 unfinished (owner)
      reconcile Pod web-1-a unfinished (owner)
`, authors: []string{"Deployment web: kubectl "}},
		"DeletedDuringScale": {reason: "the replacement of a deleted Pod takes its place", tell: func(s *story) {
			s.settled(2)
			s.write("web", sized(3), by("user-a"))
			s.write("web-1", sized(3), valued(desiredReplicas, 3), by(change.Manager))
			s.write("web-1-c", pod("web-1"))
			s.write("web-1-c", bind)
			s.write("web-1-a", deleting)
			s.audited("web-1-a", "delete", person("user-b"), func(w *observation.Write) { w.ResourceVersion = 0 })
			s.write("web-1-d", pod("web-1"))
			s.ended("web-1-a")
			s.write("web-1-c", ready)
			s.started("web-1", "d")
			s.write("web", arrived)
		}, want: `trace 0 converged
  reconcile Deployment web converged
    reconcile ReplicaSet web-1 converged (owner)
      reconcile Pod web-1-c converged (owner)
trace 1 deleted
  reconcile Pod web-1-a deleted
    delete Pod web-1-a (request)
    delete Pod web-1-a (request)
trace 2 converged
  reconcile Pod web-1-d converged ~owner ~heals
`, links: []string{
			"Pod web-1-d of 2: owner ReplicaSet web-1 of 0", "Pod web-1-d of 2: heals Pod web-1-a of 1",
		}, authors: []string{
			"Deployment web: user-a ", "Pod web-1-a: kubectl user-b", "Pod web-1-d: replicaset-controller ",
		}},
		"DeletedDuringRaise": {reason: "a raise deletes no Pod", tell: func(s *story) {
			s.filled(nil, "db-0", "db-1")
			s.write("db", sized(4), by("user-a"))
			s.write("db-2", inSet, bind)
			s.write("db-0", deleting)
			s.gone("db-0")
			s.write("again", inSetAs("db-0"), bind, ready)
			s.write("db-2", ready)
			s.write("db-3", inSet, bind, ready)
			s.write("db", arrived)
		}, want: `trace 0 converged
  reconcile StatefulSet db converged
    reconcile Pod db-2 converged (owner)
    reconcile Pod db-3 converged (owner)
trace 1 deleted
  reconcile Pod db-0 deleted
trace 2 converged
  reconcile Pod db-0 converged ~owner ~heals
`, links: []string{
			"Pod db-0 of 2: owner StatefulSet db of 0", "Pod db-0 of 2: heals Pod db-0 of 1",
		}},
		"Deadline": {reason: "a Job deletes its Pods before its status says why", tell: func(s *story) {
			s.write("job", work, by("user-a"))
			s.write("job-a", pod(""), controlled(kind.Job.Kind, "job"))
			s.write("job-a", bind)
			s.write("job-a", ready)
			s.wait(time.Minute)
			since := s.now()
			s.write("job-a", deleting)
			s.write("job", func(st *observation.State) {
				st.Progress, st.ProgressMessage = observation.ProgressFailed, "DeadlineExceeded"
				st.Conditions = []observation.Condition{{Type: "Failed", Status: "True", Since: since}}
			})
			s.gone("job-a")
		}, want: `trace 0 failed: Job job failed: DeadlineExceeded
  reconcile Job job failed
    reconcile Pod job-a superseded (owner)
    reconcile Pod job-a deleted (owner)
`},
		"OnDelete": {reason: "a decrease lasts until all its Pods are gone", tell: func(s *story) {
			s.filled([]func(*observation.State){onDelete}, "db-0", "db-1", "db-2")
			s.write("db", sized(1), by("user-a"))
			current := func(total int32) {
				s.write("db", func(st *observation.State) {
					st.ObservedGeneration, st.Progress = st.Generation, observation.ProgressCurrent
					w := st.Workload
					w.Total, w.Updated, w.Ready, w.Available = total, total, total, total
				})
			}
			current(3)
			s.write("db-2", deleting)
			s.wait(20 * time.Second)
			s.gone("db-2")
			current(2)
			s.write("db-1", deleting)
			s.wait(20 * time.Second)
			s.gone("db-1")
			current(1)
		}, want: `trace 0 converged
  reconcile StatefulSet db converged
    reconcile Pod db-2 deleted (owner)
    reconcile Pod db-1 deleted (owner)
`},
	})
}
