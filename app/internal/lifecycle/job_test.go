// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"fmt"
	"regexp"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kube-lifeline/lifeline/app/internal/cause"
	"github.com/kube-lifeline/lifeline/app/internal/change"
	"github.com/kube-lifeline/lifeline/app/internal/kind"
	"github.com/kube-lifeline/lifeline/app/internal/object"
	"github.com/kube-lifeline/lifeline/app/internal/observation"
	"github.com/kube-lifeline/lifeline/app/internal/span"
)

// controlled names the controller owner of an object.
func controlled(by object.Kind, name string) func(*observation.State) {
	return func(st *observation.State) {
		st.Owners = []object.Owner{{Kind: by, Name: name, UID: types.UID("uid-" + name), Controller: true}}
	}
}

// TestRetry: a failed Pod of a Job is an attempt as long as the Job goes on. Its trace is open, and has the reason
// of the retry until the next Pod.
func TestRetry(t *testing.T) {
	ofJob := controlled(object.Kind{Group: "batch", Version: "v1", Kind: "Job"}, "job")
	s := newStory()
	check := func(when string, want span.Outcome, text string) {
		t.Helper()
		traces := observe(s.seen).Traces(s.now().Add(time.Second))
		if len(traces) != 1 || traces[0].Outcome != want || traces[0].Reason != text {
			t.Errorf("%s: got %q in\n%s\nwant one trace, %s: %q", when, traces[0].Reason, outline(traces), want, text)
		}
	}
	s.write("job", ofKind("batch", "Job"), func(st *observation.State) {
		st.ObservedGeneration, st.Progress = -1, observation.ProgressInProgress
	})
	s.write("a", pod(""), ofJob)
	s.write("a", bind)
	s.wait(time.Second)
	s.write("a", func(st *observation.State) { st.Pod.Phase, st.Pod.Reason = "Failed", "Error" })
	s.wait(10 * time.Second)
	check("in the pause", span.Unfinished, "Job job tries again after Pod a failed: Error")
	s.write("b", pod(""), ofJob)
	s.write("b", bind)
	check("at the second attempt", span.Unfinished, "Pod b waits for container app to start")
	s.write("b", func(st *observation.State) { st.Pod.Phase = "Succeeded" })
	s.write("job", arrived)
	check("at the end", span.Converged, "")
}

// TestRetryPauses: a pause lasts from the failure of a Pod to the next Pod, whichever Pod was made first.
func TestRetryPauses(t *testing.T) {
	ofJob := controlled(object.Kind{Group: "batch", Version: "v1", Kind: "Job"}, "job")
	failed := func(st *observation.State) { st.Pod.Phase, st.Pod.Reason = "Failed", "Error" }
	s := newStory()
	s.write("job", ofKind("batch", "Job"), func(st *observation.State) {
		st.ObservedGeneration, st.Progress = -1, observation.ProgressInProgress
	})
	for _, name := range []string{"a", "b"} {
		s.write(name, pod(""), ofJob)
		s.write(name, bind)
	}
	s.wait(10 * time.Second)
	s.write("b", failed)
	s.wait(10 * time.Second)
	s.write("c", pod(""), ofJob)
	s.wait(20 * time.Second)
	s.write("a", failed)
	s.wait(20 * time.Second)
	s.write("d", pod(""), ofJob)
	var got []string
	for _, tr := range observe(s.seen).Traces(s.now().Add(time.Second)) {
		for _, sp := range tr.Spans {
			if sp.Name == span.NameRetry {
				got = append(got, fmt.Sprint(sp.End.Sub(sp.Start.Time).Round(time.Second)))
			}
		}
	}
	if diff := cmp.Diff([]string{"10s", "20s"}, got); diff != "" {
		t.Errorf("pauses: -want +got:\n%s", diff)
	}
}

