// SPDX-License-Identifier: Apache-2.0

package kind

import "slices"

// goals are types of conditions that an object reaches when its controller is done. Many others
// (Failed, Stalled, Degraded) had better stay False.
var goals = []string{
	"Ready", "Available", "Complete", "Established", "NamesAccepted", "Succeeded", "Bound", "Synced", "Reconciled",
	"Programmed", "Accepted", "ResolvedRefs", "Healthy",
}

// Healthy and Synced are the conditions that stand for the health and the sync of an Argo CD Application.
const (
	Healthy = "Healthy"
	Synced  = "Synced"
)

// IsGoal reports whether an object is expected to reach a condition of that type.
func IsGoal(typ string) bool { return slices.Contains(goals, typ) }
