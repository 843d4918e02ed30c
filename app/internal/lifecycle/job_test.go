// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"fmt"
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
	if n := len(observe(s.seen).Take(s.now().Add(time.Minute))); n > 0 {
		t.Errorf("%d traces were handed out in the pause", n)
	}
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
			if diff := cmp.Diff(tc.want, plain(observe(s.seen).Traces(s.now().Add(time.Minute)))); diff != "" {
				t.Errorf("%s: -want +got:\n%s", tc.reason, diff)
			}
			inAnyOrder(t, s, outline)
		})
	}
}

// TestScheduledRuns: each run of a CronJob is one change with a link to the CronJob. None of them heals another one.
// The removal of an old run belongs to the newest one.
func TestScheduledRuns(t *testing.T) {
	s := newStory()
	s.write("tick", ofKind("batch", "CronJob"), by("user-a"), func(st *observation.State) {
		st.ObservedGeneration, st.Progress = -1, observation.ProgressCurrent
	})
	run := func(name string, progress observation.Progress) {
		s.wait(time.Minute)
		s.write(name, work, managedBy(change.Manager), controlled(kind.CronJob.Kind, "tick"))
		s.write(name+"-p", pod(""), controlled(kind.Job.Kind, name))
		s.write(name+"-p", bind)
		s.wait(2 * time.Second)
		condition := observation.Condition{Type: "Complete", Status: "True"}
		s.write(name+"-p", func(st *observation.State) {
			st.Pod.Phase, st.Progress = "Succeeded", observation.ProgressCurrent
			if progress == observation.ProgressFailed {
				st.Pod.Phase, st.Pod.Reason, st.Progress = "Failed", "Error", progress
				condition = observation.Condition{Type: "Failed", Status: "True", Reason: "BackoffLimitExceeded"}
			}
		})
		s.write(name, func(st *observation.State) {
			st.Progress, st.Conditions = progress, []observation.Condition{condition}
		})
	}
	run("tick-1", observation.ProgressCurrent)
	run("tick-2", observation.ProgressFailed)
	run("tick-3", observation.ProgressCurrent)
	s.gone("tick-1")
	s.write("tick-1-p", deleting)
	s.gone("tick-1-p")
	run("tick-4", observation.ProgressCurrent)

	const want = `trace 0 converged
  reconcile CronJob tick converged
trace 1 converged
  reconcile Job tick-1 converged ~owner
    reconcile Pod tick-1-p converged (owner)
trace 2 failed: Job tick-2 failed: Pod tick-2-p failed: Error
  reconcile Job tick-2 failed ~owner
    reconcile Pod tick-2-p failed (owner)
trace 3 converged
  reconcile Job tick-3 converged ~owner
    reconcile Pod tick-3-p converged (owner)
    reconcile Job tick-1 deleted (time) ~previous
      reconcile Pod tick-1-p deleted (owner) ~previous
trace 4 converged
  reconcile Job tick-4 converged ~owner
    reconcile Pod tick-4-p converged (owner)
`
	links := []string{
		"Job tick-1 of 1: owner CronJob tick of 0", "Job tick-2 of 2: owner CronJob tick of 0",
		"Job tick-3 of 3: owner CronJob tick of 0", "Job tick-1 of 3: previous Job tick-1 of 1",
		"Pod tick-1-p of 3: previous Pod tick-1-p of 1", "Job tick-4 of 4: owner CronJob tick of 0",
	}
	authors := []string{
		"CronJob tick: user-a ", "Job tick-1: cronjob-controller ", "Job tick-2: cronjob-controller ",
		"Job tick-3: cronjob-controller ", "Job tick-4: cronjob-controller ",
	}
	for how, traces := range map[string][]*span.Trace{
		"at the end": observe(s.seen).Traces(s.now().Add(time.Minute)), "with a look every second": looks(s),
	} {
		if diff := cmp.Diff(want, plain(traces)); diff != "" {
			t.Errorf("%s: -want +got:\n%s", how, diff)
		}
		if diff := cmp.Diff(links, linksOf(traces)); diff != "" {
			t.Errorf("%s: links: -want +got:\n%s", how, diff)
		}
		if diff := cmp.Diff(authors, authorsOf(traces)); diff != "" {
			t.Errorf("%s: authors: -want +got:\n%s", how, diff)
		}
	}
	inAnyOrder(t, s, outline)
}

// TestResumedByQueue: the resumption of a Job by a queue lasts until the completion. It does not end before the Job
// controller answers, 10 s later.
func TestResumedByQueue(t *testing.T) {
	const account = "system:serviceaccount:kueue-system:kueue-controller-manager"
	suspended := func(status string) func(*observation.State) {
		return func(st *observation.State) {
			st.Conditions = []observation.Condition{{Type: "Suspended", Status: status}}
		}
	}
	s := newStory()
	s.write("job", work, valued("spec.suspend", 2), valued("spec.template", 1), by("user-a"), fresh,
		func(st *observation.State) { st.Workload = &observation.Workload{} })
	s.write("job", suspended("True"), func(st *observation.State) { st.Progress = observation.ProgressCurrent })
	s.wait(time.Minute)
	s.write("job", valued("spec.suspend", 1), by("kueue"), func(st *observation.State) {
		st.Workload.Replicas, st.Progress = 1, observation.ProgressInProgress
	})
	s.audited("job", "update", person(account), func(w *observation.Write) {
		w.UserAgent, w.Manager = "kueue/v0.9", "kueue"
	})
	begun := s.now()
	s.wait(10 * time.Second)
	s.write("job", suspended("False"))
	s.write("job-a", pod(""), controlled(kind.Job.Kind, "job"))
	s.write("job-a", bind)
	s.wait(4500 * time.Millisecond)
	s.write("job-a", func(st *observation.State) {
		st.Pod.Phase, st.Progress = "Succeeded", observation.ProgressCurrent
	})
	s.write("job", func(st *observation.State) {
		st.Progress = observation.ProgressCurrent
		st.Conditions = []observation.Condition{{Type: "Complete", Status: "True"}}
	})
	if took := s.now().Sub(begun); took != 15*time.Second {
		t.Fatalf("the story takes %s", took)
	}
	const want = `trace 0 converged
  reconcile Job job converged
trace 1 converged
  reconcile Job job converged ~previous
    update Job job (request)
    reconcile Pod job-a converged (owner)
`
	for how, traces := range map[string][]*span.Trace{
		"at the end": observe(s.seen).Traces(s.now().Add(time.Minute)), "with a look every second": looks(s),
	} {
		if diff := cmp.Diff(want, plain(traces)); diff != "" {
			t.Fatalf("%s: -want +got:\n%s", how, diff)
		}
		if diff := cmp.Diff([]string{"Job job: user-a ", "Job job: kueue " + account}, authorsOf(traces)); diff != "" {
			t.Errorf("%s: authors: -want +got:\n%s", how, diff)
		}
		root := traces[1].Root()
		if took := root.End.Sub(root.Start.Time).Round(100 * time.Millisecond); took != 15*time.Second {
			t.Errorf("%s: took %s, want 15 s", how, took)
		}
	}
	inAnyOrder(t, s, outline)
}
