// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kube-lifeline/lifeline/app/internal/object"
	"github.com/kube-lifeline/lifeline/app/internal/observation"
	"github.com/kube-lifeline/lifeline/app/internal/span"
)

const runID = "4bf92f3577b34da6a3ce929d0e0e4736"

// crash is the n-th crash of the container of a Pod, in its back-off.
func crash(n int32) func(*observation.State) {
	return func(st *observation.State) {
		st.Conditions = []observation.Condition{{Type: "Ready", Status: "False"}}
		st.Pod.Containers = []observation.Container{
			{
				Name:     "app",
				Restarts: n,
				State:    &observation.ContainerState{Waiting: true, Reason: "CrashLoopBackOff"},
				Last:     &observation.ContainerState{Started: epoch, Finished: epoch.Add(1), ExitCode: 3},
			},
		}
	}
}

// again is a container that runs after a crash.
func again(st *observation.State) {
	c := st.Pod.Containers[0]
	c.State = &observation.ContainerState{Started: written(st.ResourceVersion)}
	st.Pod.Containers = []observation.Container{c}
}

func TestCauses(t *testing.T) {
	tests := map[string]struct {
		reason string
		tell   func(*story)
		want   string
	}{
		"create": {
			"what controllers do for an open owner belongs to its trace (C3)",
			func(s *story) { s.rollout() },
			`
trace 0 converged
  reconcile Deployment web converged
    reconcile ReplicaSet web-1 converged (owner)
      reconcile Pod web-1-a converged (owner)
        schedule web-1-a
        sandbox web-1-a
`,
		},
		"run": {
			"a command's writes hang under its root (C2)",
			func(s *story) {
				s.run(runID, "kubectl create")
				s.write("web", deployment(0))
				s.requested(runID, "create", 201)
				s.write("web", arrived)
				s.ran(runID, "kubectl create")
			},
			`
trace 0 converged
  run converged
    reconcile Deployment web converged (request)
      create Deployment web (request)
`,
		},
		"healing": {
			"a Pod replaced after its owner had converged is a separate trace, linked (C3)",
			func(s *story) {
				s.rollout()
				s.write("web-1-a", deleting)
				s.write("web-1-b", pod("web-1"))
				s.write("web-1", func(st *observation.State) { st.Workload.Available = 0 })
				s.write("web-1-b", bind)
				s.write("web-1-b", ready)
				s.write("web-1", arrived)
				s.gone("web-1-a")
			},
			`
trace 0 converged
  reconcile Deployment web converged
    reconcile ReplicaSet web-1 converged (owner)
      reconcile Pod web-1-a converged (owner)
        schedule web-1-a
        sandbox web-1-a
trace 1 deleted
  reconcile Pod web-1-a deleted ~previous
    terminate web-1-a
trace 2 converged
  reconcile Pod web-1-b converged ~owner ~heals
    schedule web-1-b
    sandbox web-1-b
`,
		},
		"completed": {
			"what an object's own controller adds to it while it works on it is a step and no new change",
			func(s *story) {
				s.write("a", custom("Claim"))
				s.write("a", changed, managed("claim-controller", ""))
				s.write("b", childOf("Claim", "a", "Box"))
				s.write("b", arrived)
				s.write("a", arrived, managed("claim-controller", "status"))
			},
			`
trace 0 converged
  reconcile Claim a converged
    reconcile Box b converged (owner)
`,
		},
		"not completed": {
			"a scale by the same name is an autoscaler's: a change of its own",
			func(s *story) {
				s.write("a", custom("Claim"))
				s.write(
					"a",
					func(st *observation.State) { st.ObservedGeneration = 1 },
					managed("one-for-all", "status"),
				)
				s.write("a", changed, managed("one-for-all", "scale"))
				s.write("a", arrived, managed("one-for-all", "status"))
			},
			`
trace 0 superseded
  reconcile Claim a superseded
trace 1 converged
  reconcile Claim a converged ~previous
`,
		},
		"with an owner that is not the controller": {
			"the owner's open change led to it; Cluster API makes the machine of a provider so",
			func(s *story) {
				s.write("a", custom("Claim"))
				s.write("b", childOf("Claim", "a", "Box"), uncontrolled)
				s.write("b", arrived)
				s.write("a", arrived, managed("claim-controller", "status"))
			},
			`
trace 0 converged
  reconcile Claim a converged
    reconcile Box b converged (owner)
`,
		},
		"with an owner, by a person": {
			"a person may name any owner",
			func(s *story) {
				s.write("a", custom("Claim"))
				s.write("b", childOf("Claim", "a", "Box"), uncontrolled, func(st *observation.State) {
					st.Managers = []observation.Manager{{Name: "kubectl-create", Operation: "Update", Fields: 1}}
				})
				s.write("b", arrived)
				s.write("a", arrived, managed("claim-controller", "status"))
			},
			`
trace 0 converged
  reconcile Claim a converged
trace 1 converged
  reconcile Box b converged ~owner
`,
		},
		"changed on its way out": {
			"a controller that changes an object in deletion takes a step of the deletion",
			func(s *story) {
				s.write("a", custom("Claim"))
				s.write("a", arrived, managed("claim-controller", "status"))
				s.wait(time.Minute)
				s.write("a", func(st *observation.State) { st.Deleting, st.Finalizers = s.now(), []string{"hold"} })
				s.write("a", changed, managed("claim-controller", ""))
				s.gone("a")
			},
			`
trace 0 converged
  reconcile Claim a converged
trace 1 deleted
  reconcile Claim a deleted ~previous
`,
		},
		"not completed by a person": {
			"a person who once wrote the status is not the object's own controller",
			func(s *story) {
				by := func(name, subresource string) func(*observation.State) {
					return func(st *observation.State) {
						st.Managers = nil
						managed(name, subresource)(st)
					}
				}
				seen := func(st *observation.State) { st.ObservedGeneration = st.Generation }
				s.write("a", custom("Claim"))
				s.write("a", seen, by("user-b", "status"))
				s.write("a", arrived, by("claim-controller", "status"))
				s.write("a", changed, by("user-a", ""))
				s.write("a", changed, by("user-b", ""))
				s.write("a", arrived, by("claim-controller", "status"))
			},
			`
trace 0 converged
  reconcile Claim a converged
trace 1 superseded
  reconcile Claim a superseded ~previous
trace 2 converged
  reconcile Claim a converged ~previous
`,
		},
		"superseded": {
			"a second change while the first is open supersedes it, and links to it (L1)",
			func(s *story) {
				s.write("web", deployment(1))
				s.write("web-1", replicaSet("web", 1))
				s.write("web-1-a", pod("web-1"))
				s.write("web", func(st *observation.State) { st.Generation++; st.Desired++ })
				s.write("web-2", replicaSet("web", 1))
				s.write("web-1", scaled(0))
				s.write("web-1-a", deleting)
				s.write("web-1", arrived)
				s.gone("web-1-a")
				s.write("web-2", arrived)
				s.write("web", arrived)
			},
			`
trace 0 superseded
  reconcile Deployment web superseded
    reconcile ReplicaSet web-1 superseded (owner)
      reconcile Pod web-1-a superseded (owner)
        schedule web-1-a
trace 1 converged
  reconcile Deployment web converged ~previous
    reconcile ReplicaSet web-2 converged (owner)
    reconcile ReplicaSet web-1 converged (owner) ~previous
      reconcile Pod web-1-a deleted (owner) ~previous
        terminate web-1-a
`,
		},
		"cascade": {
			"dependants that go after their owner belong to its deletion (C3b)",
			func(s *story) {
				s.rollout()
				s.before()
				s.run(runID, "kubectl delete")
				s.gone("web")
				s.requested(runID, "delete", 200)
				s.gone("web-1")
				s.write("web-1-a", deleting)
				s.gone("web-1-a")
				s.ran(runID, "kubectl delete")
			},
			`
trace 0 converged
  run converged
    reconcile Deployment web deleted (request)
      delete Deployment web (request)
      reconcile ReplicaSet web-1 deleted (owner)
        reconcile Pod web-1-a deleted (owner)
          terminate web-1-a
`,
		},
		"baseline": {
			"what was there and has converged starts nothing (L7)",
			func(s *story) {
				s.write("web", deployment(0), arrived)
				s.baseline()
			},
			"\n",
		},
		"reconstructed": {
			"what was found in the middle is reconstructed (L7)",
			func(s *story) {
				s.write("web", deployment(1))
				s.baseline()
				s.write("web-1", replicaSet("web", 1))
				s.baseline()
				s.write("web-1-a", pod("web-1"))
				s.write("web-1-a", bind)
				s.write("web-1-a", ready)
				s.write("web-1", arrived)
				s.write("web", arrived)
			},
			`
trace 0 converged
  reconcile Deployment web converged
    reconcile ReplicaSet web-1 converged (owner)
      reconcile Pod web-1-a converged (owner)
        schedule web-1-a
        sandbox web-1-a
`,
		},
		"outside": {
			"an unknown context that came with the write is the parent (C1, L5)",
			func(s *story) {
				s.write("web", deployment(0), func(st *observation.State) {
					st.TraceParent = "00-" + runID + "-00f067aa0ba902b7-01"
				})
				s.write("web", arrived)
			},
			`
trace 0 converged
  reconcile Deployment web converged (annotation)
`,
		},
		"stale": {
			"a context older than an hour is a link (P4)",
			func(s *story) {
				s.write("web", deployment(0), func(st *observation.State) {
					st.TraceParent = "00-" + runID + "-00f067aa0ba902b7-01"
					st.TraceState = fmt.Sprintf("lifeline=s:00f067aa0ba902b7;t:%d", epoch.Unix()-7200)
				})
				s.write("web", arrived)
			},
			`
trace 0 converged
  reconcile Deployment web converged ~stale
`,
		},
		"namespace": {
			"a Namespace takes all that is in it; owners come before it (C3b)",
			func(s *story) {
				s.write("default", ofKind("", "Namespace"), func(st *observation.State) { st.Namespace = "" }, arrived)
				s.rollout()
				s.before()
				s.write("default", deleting)
				s.gone("web")
				s.write("web-1-a", deleting)
				s.gone("web-1")
				s.gone("web-1-a")
				s.gone("default")
			},
			`
trace 0 deleted
  reconcile Namespace default deleted
    reconcile Deployment web deleted (relation)
      reconcile ReplicaSet web-1 deleted (owner)
    reconcile Pod web-1-a deleted (relation)
      terminate web-1-a
`,
		},
		"evicted": {
			"an eviction's answer has no resourceVersion; it is the deletion all the same (C2)",
			func(s *story) {
				s.write("a", pod(""), bind, ready)
				s.before()
				s.run(runID, "kubectl drain")
				s.write("a", deleting)
				s.requested(runID, "create", 201)
				eviction := s.seen[len(s.seen)-1].Write
				eviction.Subresource, eviction.ResourceVersion = "eviction", 0
				s.gone("a")
				s.ran(runID, "kubectl drain")
			},
			`
trace 0 converged
  run converged
    reconcile Pod a deleted (request)
      delete Pod a (request)
      terminate a
`,
		},
		"crashing": {
			"a Pod that is ready for a moment between crashes has not converged; no controller replaces it",
			func(s *story) {
				s.write("a", pod(""), bind)
				s.write("a", ready)
				s.write("a", crash(1))
			},
			`
trace 0 failed: Pod a is in a crash loop: container app exited with code 3, restarted once
  reconcile Pod a failed
    sandbox a
    start container a
    run container a
    backoff a
    readiness a
`,
		},
		"crashing and deleted": {
			"the deletion of a Pod in a crash loop repairs nothing",
			func(s *story) {
				s.rollout()
				s.write("web-1-a", crash(1))
				s.write("web-1-a", ready, again)
				s.write("web-1-a", deleting)
				s.gone("web-1-a")
			},
			`
trace 0 converged
  reconcile Deployment web converged
    reconcile ReplicaSet web-1 converged (owner)
      reconcile Pod web-1-a superseded (owner)
        schedule web-1-a
        sandbox web-1-a
        run container web-1-a
        readiness web-1-a
        start container web-1-a
        start container web-1-a
        run container web-1-a
trace 1 deleted
  reconcile Pod web-1-a deleted ~previous
    terminate web-1-a
`,
		},
		"custom kind": {
			"a kind without a status at first has not converged with Ready=False; its controller's " +
				"writes in the quiet time belong to it",
			func(s *story) {
				says := func(ready string, p observation.Progress) func(*observation.State) {
					return func(st *observation.State) {
						ofKind("example.com", "Head")(st)
						st.ObservedGeneration, st.Progress = -1, p
						if ready != "" {
							st.Conditions = []observation.Condition{{Type: "Ready", Status: ready}}
						}
					}
				}
				s.write("head", says("", observation.ProgressCurrent))
				s.write("child", ofKind("example.com", "Child"), arrived, func(st *observation.State) {
					st.Owners = []object.Owner{
						{
							Kind:       object.Kind{Group: "example.com", Version: "v1", Kind: "Head"},
							Name:       "head",
							UID:        "uid-head",
							Controller: true,
						},
					}
				})
				s.write("head", says("False", observation.ProgressInProgress))
				s.write("head", says("True", observation.ProgressCurrent))
			},
			`
trace 0 converged
  reconcile Head head converged
    condition head
    reconcile Child child converged (owner)
`,
		},
		"annotated": {
			"a command's write to bookkeeping is a separate span (C2)",
			func(s *story) {
				s.write("web", deployment(0), arrived)
				s.before()
				s.run(runID, "kubectl annotate")
				s.write("web", func(st *observation.State) { st.Finalizers = []string{"x"} })
				s.requested(runID, "patch", 200)
				s.ran(runID, "kubectl annotate")
			},
			`
trace 0 converged
  run converged
    update Deployment web (request)
`,
		},
		"orphaned": {
			"an owner reference taken away by the owner's deletion starts no trace",
			func(s *story) {
				s.rollout()
				s.before()
				s.write("web", deleting, func(st *observation.State) { st.Finalizers = []string{"orphan"} })
				s.write("web-1", func(st *observation.State) { st.Owners = nil })
				s.gone("web")
			},
			`
trace 0 deleted
  reconcile Deployment web deleted
`,
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			s := newStory()
			tt.tell(s)
			got := s.outline(t)
			if diff := cmp.Diff(strings.TrimPrefix(tt.want, "\n"), got); diff != "" {
				t.Errorf("%s: -want +got:\n%s", tt.reason, diff)
			}
			inAnyOrder(t, s, outline)
		})
	}
}

