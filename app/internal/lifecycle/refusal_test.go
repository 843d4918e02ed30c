// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kube-lifeline/lifeline/app/internal/change"
	"github.com/kube-lifeline/lifeline/app/internal/kind"
	"github.com/kube-lifeline/lifeline/app/internal/object"
	"github.com/kube-lifeline/lifeline/app/internal/observation"
)

const exceeded = `pods "web-1-b" is forbidden: exceeded quota: few, requested: pods=1, used: pods=1, limited: pods=1`

// beyond is the refusal of a Pod by a LimitRange, which it does not name.
const beyond = `pods "web-1-b" is forbidden: maximum cpu usage per Container is 1, but limit is 2`

// limits is the manifest of a LimitRange.
func limits(st *observation.State) {
	ofKind("", kind.LimitRange.Kind.Kind)(st)
	st.Reconciled, st.ObservedGeneration, st.Progress = false, -1, observation.ProgressCurrent
	relax(st)
}

// relax changes a LimitRange.
func relax(st *observation.State) {
	set("spec.limits")(st)
	st.Generation = 0
}

// quota is the manifest of a ResourceQuota.
func quota(st *observation.State) {
	ofKind("", kind.ResourceQuota.Kind.Kind)(st)
	st.Generation, st.ObservedGeneration, st.Progress = 0, -1, observation.ProgressCurrent
	set("spec.hard.pods")(st)
	st.Generation = 0
}

// raise changes a quota.
func raise(st *observation.State) {
	set("spec.hard.pods")(st)
	st.Generation = 0
}

// refused is a ReplicaSet whose last Pod was refused by a quota.
func refused(st *observation.State) { refusedFor(exceeded)(st) }

// refusedFor is a ReplicaSet whose last Pod was refused with that message.
func refusedFor(message string) func(*observation.State) {
	return func(st *observation.State) {
		st.ObservedGeneration = st.Generation
		st.Workload.Total = 1
		st.Conditions = []observation.Condition{
			{Type: "ReplicaFailure", Status: "True", Reason: change.FailedCreate, Message: message},
		}
	}
}

// accepted is the same ReplicaSet after all Pods were created.
func accepted(st *observation.State) {
	st.Conditions = nil
	st.Workload.Total = st.Workload.Replicas
}

// refusal is an Event about a dependant that was refused with that message.
func (s *story) refusal(owner, message string) {
	s.rv++
	s.emit(observation.Observation{Event: &observation.Event{
		ResourceVersion: s.rv, Regarding: s.objects[owner].Ref, Type: "Warning", Reason: change.FailedCreate,
		Note: "Error creating: " + message, Time: s.now(),
	}})
}

// work is a Job, and workPod one of its Pods.
func work(st *observation.State) {
	ofKind("batch", "Job")(st)
	st.ObservedGeneration, st.Progress = -1, observation.ProgressInProgress
	st.Managers = []observation.Manager{{Name: "kubectl-create", Operation: "Update", Fields: 1}}
}

func workPod(st *observation.State) {
	pod("")(st)
	st.Owners = []object.Owner{{Kind: kind.Job.Kind, Name: "work", UID: "uid-work", Controller: true}}
}

