// SPDX-License-Identifier: Apache-2.0

package normalize

import (
	"github.com/fluxcd/cli-utils/pkg/kstatus/status"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kube-lifeline/lifeline/app/internal/kind"
	"github.com/kube-lifeline/lifeline/app/internal/observation"
	"github.com/kube-lifeline/lifeline/internal/message"
)

// progress returns the verdict of kstatus except for two kinds. For a Pod, kstatus uses the wall
// clock, but the same object must always give the same observation. For a running Job, kstatus
// returns Current.
func progress(u *unstructured.Unstructured, gk schema.GroupKind, s *observation.State) (observation.Progress, string) {
	if !s.Deleting.IsZero() {
		return observation.ProgressTerminating, ""
	}
	switch gk {
	case kind.Pod.GroupKind():
		return podProgress(s)
	case kind.Job.GroupKind():
		return jobProgress(s)
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
		return observation.ProgressFailed, explained(result)
	case status.TerminatingStatus:
		return observation.ProgressTerminating, ""
	default:
		return observation.ProgressInProgress, explained(result)
	}
}

// explained returns the message of a verdict, with the condition's reason if the message is
// withheld.
func explained(result *status.Result) string {
	text := message.Clean(result.Message)
	if text == message.Withheld && len(result.Conditions) > 0 {
		text = message.WithReason(result.Conditions[0].Reason, text)
	}
	return text
}

func podProgress(s *observation.State) (observation.Progress, string) {
	switch {
	case s.Pod.Phase == "Failed":
		return observation.ProgressFailed, s.Pod.Message
	case s.Pod.Phase == "Succeeded", holds(s, "Ready"):
		return observation.ProgressCurrent, ""
	}
	return observation.ProgressInProgress, ""
}

func jobProgress(s *observation.State) (observation.Progress, string) {
	switch {
	case holds(s, "Failed"):
		return observation.ProgressFailed, s.Condition("Failed").Message
	case holds(s, "Complete"), holds(s, "SuccessCriteriaMet"):
		return observation.ProgressCurrent, ""
	case holds(s, "Suspended"):
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
