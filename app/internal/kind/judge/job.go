// SPDX-License-Identifier: Apache-2.0

package judge

import (
	"github.com/kube-lifeline/lifeline/app/internal/history"
	"github.com/kube-lifeline/lifeline/app/internal/kind"
)

// JobManager returns the controller that reconciles the Job v in place of the built-in one; "" if there is none.
func JobManager(v *history.Version) string {
	if !kind.Job.Is(v.Kind) {
		return ""
	}
	if l := v.Field("spec.managedBy"); l != nil && l.Shown != "kubernetes.io/job-controller" {
		return l.Shown
	}
	return ""
}
