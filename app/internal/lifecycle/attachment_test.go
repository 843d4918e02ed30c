// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kube-lifeline/lifeline/app/internal/change"
	"github.com/kube-lifeline/lifeline/app/internal/object"
	"github.com/kube-lifeline/lifeline/app/internal/observation"
	"github.com/kube-lifeline/lifeline/app/internal/span"
)

// boundClaim is a claim that was bound to volume pv-1 before the start of the observer.
func boundClaim(st *observation.State) {
	ofKind("", "PersistentVolumeClaim")(st)
	st.ObservedGeneration, st.Progress = -1, observation.ProgressCurrent
	st.Relations = []object.Relation{{Type: object.Volume, To: object.Name{Kind: "PersistentVolume", Name: "pv-1"}}}
}

// claiming lets a Pod use claim data.
func claiming(st *observation.State) {
	st.Relations = []object.Relation{{
		Type: object.Claim, To: object.Name{Kind: "PersistentVolumeClaim", Namespace: "default", Name: "data"},
	}}
}

// attachment is a new VolumeAttachment of volume pv-1 to node-1.
func attachment(st *observation.State) {
	ofKind("storage.k8s.io", "VolumeAttachment")(st)
	st.Namespace, st.ObservedGeneration, st.Progress = "", -1, observation.ProgressInProgress
	st.ProgressMessage = observation.Attaching + "disk.example.com"
	st.Relations = []object.Relation{{Type: object.Volume, To: object.Name{Kind: "PersistentVolume", Name: "pv-1"}}}
	shown("spec.attacher", "disk.example.com", "spec.nodeName", "node-1")(st)
	st.Managers = []observation.Manager{{Name: change.Manager, Operation: "Update", Fields: 1}}
}

// unattached sets an error of the attacher.
func unattached(st *observation.State) {
	st.ProgressMessage = "rpc error: code = DeadlineExceeded desc = context deadline exceeded"
	attacher(st)
}

// attached is the end of an attachment.
func attached(st *observation.State) {
	st.Progress, st.ProgressMessage = observation.ProgressCurrent, ""
	attacher(st)
}

// attacher is the writer of the status of an attachment.
func attacher(st *observation.State) {
	st.Managers = append(st.Managers[:1:1], observation.Manager{
		Name: "csi-attacher", Operation: "Update", Subresource: "status", Fields: st.ResourceVersion,
	})
}

// attaching is a Pod by hand whose volume takes 20 s to be attached, after an error.
func (s *story) attaching(edits ...func(*observation.State)) {
	s.write("data", boundClaim)
	s.baseline()
	s.write("app", append(edits, pod(""), by("kubectl-create"), claiming)...)
	s.write("app", bind)
	s.write("csi-1", attachment)
	s.wait(5 * time.Second)
	s.write("csi-1", unattached)
}

// TestAttachment: the attachment of a volume is a part of the change of the Pod that needs it.
func TestAttachment(t *testing.T) {
	detaching := func(s *story) {
		s.write("app", deleting, by(""))
		s.wait(3 * time.Second)
		s.gone("app")
	}
	running := func(s *story) {
		s.attaching()
		s.wait(15 * time.Second)
		s.write("csi-1", attached)
		s.write("app", ready)
	}
	const (
		change = `trace 0 converged
  reconcile Pod app converged
    attach app
    reconcile VolumeAttachment csi-1 converged (relation)
`
		deletion = `trace 1 deleted
  reconcile Pod app deleted ~previous
`
	)
	tellStories(t, map[string]told{
		"Error": {reason: "the Pod waits for the attachment", tell: running, want: change},
		"Detached": {reason: "the volume goes with the Pod", tell: func(s *story) {
			running(s)
			s.wait(time.Minute)
			detaching(s)
			s.write("csi-1", deleting)
			s.wait(time.Second)
			s.gone("csi-1")
		}, want: change + deletion + `    reconcile VolumeAttachment csi-1 deleted (relation) ~previous
`, links: []string{
			"Pod app of 1: previous Pod app of 0",
			"VolumeAttachment csi-1 of 1: previous VolumeAttachment csi-1 of 0",
		}},
		"DetachedByForce": {reason: "the controller has waited for the node", tell: func(s *story) {
			running(s)
			s.wait(time.Minute)
			detaching(s)
			s.wait(6 * time.Minute)
			s.write("csi-1", deleting)
			s.wait(time.Second)
			s.gone("csi-1")
		}, want: change + deletion + `trace 2 deleted
  reconcile VolumeAttachment csi-1 deleted ~relation ~previous
`, links: []string{
			"Pod app of 1: previous Pod app of 0",
			"VolumeAttachment csi-1 of 2: relation Pod app of 1",
			"VolumeAttachment csi-1 of 2: previous VolumeAttachment csi-1 of 0",
		}},
		"ByHand": {reason: "a person deletes the attachment", tell: func(s *story) {
			running(s)
			s.wait(time.Minute)
			detaching(s)
			s.write("csi-1", deleting, by("kubectl-delete"))
			s.gone("csi-1")
		}, want: change + deletion + `trace 2 deleted
  reconcile VolumeAttachment csi-1 deleted ~previous
`, links: []string{
			"Pod app of 1: previous Pod app of 0",
			"VolumeAttachment csi-1 of 2: previous VolumeAttachment csi-1 of 0",
		}},
		"OtherNode": {reason: "the Pod is on another node", tell: func(s *story) {
			s.write("data", boundClaim)
			s.baseline()
			s.write("app", pod(""), by("kubectl-create"), claiming)
			s.write("app", bind, func(st *observation.State) { st.Pod.Node = "node-2" })
			s.write("csi-1", attachment)
			s.write("csi-1", attached)
			s.write("app", ready)
		}, want: `trace 0 converged
  reconcile Pod app converged
trace 1 converged
  reconcile VolumeAttachment csi-1 converged
`},
	})
}

