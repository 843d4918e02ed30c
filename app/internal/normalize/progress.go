// SPDX-License-Identifier: Apache-2.0

package normalize

import (
	"cmp"
	"slices"
	"strings"

	"github.com/fluxcd/cli-utils/pkg/kstatus/status"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kube-lifeline/lifeline/app/internal/kind"
	"github.com/kube-lifeline/lifeline/app/internal/observation"
	"github.com/kube-lifeline/lifeline/internal/message"
)

// progress returns the verdict of kstatus except for some kinds. For a Pod, kstatus uses the wall
// clock, but the same object must always give the same observation. For a running Job, a Service
// without its load balancer, an Ingress without an address and a new Node, kstatus returns Current.
func (n *Normalizer) progress(
	u *unstructured.Unstructured, gk schema.GroupKind, s *observation.State, of *texts,
) (observation.Progress, string) {
	if !s.Deleting.IsZero() {
		return observation.ProgressTerminating, detachError(u.Object, gk, of)
	}
	switch gk {
	case kind.Pod.GroupKind():
		return podProgress(u.Object, s, of)
	case kind.Node.GroupKind():
		return nodeProgress(s)
	case kind.Job.GroupKind():
		return jobProgress(s, truth(sub(u.Object, "spec"), "suspend"), u.GetLabels()[kind.QueueLabel] != "")
	case kind.Ingress.GroupKind():
		return n.ingressProgress(u)
	case kind.PersistentVolume.GroupKind():
		return volumeProgress(u.Object, of)
	case kind.VolumeAttachment.GroupKind():
		return attachmentProgress(u.Object, of)
	case kind.VolumeSnapshot.GroupKind():
		return snapshotProgress(u.Object, of)
	case kind.CertificateSigningRequest.GroupKind():
		return signingProgress(u.Object, s)
	case kind.Service.GroupKind():
		if raw(sub(u.Object, "spec"), "type") == "LoadBalancer" {
			return serviceProgress(u)
		}
	}
	if kind.IsApplication(s.Kind) && s.Revision != nil {
		return syncProgress(u, s, of)
	}
	if kind.Certificate.Is(s.Kind) {
		return certificateProgress(u.Object, s)
	}
	switch k := kind.Of(gk.Group, gk.Kind); {
	case len(k.Goals) > 0:
		return goals(k, u.Object, s)
	case k.State.Field != "":
		return stateProgress(&k.State, u.Object, of)
	}
	if kind.PersistentVolumeClaim.Is(s.Kind) && expanding(u.Object) {
		return observation.ProgressInProgress, observation.Expanding + requestedStorage(u.Object)
	}
	result, err := status.Compute(u)
	if err != nil {
		return observation.ProgressInProgress, "the status is malformed"
	}
	switch result.Status {
	case status.CurrentStatus:
		// Its messages only repeat the verdict.
		return observation.ProgressCurrent, ""
	case status.FailedStatus:
		return observation.ProgressFailed, explained(of, result)
	case status.TerminatingStatus:
		return observation.ProgressTerminating, ""
	default:
		return observation.ProgressInProgress, explained(of, result)
	}
}

// explained returns the message of a verdict, with the condition's reason if the message is
// withheld.
func explained(of *texts, result *status.Result) string {
	text := of.clean(result.Message)
	if text == message.Withheld && len(result.Conditions) > 0 {
		text = message.WithReason(result.Conditions[0].Reason, text)
	}
	return text
}

// explain returns the message of a condition, with the reason if the message is withheld.
func explain(c *observation.Condition) string {
	text := cmp.Or(c.Message, c.Reason)
	if text == message.Withheld {
		text = message.WithReason(c.Reason, text)
	}
	return text
}

