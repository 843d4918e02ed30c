// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"time"

	"github.com/kube-lifeline/lifeline/app/internal/problem"
)

// Problems returns the problems at the time now, the worst first. The result does not change afterwards.
func (e *Engine) Problems(now time.Time) problem.List {
	return problem.List{AsOf: now.Round(0), Problems: []problem.Problem{}}
}