// TestAttachmentReason: a Pod that waits for an attachment says why, also without Events.
func TestAttachmentReason(t *testing.T) {
	for name, tc := range map[string]struct {
		tell     func(*story)
		text     string
		category string
		step     string
	}{
		"waiting": {func(s *story) {
			s.write("data", boundClaim)
			s.baseline()
			s.write("app", pod(""), by("kubectl-create"), claiming)
			s.write("app", bind)
			s.write("csi-1", attachment)
		}, "Pod app waits for attacher disk.example.com to attach volume pv-1", "", ""},
		"error": {func(s *story) { s.attaching() },
			"Pod app cannot attach a volume: context deadline exceeded", "volume_not_attached",
			"cannot attach volume pv-1 to node node-1: context deadline exceeded"},
		"error and Event": {func(s *story) {
			s.attaching()
			s.rv++
			s.emit(observation.Observation{Event: &observation.Event{
				UID: "uid-event", ResourceVersion: s.rv, Regarding: s.objects["app"].Ref, Type: "Warning",
				Reason: "FailedAttachVolume", Component: "attachdetach-controller", Time: s.now(),
				Note: `AttachVolume.Attach failed for volume "pv-1" : rpc error: code = DeadlineExceeded ` +
					"desc = context deadline exceeded",
			}})
		}, "Pod app cannot attach a volume: context deadline exceeded", "volume_not_attached",
			"cannot attach volume pv-1 to node node-1: context deadline exceeded"},
		"attached": {func(s *story) {
			s.attaching()
			s.wait(15 * time.Second)
			s.write("csi-1", attached)
		}, "Pod app waits for container app to start", "",
			"cannot attach volume pv-1 to node node-1: context deadline exceeded"},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStory()
			tc.tell(s)
			traces := observe(s.seen).Traces(s.now().Add(time.Second))
			if len(traces) != 1 {
				t.Fatalf("got %d traces, want 1:\n%s", len(traces), outline(traces))
			}
			step := ""
			for _, sp := range traces[0].Spans {
				if sp.Name == span.NameAttach {
					step = sp.Message
				}
			}
			got := []string{traces[0].Reason, attributeText(traces[0].Root(), span.KeyReason), step}
			if diff := cmp.Diff([]string{tc.text, tc.category, tc.step}, got); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

// TestAttachmentProblem: a volume that cannot be attached is one problem, that of the Pod; one that cannot be detached
// is that of the attachment.
func TestAttachmentProblem(t *testing.T) {
	problems := func(s *story) string {
		e := observe(s.seen)
		var out []string
		for _, p := range e.Problems(s.now().Add(time.Minute)).Problems {
			out = append(out, p.Reason)
		}
		return strings.Join(out, "\n")
	}
	s := newStory()
	s.attaching()
	if got, want := problems(s), "Pod app cannot attach a volume: context deadline exceeded"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	s.write("csi-1", attached)
	s.write("app", ready)
	s.gone("app")
	s.write("csi-1", deleting, func(st *observation.State) {
		st.Finalizers = []string{"external-attacher/disk-example-com"}
		st.Progress, st.ProgressMessage = observation.ProgressTerminating, "rpc error: desc = volume is in use"
	})
	const want = "VolumeAttachment csi-1 waits for its attacher, which cannot detach volume pv-1 from node node-1: " +
		"volume is in use"
	if got := problems(s); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