// podProgress returns the verdict on a Pod. A ready Pod may wait for an ephemeral container.
func podProgress(obj fields, s *observation.State, of *texts) (observation.Progress, string) {
	switch {
	case s.Pod.Phase == "Failed":
		return observation.ProgressFailed, s.Pod.Message
	case s.Pod.Phase == "Succeeded":
		return observation.ProgressCurrent, ""
	case holds(s, "Ready"):
		if waits := ephemeralWait(obj, of); waits != "" {
			return observation.ProgressInProgress, waits
		}
		return observation.ProgressCurrent, ""
	}
	return observation.ProgressInProgress, ""
}

// ephemeralWait describes the newest ephemeral container if it has not started, or returns "". An
// older one cannot be removed or repaired.
func ephemeralWait(obj fields, of *texts) string {
	specs := items(sub(obj, "spec"), "ephemeralContainers")
	if len(specs) == 0 {
		return ""
	}
	newest, _ := specs[len(specs)-1].(fields)
	statuses := items(sub(obj, "status"), "ephemeralContainerStatuses")
	state := sub(named(statuses, raw(newest, "name")), "state")
	if sub(state, "running") != nil || sub(state, "terminated") != nil {
		return ""
	}
	text := "waiting for ephemeral container " + word(newest, "name")
	waiting := sub(state, "waiting")
	if reason := word(waiting, "reason"); reason != "" {
		why := message.WithReason(reason, of.clean(raw(waiting, "message")))
		text += ": " + strings.TrimSuffix(why, ": ")
	}
	return text
}

// nodeProgress returns the verdict on a Node. Without the condition Ready, no kubelet has reported yet.
func nodeProgress(s *observation.State) (observation.Progress, string) {
	switch c := s.Condition("Ready"); {
	case c == nil:
		return observation.ProgressInProgress, "waiting for the kubelet"
	case c.Status != "True":
		return observation.ProgressInProgress, c.Message
	}
	return observation.ProgressCurrent, ""
}

// addressed returns the verdict on an object that waits for the address of a load balancer.
func addressed(u *unstructured.Unstructured) (observation.Progress, string) {
	if len(items(sub(sub(u.Object, "status"), "loadBalancer"), "ingress")) > 0 {
		return observation.ProgressCurrent, ""
	}
	return observation.ProgressInProgress, "waiting for the address of a load balancer"
}

// serviceProgress returns the verdict on a Service of type LoadBalancer. With external IPs, it is reachable without
// a load balancer.
func serviceProgress(u *unstructured.Unstructured) (observation.Progress, string) {
	result, waits := addressed(u)
	if result != observation.ProgressCurrent && len(items(sub(u.Object, "spec"), "externalIPs")) > 0 {
		return observation.ProgressCurrent, observation.Unaddressed
	}
	return result, waits
}

// stateProgress returns the verdict on an object with a field for its state.
func stateProgress(k *kind.State, obj fields, of *texts) (observation.Progress, string) {
	status := sub(obj, "status")
	state := raw(status, k.Field)
	switch {
	case slices.Contains(k.Done, state):
		return observation.ProgressCurrent, ""
	case slices.Contains(k.Failed, state):
		return observation.ProgressFailed, of.clean(cmp.Or(raw(status, k.Message), state))
	}
	return observation.ProgressInProgress, of.clean(raw(status, k.Message))
}

// expanding reports whether a bound claim has less capacity than it requests. A file system that is expanded on the
// node has the new capacity minutes later.
func expanding(obj fields) bool {
	now := sub(obj, "status")
	want, err := resource.ParseQuantity(requestedStorage(obj))
	if err != nil || raw(now, "phase") != "Bound" {
		return false
	}
	have, err := resource.ParseQuantity(raw(sub(now, "capacity"), "storage"))
	return err == nil && have.Cmp(want) < 0
}

// requestedStorage returns the size that a claim requests.
func requestedStorage(obj fields) string {
	return text(sub(sub(sub(obj, "spec"), "resources"), "requests"), "storage")
}

