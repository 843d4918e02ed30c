// SPDX-License-Identifier: Apache-2.0

package phase

import (
	"testing"

	"github.com/kube-lifeline/lifeline/app/internal/change"
	"github.com/kube-lifeline/lifeline/app/internal/kind"
	"github.com/kube-lifeline/lifeline/app/internal/object"
	"github.com/kube-lifeline/lifeline/app/internal/observation"
)

// attached is the end of an attachment, and erring an error before.
func attached(s *observation.State) { s.Progress, s.ProgressMessage = observation.ProgressCurrent, "" }

func erring(s *observation.State) { s.ProgressMessage = "rpc error: desc = quota" }

// TestAttach: a bound Pod waits for the attachment of its volumes, and its sandbox follows.
func TestAttach(t *testing.T) {
	attachment := func(w *world, rv uint64) *story {
		a := w.object(&kind.VolumeAttachment, "csi-1").put(rv, func(s *observation.State) {
			s.ProgressMessage = observation.Attaching + "disk.example.com"
			s.Relations = []object.Relation{{
				Type: object.Volume, To: object.Name{Kind: "PersistentVolume", Name: "pv-1"},
			}}
		})
		w.attachments = append(w.attachments, a.Timeline)
		return a
	}
	pod := func(w *world) *story { return w.object(&kind.Pod, "web-a").put(10).put(11, bind) }
	const failure = "cannot attach volume pv-1 to a node: quota"
	testPhases(t, map[string]phased{
		"attached": {"the sandbox follows", func(w *world) *change.Reconciliation {
			attachment(w, 12).put(20, attached)
			return pod(w).begin(10)
		}, []string{"schedule 10-11", "attach pv-1 12-20", "sandbox 20-"}},
		"open": {"the attacher works", func(w *world) *change.Reconciliation {
			attachment(w, 12)
			return pod(w).begin(10)
		}, []string{"schedule 10-11", "attach pv-1 12-", "sandbox 11-"}},
		"error": {"the attacher tries again", func(w *world) *change.Reconciliation {
			attachment(w, 12).put(13, erring)
			return pod(w).begin(10)
		}, []string{"schedule 10-11", "attach pv-1 12- failed: " + failure, "sandbox 11-"}},
		"after an error": {"the error explains the length", func(w *world) *change.Reconciliation {
			attachment(w, 12).put(13, erring).put(32, attached)
			return pod(w).begin(10)
		}, []string{"schedule 10-11", "attach pv-1 12-32: " + failure, "sandbox 32-"}},
		"attached before": {"another Pod on the Node uses the volume", func(w *world) *change.Reconciliation {
			attachment(w, 2).put(5, attached)
			return pod(w).begin(10)
		}, []string{"schedule 10-11", "sandbox 11-"}},
		"begun before": {"another Pod on the Node waits for the volume", func(w *world) *change.Reconciliation {
			attachment(w, 2).put(20, attached)
			return pod(w).begin(10)
		}, []string{"schedule 10-11", "attach pv-1 11-20", "sandbox 20-"}},
		"gone": {"the Pod is attached no more", func(w *world) *change.Reconciliation {
			attachment(w, 12).gone(13)
			return pod(w).begin(10)
		}, []string{"schedule 10-11", "sandbox 11-"}},
	})
}