// TestEphemeralVolume: the claim of a Pod is made by another controller than the kubelet. It is below its
// Pod with and without the audit log.
func TestEphemeralVolume(t *testing.T) {
	for _, audit := range []bool{false, true} {
		s := newStory()
		s.write("web", pod(""))
		s.write("web-data", ofKind("", "PersistentVolumeClaim"),
			controlled(object.Kind{Version: "v1", Kind: "Pod"}, "web"), func(st *observation.State) {
				st.Managers = []observation.Manager{{Name: change.Manager, Operation: "Update", Fields: 1}}
				st.ObservedGeneration = -1
			})
		if audit {
			s.audited("web-data", "create", func(w *observation.Write) {
				w.User, w.Manager = cause.ControllerAccounts+"ephemeral-volume-controller", change.Manager
			})
		}
		if n := len(observe(s.seen).Traces(s.now().Add(time.Minute))); n != 1 {
			t.Errorf("audit log %t: %d traces, want 1:\n%s", audit, n, s.outline(t))
		}
	}
}

// TestLongCommand: a write of a command stays in its trace for as long as the command runs.
func TestLongCommand(t *testing.T) {
	s, e, n := newStory(), New(Options{Cluster: "test"}), 0
	play := func() {
		for _, o := range s.seen[n:] {
			e.Observe(o)
		}
		n = len(s.seen)
	}
	s.run(runID, "helm install --wait")
	s.write("settings", ofKind("", "ConfigMap"), func(st *observation.State) { st.Reconciled = false })
	s.requested(runID, "create", 201)
	s.write("head", custom("Head"))
	s.requested(runID, "create", 201)
	for range 12 {
		play()
		s.wait(30 * time.Second)
		e.Take(s.now())
	}
	s.write("head", arrived)
	s.ran(runID, "helm install --wait")
	play()
	want := "trace 0 converged\n  run converged\n    create ConfigMap settings (request)\n" +
		"    reconcile Head head converged (request)\n      create Head head (request)\n"
	if diff := cmp.Diff(want, outline(e.Take(s.now().Add(time.Minute)))); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// steps are the lines of phases and of requests.
var steps = regexp.MustCompile(`(?m)^ +((schedule|terminate) .*|.* \(request\))\n`)

// TestJobSlots: a Pod of a Job belongs to the change that wanted its completion index, or one more Pod at
// the same time (rule D4).
func TestJobSlots(t *testing.T) {
	begin := func(slots int32) func(*story) {
		return func(s *story) {
			s.write("job", ofKind("batch", "Job"), set("spec.template"), by("user-a"), func(st *observation.State) {
				st.Workload = &observation.Workload{Replicas: slots}
				st.ObservedGeneration, st.Progress = -1, observation.ProgressInProgress
			})
		}
	}
	edit := func(s *story, path string, slots int32) {
		s.write("job", set(path), by("user-b"), func(st *observation.State) { st.Workload.Replicas = slots })
	}
	active := func(s *story, n int32) {
		s.write("job", func(st *observation.State) { st.Workload.Total = n })
	}
	create := func(s *story, names ...string) {
		for _, name := range names {
			s.write(name, pod(""), controlled(kind.Job.Kind, "job"))
			s.wait(time.Second)
		}
	}
	succeed := func(s *story, names ...string) {
		for _, name := range names {
			s.write(name, func(st *observation.State) {
				st.Pod.Phase, st.Progress = "Succeeded", observation.ProgressCurrent
			})
		}
	}
	complete := func(s *story) {
		s.write("job", func(st *observation.State) {
			st.Workload.Total, st.Progress = 0, observation.ProgressCurrent
			st.Conditions = []observation.Condition{{Type: "Complete", Status: "True"}}
		})
	}
	for name, tc := range map[string]struct {
		reason string
		begin  func(*story)
		tell   func(*story)
		want   string
	}{
		"Parallelism": {"the raise wants one more Pod, and again when that ends", begin(1), func(s *story) {
			create(s, "a")
			active(s, 1)
			edit(s, "spec.parallelism", 2)
			create(s, "b")
			active(s, 2)
			succeed(s, "a")
			create(s, "c") // in the place of a
			succeed(s, "b")
			create(s, "d") // in the place of b
			succeed(s, "c", "d")
			complete(s)
		}, "trace 0 converged\n  reconcile Job job converged ~concurrent\n" +
			"    reconcile Pod a converged (owner)\n    reconcile Pod c converged (owner)\n" +
			"trace 1 converged\n  reconcile Job job converged ~concurrent\n" +
			"    reconcile Pod b converged (owner)\n    reconcile Pod d converged (owner)\n"},
		"Index": {"each completion index has its own change", begin(2), func(s *story) {
			create(s, "job-0-a", "job-1-a")
			active(s, 2)
			edit(s, "spec.completions", 1)
			s.write("job-1-a", deleting)
			s.gone("job-1-a")
			active(s, 1)
			s.wait(time.Minute)
			edit(s, "spec.completions", 3)
			create(s, "job-1-b", "job-2-a")
			succeed(s, "job-0-a", "job-1-b", "job-2-a")
			complete(s)
		}, "trace 0 converged\n  reconcile Job job converged ~concurrent ~concurrent\n" +
			"    reconcile Pod job-0-a converged (owner)\n    reconcile Pod job-1-a superseded (owner)\n" +
			"trace 1 converged\n  reconcile Job job converged ~concurrent\n" +
			"    reconcile Pod job-1-a deleted (owner) ~previous\n" +
			"trace 2 converged\n  reconcile Job job converged ~concurrent ~previous\n" +
			"    reconcile Pod job-1-b converged (owner)\n    reconcile Pod job-2-a converged (owner)\n"},
		"Fewer": {"a decrease deletes the Pod above it, and has then converged", begin(2), func(s *story) {
			create(s, "a", "b")
			active(s, 2)
			edit(s, "spec.parallelism", 1)
			s.write("b", deleting)
			s.gone("b")
			active(s, 1)
			succeed(s, "a")
			create(s, "c")
			succeed(s, "c")
			complete(s)
		}, "trace 0 converged\n  reconcile Job job converged ~concurrent\n" +
			"    reconcile Pod a converged (owner)\n    reconcile Pod b superseded (owner)\n" +
			"    reconcile Pod c converged (owner)\n" +
			"trace 1 converged\n  reconcile Job job converged ~concurrent\n" +
			"    reconcile Pod b deleted (owner) ~previous\n"},
		"Suspended": {"the resumption wants the Pods", begin(1), func(s *story) {
			create(s, "a")
			active(s, 1)
			edit(s, "spec.suspend", 0)
			s.write("a", deleting)
			s.gone("a")
			s.write("job", func(st *observation.State) {
				st.Workload.Total, st.Progress = 0, observation.ProgressCurrent
				st.Conditions = []observation.Condition{{Type: "Suspended", Status: "True"}}
			})
			s.wait(time.Minute)
			s.write("job", set("spec.suspend"), by("user-c"), func(st *observation.State) {
				st.Workload.Replicas, st.Progress = 1, observation.ProgressInProgress
			})
			create(s, "b")
			succeed(s, "b")
			complete(s)
		}, "trace 0 superseded\n  reconcile Job job superseded\n    reconcile Pod a superseded (owner)\n" +
			"trace 1 converged\n  reconcile Job job converged ~previous\n" +
			"    reconcile Pod a deleted (owner) ~previous\n" +
			"trace 2 converged\n  reconcile Job job converged ~previous\n" +
			"    reconcile Pod b converged (owner)\n"},
		"Other": {"a change of another field wants no Pod", begin(1), func(s *story) {
			create(s, "a")
			edit(s, "spec.backoffLimit", 1)
			succeed(s, "a")
			create(s, "b")
			succeed(s, "b")
			complete(s)
		}, "trace 0 converged\n  reconcile Job job converged ~concurrent\n" +
			"    reconcile Pod a converged (owner)\n    reconcile Pod b converged (owner)\n" +
			"trace 1 converged\n  reconcile Job job converged ~concurrent\n"},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStory()
			tc.begin(s)
			tc.tell(s)
			if diff := cmp.Diff(tc.want, steps.ReplaceAllString(s.outline(t), "")); diff != "" {
				t.Errorf("%s: -want +got:\n%s", tc.reason, diff)
			}
			inAnyOrder(t, s, outline)
		})
	}
}