// volumeProgress returns the verdict on a PersistentVolume. A released one has lost its claim, and waits
// for nothing.
func volumeProgress(obj fields, of *texts) (observation.Progress, string) {
	status := sub(obj, "status")
	switch raw(status, "phase") {
	case "Failed":
		return observation.ProgressFailed, of.clean(raw(status, "message"))
	case "Released":
		return observation.ProgressCurrent, observation.Released
	}
	return observation.ProgressCurrent, ""
}

// attachmentProgress returns the verdict on a VolumeAttachment. Its attacher tries again after an error.
func attachmentProgress(obj fields, of *texts) (observation.Progress, string) {
	status := sub(obj, "status")
	if truth(status, "attached") {
		return observation.ProgressCurrent, ""
	}
	if why := raw(sub(status, "attachError"), "message"); why != "" {
		return observation.ProgressInProgress, of.clean(why)
	}
	return observation.ProgressInProgress, observation.Attaching + word(sub(obj, "spec"), "attacher")
}

// detachError returns the last error of the detachment of a VolumeAttachment; "" without one, and for other kinds.
func detachError(obj fields, gk schema.GroupKind, of *texts) string {
	if gk != kind.VolumeAttachment.GroupKind() {
		return ""
	}
	return of.clean(raw(sub(sub(obj, "status"), "detachError"), "message"))
}

// snapshotProgress returns the verdict on a VolumeSnapshot.
func snapshotProgress(obj fields, of *texts) (observation.Progress, string) {
	status := sub(obj, "status")
	if truth(status, "readyToUse") {
		return observation.ProgressCurrent, ""
	}
	return observation.ProgressInProgress, of.clean(raw(sub(status, "error"), "message"))
}

// signingProgress returns the verdict on a CertificateSigningRequest.
func signingProgress(obj fields, s *observation.State) (observation.Progress, string) {
	for _, typ := range []string{"Denied", "Failed"} {
		if c := s.Condition(typ); c != nil && c.Status == "True" {
			return observation.ProgressFailed, explain(c)
		}
	}
	switch {
	case sub(obj, "status")["certificate"] != nil:
		return observation.ProgressCurrent, ""
	case holds(s, "Approved"):
		return observation.ProgressInProgress, "waiting for signer " + word(sub(obj, "spec"), "signerName")
	}
	return observation.ProgressInProgress, "waiting for its approval"
}

// syncProgress returns the verdict on an Argo CD Application: that of its sync. It has no condition
// for it.
func syncProgress(u *unstructured.Unstructured, s *observation.State, of *texts) (observation.Progress, string) {
	text := raw(sub(sub(u.Object, "status"), "operationState"), "message")
	switch s.Revision.Phase {
	case observation.RevisionPending:
		return observation.ProgressInProgress, of.clean(cmp.Or(text, "waiting for the sync"))
	case observation.RevisionFailed:
		return observation.ProgressFailed, of.clean(cmp.Or(text, "the sync has failed"))
	case observation.RevisionPublished, observation.RevisionApplied, observation.RevisionRemoved:
	}
	return observation.ProgressCurrent, ""
}

// jobProgress returns the verdict on a Job. A suspended Job has arrived when its controller has
// suspended it; a resumed one has not, although its controller still calls it suspended. A suspended Job
// with a queue of Kueue waits: Kueue resumes it.
func jobProgress(s *observation.State, suspend, queued bool) (observation.Progress, string) {
	switch {
	case holds(s, "Failed"):
		return observation.ProgressFailed, s.Condition("Failed").Message
	case holds(s, "Complete"), holds(s, "SuccessCriteriaMet"):
		return observation.ProgressCurrent, ""
	case suspend && queued:
		return observation.ProgressInProgress, "waiting for its admission by Kueue"
	case holds(s, "Suspended") && suspend:
		return observation.ProgressCurrent, "suspended"
	case holds(s, "FailureTarget"):
		return observation.ProgressInProgress, s.Condition("FailureTarget").Message
	}
	return observation.ProgressInProgress, ""
}

func holds(s *observation.State, condition string) bool {
	c := s.Condition(condition)
	return c != nil && c.Status == "True"
}