// TestRefused: a Pod that a quota or a LimitRange had refused has a link to the change that let it through.
func TestRefused(t *testing.T) {
	begin := func(s *story) {
		s.write("web", deployment(2))
		s.write("web-1", replicaSet("web", 2))
		s.write("web-1-a", pod("web-1"))
	}
	start := func(s *story) {
		s.write("few", quota)
		s.wait(time.Minute)
		begin(s)
	}
	ranged := func(s *story, names ...string) {
		for _, name := range names {
			s.write(name, limits)
		}
		s.wait(time.Minute)
		begin(s)
		s.write("web-1", refusedFor(beyond))
		s.wait(10 * time.Second)
	}
	created := func(s *story) {
		s.wait(10 * time.Second)
		s.write("web-1-b", pod("web-1"))
		s.write("web-1", accepted)
	}
	for name, tc := range map[string]struct {
		reason string
		tell   func(*story)
		// want are the Pods with such a link.
		want []string
	}{
		"raised": {"the refused Pod is created after the raise", func(s *story) {
			start(s)
			s.write("web-1", refused)
			s.wait(10 * time.Second)
			s.write("few", raise)
			s.wait(10 * time.Second)
			s.write("web-1-b", pod("web-1"))
			s.write("web-1", accepted)
		}, []string{"web-1-b quota"}},
		"deleted": {"without the quota nothing refuses", func(s *story) {
			start(s)
			s.write("web-1", refused)
			s.gone("few")
			s.write("web-1-b", pod("web-1"))
			s.write("web-1", accepted)
		}, []string{"web-1-b quota"}},
		"raised before": {"the raise did not suffice", func(s *story) {
			start(s)
			s.write("few", raise)
			s.write("web-1", refused)
			s.gone("web-1-a")
			s.write("web-1-b", pod("web-1"))
		}, nil},
		"replaced later": {"a later Pod was never refused", func(s *story) {
			start(s)
			s.write("web-1", refused)
			s.write("few", raise)
			s.write("web-1-b", pod("web-1"))
			s.write("web-1", accepted)
			s.gone("web-1-b")
			s.write("web-1-c", pod("web-1"))
		}, []string{"web-1-b quota"}},
		"another quota": {"it refused nothing", func(s *story) {
			s.write("other", quota)
			start(s)
			s.write("web-1", refused)
			s.write("other", raise)
			s.gone("web-1-a")
			s.write("web-1-b", pod("web-1"))
		}, nil},
		"Job": {"only an Event names the quota", func(s *story) {
			s.write("few", quota)
			s.wait(time.Minute)
			s.write("work", work)
			s.refusal("work", exceeded)
			s.wait(10 * time.Second)
			s.write("few", raise)
			s.wait(10 * time.Second)
			s.write("work-a", workPod)
			s.write("work", func(*observation.State) {})
			s.write("work-b", workPod)
		}, []string{"work-a quota"}},
		"relaxed": {"the refused Pod is created after the change of the LimitRange", func(s *story) {
			ranged(s, "sizes")
			s.write("sizes", relax)
			created(s)
		}, []string{"web-1-b limit-range"}},
		"long relaxed": {"a LimitRange that was handed out is remembered", func(s *story) {
			ranged(s, "sizes")
			s.write("sizes", relax)
			s.wait(10 * time.Minute)
			created(s)
		}, []string{"web-1-b limit-range"}},
		"LimitRange deleted": {"without it nothing refuses", func(s *story) {
			ranged(s, "sizes")
			s.gone("sizes")
			s.wait(10 * time.Minute)
			created(s)
		}, []string{"web-1-b limit-range"}},
		"two LimitRanges": {"the unchanged one did not let it through", func(s *story) {
			ranged(s, "sizes", "other")
			s.write("sizes", relax)
			created(s)
		}, []string{"web-1-b limit-range"}},
		"two relaxed": {"either may have refused", func(s *story) {
			ranged(s, "sizes", "other")
			s.write("sizes", relax)
			s.write("other", relax)
			created(s)
		}, []string{"web-1-b limit-range limit-range"}},
		"five LimitRanges": {"too many may have refused", func(s *story) {
			ranged(s, "sizes", "b", "c", "d", "e")
			s.write("sizes", relax)
			created(s)
		}, nil},
		"LimitRange labelled": {"a label refuses nothing", func(s *story) {
			ranged(s, "sizes")
			s.write("sizes", set("metadata.labels.a"), func(st *observation.State) { st.Generation = 0 })
			created(s)
		}, nil},
		"another Namespace": {"its LimitRange refused nothing", func(s *story) {
			s.write("sizes", limits, func(st *observation.State) { st.Namespace = "other" })
			ranged(s)
			s.write("sizes", relax)
			created(s)
		}, nil},
		"refused by both": {"each refusal has its own relation", func(s *story) {
			s.write("few", quota)
			ranged(s, "sizes")
			s.write("sizes", relax)
			s.write("web-1", refused)
			s.write("few", raise)
			created(s)
		}, []string{"web-1-b limit-range quota"}},
		"LimitRange, Job": {"only an Event has the refusal", func(s *story) {
			s.write("sizes", limits)
			s.write("work", work)
			s.refusal("work", beyond)
			s.write("sizes", relax)
			s.wait(10 * time.Second)
			s.write("work-a", workPod)
		}, []string{"work-a limit-range"}},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStory()
			tc.tell(s)
			linked := func(outline string) []string {
				var out []string
				for line := range strings.Lines(outline) {
					words := strings.Fields(line)
					to := slices.DeleteFunc(slices.Clone(words), func(w string) bool {
						return w != "~quota" && w != "~limit-range"
					})
					if len(to) > 0 {
						out = append(out, strings.ReplaceAll(words[2]+" "+strings.Join(to, " "), "~", ""))
					}
				}
				return out
			}
			if diff := cmp.Diff(tc.want, linked(s.outline(t))); diff != "" {
				t.Errorf("%s: (-want +got)\n%s\n%s", tc.reason, diff, s.outline(t))
			}
			takeAsSeen(t, tc.reason, s.seen)
			inAnyOrder(t, s, outline)
		})
	}
}

// TestRefusedJob: a Job has no condition for a refused Pod, but an Event.
func TestRefusedJob(t *testing.T) {
	for _, message := range []string{exceeded, beyond} {
		s := newStory()
		s.write("work", work)
		s.refusal("work", message)
		_, why, _ := strings.Cut(message, "is forbidden: ")
		want := "trace 0 unfinished: Job work cannot create its Pods: " + why + "\n  reconcile Job work\n"
		if diff := cmp.Diff(want, s.outline(t)); diff != "" {
			t.Errorf("(-want +got)\n%s", diff)
		}
		s.write("work-a", workPod)
		if got := s.outline(t); strings.Contains(got, message) {
			t.Errorf("got after the creation of the Pod\n%s", got)
		}
	}
}
