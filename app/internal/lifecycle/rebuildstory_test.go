// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kube-lifeline/lifeline/app/internal/change"
	"github.com/kube-lifeline/lifeline/app/internal/kind/judge"
	"github.com/kube-lifeline/lifeline/app/internal/observation"
)

// made sets the times of the creation and of the last write of the status, in seconds from the
// epoch's minute.
func made(at, status int) func(*observation.State) {
	return func(s *observation.State) {
		s.Created = second(at)
		s.Managers = []observation.Manager{
			{Name: change.Manager, Operation: "Update", Time: second(at), Fields: 1},
			{Name: change.Manager, Operation: "Update", Subresource: "status", Time: second(status), Fields: 2},
		}
		for i := range s.Conditions {
			s.Conditions[i].Since = second(status)
		}
	}
}

// edited adds a write to the spec or the labels at that time.
func edited(at int) func(*observation.State) {
	return func(s *observation.State) {
		s.Generation++
		s.Managers = append(
			s.Managers,
			observation.Manager{Name: "kubectl-edit", Operation: "Update", Time: second(at), Fields: 3},
		)
	}
}

func revision(r string) func(*observation.State) {
	return func(s *observation.State) { s.Workload.Revision = r }
}

// completeAt sets the time at which the rollout was complete.
func completeAt(at int) func(*observation.State) {
	return func(s *observation.State) { s.Workload.Complete = second(at) }
}

func second(n int) time.Time { return epoch.Truncate(time.Minute).Add(time.Duration(n) * time.Second) }

func TestRebuildStories(t *testing.T) {
	cases := map[string]struct {
		reason string
		tell   func(*story)
		then   func(*story)
		want   string
	}{
		"replaced": {
			"a Pod that was made when the rollout was complete is no part of it, however soon it came",
			func(s *story) {
				s.write("web", deployment(1), revision("1"), made(0, 20), arrived, completeAt(5))
				s.write("web-1", replicaSet("web", 1), made(0, 20), arrived)
				s.write("web-1-b", pod("web-1"), bind, ready, made(12, 19))
			},
			nil,
			`trace 0 converged
  reconcile Deployment web converged  [0 object, 5 object]
    reconcile ReplicaSet web-1 converged (owner)  [0 object, 5 object]
trace 0 converged
  reconcile Pod web-1-b converged ~owner  [12 object, 19 object]
    schedule web-1-b  [12 object, 19 object]
    sandbox web-1-b  [19 object, 19 object]
`,
		},
		"scaled": {
			"what a scale made later is no part of the rollout",
			func(s *story) {
				s.write("web", deployment(2), revision("1"), made(0, 900), edited(890), arrived)
				s.write("web-1", replicaSet("web", 2), made(0, 900), edited(890), arrived)
				s.write("web-1-a", pod("web-1"), bind, ready, made(1, 4))
				s.write("web-1-b", pod("web-1"), bind, ready, made(891, 900))
			},
			nil,
			`trace 0 converged
  reconcile Deployment web converged  [0 object, 4 object]
    reconcile ReplicaSet web-1 converged (owner)  [0 object, 4 object]
      reconcile Pod web-1-a converged (owner)  [1 object, 4 object]
        schedule web-1-a  [1 object, 4 object]
        sandbox web-1-a  [4 object, 4 object]
trace 0 converged
  reconcile Pod web-1-b converged ~owner  [51 object, 60 object]
    schedule web-1-b  [51 object, 60 object]
    sandbox web-1-b  [60 object, 60 object]
`,
		},
		"labelled since": {
			"after another write of the object, its dependants show the time of the rollout",
			func(s *story) {
				s.write("web", deployment(1), revision("2"), made(0, 900), edited(5000), arrived)
				s.write("web-1", replicaSet("web", 0), made(0, 900), edited(890), arrived)
				s.write("web-2", replicaSet("web", 1), arrived, made(600, 610))
				s.write("web-2-a", pod("web-2"), bind, ready, made(601, 610))
			},
			nil,
			`trace 0 converged
  reconcile Deployment web converged  [0 object, 10 object]
    reconcile ReplicaSet web-2 converged (owner)  [0 object, 10 object]
      reconcile Pod web-2-a converged (owner)  [1 object, 10 object]
        schedule web-2-a  [1 object, 10 object]
        sandbox web-2-a  [10 object, 10 object]
`,
		},
		"started again": {
			"a restarted container does not show how the Pod became ready",
			func(s *story) {
				s.write("a", pod(""), bind, ready, func(st *observation.State) {
					st.Conditions = append(
						st.Conditions,
						observation.Condition{Type: judge.PodScheduled, Status: "True"},
						observation.Condition{Type: judge.PodSandboxReady, Status: "True"},
					)
				}, made(0, 3), func(st *observation.State) {
					st.Conditions[0].Since = second(9000)
					c := &st.Pod.Containers[0]
					c.Restarts, c.Ready = 1, true
					c.State = &observation.ContainerState{Started: second(8990)}
					c.Last = &observation.ContainerState{Started: second(5), Finished: second(8980), ExitCode: 1}
				})
			},
			nil,
			`trace 0 converged
  reconcile Pod a converged  [0 object, 3 object]
    schedule a  [0 object, 3 object]
    sandbox a  [3 object, 3 object]
`,
		},
		"watched on": {
			"later changes are traced as usual: a Pod is healed",
			func(s *story) {
				s.write("web", deployment(1), revision("1"), arrived, made(0, 3))
				s.write("web-1", replicaSet("web", 1), arrived, made(0, 3))
				s.write("web-1-a", pod("web-1"), bind, ready, made(1, 3))
			},
			func(s *story) {
				s.rv += 1000
				s.write("web-1-a", deleting)
				s.write("web-1-b", pod("web-1"), bind, ready)
				s.gone("web-1-a")
			},
			`trace 0 converged
  reconcile Deployment web converged  [0 object, 3 object]
    reconcile ReplicaSet web-1 converged (owner)  [0 object, 3 object]
      reconcile Pod web-1-a converged (owner)  [1 object, 3 object]
        schedule web-1-a  [1 object, 3 object]
        sandbox web-1-a  [3 object, 3 object]
trace 0 deleted
  reconcile Pod web-1-a deleted ~previous  [45.4 watch, 45.6 watch]
    terminate web-1-a  [45.4 watch, 45.6 watch]
trace 0 converged
  reconcile Pod web-1-b converged ~owner ~heals  [45.5 watch, 45.5 watch]
    sandbox web-1-b  [45.5 watch, 45.5 watch]
`,
		},
	}
	for name, tt := range cases {
		t.Run(name, func(t *testing.T) {
			s := newStory()
			tt.tell(s)
			s.before()
			for _, o := range s.seen {
				o.Seen = second(10000)
			}
			if tt.then != nil {
				tt.then(s)
			}
			e := New(Options{Cluster: "test", Rebuild: true})
			for _, o := range s.seen {
				e.Observe(o)
			}
			if diff := cmp.Diff(tt.want, timetable(e.Traces(second(20000)))); diff != "" {
				t.Errorf("%s: -want +got:\n%s", tt.reason, diff)
			}
		})
	}
}
