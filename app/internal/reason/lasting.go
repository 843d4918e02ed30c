// SPDX-License-Identifier: Apache-2.0

package reason

import (
	"github.com/kube-lifeline/lifeline/app/internal/history"
	"github.com/kube-lifeline/lifeline/app/internal/kind"
	"github.com/kube-lifeline/lifeline/app/internal/kind/judge"
)

// Lasting returns the wait of a Pod or a workload that has its desired state, until that has lasted; r for any other
// version.
func Lasting(v *history.Version, r Reason) Reason {
	text := "is ready, and must stay so for " + judge.Steady.String()
	switch {
	case !judge.Converged(v) || kind.Job.Is(v.Kind):
		return r
	case v.Pod != nil && v.Pod.Phase != "Succeeded":
	case v.Workload != nil:
		text = "is complete; its Pods must stay ready for " + judge.Steady.String()
	default:
		return r
	}
	return Reason{Text: text, For: "the end of its first " + judge.Steady.String()}
}
