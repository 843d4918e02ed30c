// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
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

// refused is a ReplicaSet whose last Pod was refused.
func refused(st *observation.State) {
	st.ObservedGeneration = st.Generation
	st.Workload.Total = 1
	st.Conditions = []observation.Condition{
		{Type: "ReplicaFailure", Status: "True", Reason: change.FailedCreate, Message: exceeded},
	}
}

// accepted is the same ReplicaSet after all Pods were created.
func accepted(st *observation.State) {
	st.Conditions = nil
	st.Workload.Total = st.Workload.Replicas
}

// refusal is an Event about a refused dependant.
func (s *story) refusal(owner string) {
	s.rv++
	s.emit(observation.Observation{Event: &observation.Event{
		ResourceVersion: s.rv, Regarding: s.objects[owner].Ref, Type: "Warning", Reason: change.FailedCreate,
		Note: "Error creating: " + exceeded, Time: s.now(),
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

// TestQuotas: a Pod that a quota had refused has a link to the change that let it through.
func TestQuotas(t *testing.T) {
	start := func(s *story) {
		s.write("few", quota)
		s.wait(time.Minute)
		s.write("web", deployment(2))
		s.write("web-1", replicaSet("web", 2))
		s.write("web-1-a", pod("web-1"))
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
		}, []string{"web-1-b"}},
		"deleted": {"without the quota nothing refuses", func(s *story) {
			start(s)
			s.write("web-1", refused)
			s.gone("few")
			s.write("web-1-b", pod("web-1"))
			s.write("web-1", accepted)
		}, []string{"web-1-b"}},
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
		}, []string{"web-1-b"}},
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
			s.refusal("work")
			s.wait(10 * time.Second)
			s.write("few", raise)
			s.wait(10 * time.Second)
			s.write("work-a", workPod)
			s.write("work", func(*observation.State) {})
			s.write("work-b", workPod)
		}, []string{"work-a"}},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStory()
			tc.tell(s)
			linked := func(outline string) []string {
				var out []string
				for line := range strings.Lines(outline) {
					if words := strings.Fields(line); strings.Contains(line, "~quota") {
						out = append(out, words[2])
					}
				}
				return out
			}
			if diff := cmp.Diff(tc.want, linked(s.outline(t))); diff != "" {
				t.Errorf("%s: (-want +got)\n%s\n%s", tc.reason, diff, s.outline(t))
			}
			for seed := range uint64(8) {
				other := *s
				other.seen = permuted(s.seen, seed)
				if diff := cmp.Diff(s.outline(t), other.outline(t)); diff != "" {
					t.Errorf("in another order: (-want +got)\n%s", diff)
				}
			}
		})
	}
}

// TestRefusedJob: a Job has no condition for a refused Pod, but an Event.
func TestRefusedJob(t *testing.T) {
	s := newStory()
	s.write("work", work)
	s.refusal("work")
	want := "trace 0 unfinished: Job work: " + exceeded + "\n  reconcile Job work\n"
	if diff := cmp.Diff(want, s.outline(t)); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	s.write("work-a", workPod)
	if got := s.outline(t); strings.Contains(got, "exceeded") {
		t.Errorf("got after the creation of the Pod\n%s", got)
	}
}
