// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"regexp"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kube-lifeline/lifeline/app/internal/kind"
	"github.com/kube-lifeline/lifeline/app/internal/observation"
)

// ofRequests are the lines of requests.
var ofRequests = regexp.MustCompile(`(?m)^ +.* \(request\)\n`)

// kueue is the field manager of Kueue.
const kueue = "kueue"

// TestQueuedJob: Kueue makes the Workload of a suspended Job, resumes the Job and may suspend it again. All this
// belongs to the change of the person, with and without the audit log.
func TestQueuedJob(t *testing.T) {
	for name, tc := range map[string]struct {
		reason string
		tell   func(*queue)
		want   string
	}{
		"Kueue": {
			"the maker of the Workload acts for the Job", func(q *queue) {
				q.suspend(kueue, false)
				q.run("pod")
			},
			"trace 0 converged\n  reconcile Job job converged\n" +
				"    reconcile Workload load converged (owner)\n    reconcile Pod pod converged (owner)\n",
		},
		"Person": {
			"somebody else resumes the Job", func(q *queue) {
				q.suspend("user-b", false)
				q.run("pod")
			},
			"trace 0 superseded\n  reconcile Job job superseded\n" +
				"    reconcile Workload load converged (owner)\n" +
				"trace 1 converged\n  reconcile Job job converged ~previous\n" +
				"    reconcile Pod pod converged (owner)\n",
		},
		"Preemption": {
			"Kueue suspends the Job for another one, and resumes it later", func(q *queue) {
				q.suspend(kueue, false)
				q.write("old", pod(""), controlled(kind.Job.Kind, "job"))
				q.suspend(kueue, true)
				q.write("old", deleting)
				q.gone("old")
				q.wait(time.Minute)
				q.suspend(kueue, false)
				q.run("pod")
			},
			"trace 0 converged\n  reconcile Job job converged\n    reconcile Workload load converged (owner)\n" +
				"    reconcile Pod old superseded (owner)\n    reconcile Pod old deleted (owner)\n" +
				"    reconcile Pod pod converged (owner)\n",
		},
	} {
		for _, audited := range []bool{false, true} {
			t.Run(name, func(t *testing.T) {
				q := &queue{newStory(), audited}
				q.begin()
				tc.tell(q)
				if diff := cmp.Diff(
					tc.want,
					ofRequests.ReplaceAllString(plain(observe(q.seen).Traces(q.now().Add(time.Minute))), ""),
				); diff != "" {
					t.Errorf("%s, audit log %t: -want +got:\n%s", tc.reason, audited, diff)
				}
				inAnyOrder(t, q.story, outline)
			})
		}
	}
}

// queue is the story of a Job with a queue of Kueue.
type queue struct {
	*story

	logged bool
}

// log adds the audit event of the last write, if there is an audit log.
func (q *queue) log(object, verb, author string) {
	if !q.logged {
		return
	}
	q.audited(object, verb, func(w *observation.Write) {
		w.User, w.UserAgent, w.Manager = author, author, author
		if author == kueue {
			w.User = "system:serviceaccount:kueue-system:kueue-controller-manager"
		}
	})
}

// begin makes a suspended Job and its Workload, which is admitted a minute later.
func (q *queue) begin() {
	q.write("job", ofKind("batch", "Job"), set("spec.suspend"), by("user-a"), func(st *observation.State) {
		st.Workload = &observation.Workload{}
		st.ObservedGeneration, st.Progress = -1, observation.ProgressInProgress
	})
	q.log("job", "create", "user-a")
	q.write("job", func(st *observation.State) {
		st.Conditions = []observation.Condition{{Type: "Suspended", Status: "True"}}
	})
	load := kind.Workload.Kind
	q.write("load", ofKind(load.Group, load.Kind), controlled(kind.Job.Kind, "job"), by(kueue),
		func(st *observation.State) { st.ObservedGeneration = -1 })
	q.log("load", "create", kueue)
	q.wait(time.Minute)
	q.write("load", func(st *observation.State) {
		st.Conditions = []observation.Condition{{Type: "Admitted", Status: "True"}}
		st.Progress = observation.ProgressCurrent
	})
}

// suspend suspends or resumes the Job as that author.
func (q *queue) suspend(author string, suspended bool) {
	q.write("job", set("spec.suspend"), by(author), func(st *observation.State) {
		st.Workload.Replicas = 1
		if suspended {
			st.Workload.Replicas = 0
		}
	})
	q.log("job", "update", author)
}

// run completes the Job with a Pod of that name.
func (q *queue) run(name string) {
	q.write(name, pod(""), controlled(kind.Job.Kind, "job"))
	q.write(name, func(st *observation.State) {
		st.Pod.Phase, st.Progress = "Succeeded", observation.ProgressCurrent
	})
	q.write("job", func(st *observation.State) {
		st.Progress = observation.ProgressCurrent
		st.Conditions = []observation.Condition{{Type: "Complete", Status: "True"}}
	})
}
