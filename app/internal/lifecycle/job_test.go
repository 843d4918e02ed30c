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