func TestFailedCommandIsAnError(t *testing.T) {
	s := newStory()
	s.run(runID, "kubectl apply")
	s.write("web", deployment(0))
	s.requested(runID, "create", 201)
	s.write("web", arrived)
	s.ran(runID, "kubectl apply")
	s.seen[len(s.seen)-1].Run.ExitCode = 1
	got := observe(s.seen).Traces(s.now().Add(time.Minute))[0]
	const want = "the command failed with exit code 1; what it changed has converged"
	if root := got.Root(); root.Status != span.StatusError || root.Outcome != span.Failed || got.Reason != want {
		t.Errorf("status %v, outcome %s, reason %q: want failed, and %q", root.Status, root.Outcome, got.Reason, want)
	}
}

// managed adds an entry of the manager with the present time to the managedFields.
func managed(name, subresource string) func(*observation.State) {
	return func(st *observation.State) {
		st.Managers = append(slices.Clone(st.Managers), observation.Manager{
			Name: name, Operation: "Update", Subresource: subresource, Fields: st.ResourceVersion,
		})
	}
}

// uncontrolled makes the owners of an object plain ones.
func uncontrolled(st *observation.State) {
	st.Owners = slices.Clone(st.Owners)
	for i := range st.Owners {
		st.Owners[i].Controller = false
	}
}

// TestRevisionInNamespace: the end of a Namespace removes the revisions, not the controller of the
// StatefulSet (C3b). The removal is a write in the trace of that end.
func TestRevisionInNamespace(t *testing.T) {
	s := newStory()
	s.write("default", ofKind("", "Namespace"), func(st *observation.State) { st.Namespace = "" }, arrived)
	s.write("db", ofKind("apps", "StatefulSet"), arrived)
	s.write("db-1", ofKind("apps", "ControllerRevision"), func(st *observation.State) {
		st.Reconciled = false
		st.Owners = []object.Owner{{
			Kind: object.Kind{Group: "apps", Version: "v1", Kind: "StatefulSet"}, Name: "db", UID: "uid-db",
			Controller: true,
		}}
	})
	s.before()
	s.write("default", deleting)
	s.gone("db-1")
	s.gone("db")
	s.gone("default")
	var got []string
	for _, tr := range observe(s.seen).Traces(s.now().Add(time.Hour)) {
		for _, w := range tr.Root().Facts.Writes {
			name := "default"
			if w.Of != nil {
				name = w.Of.Name
			}
			got = append(got, w.Verb+" "+name)
		}
	}
	if diff := cmp.Diff([]string{"delete default", "delete db-1", "remove default"}, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}
