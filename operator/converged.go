// SPDX-License-Identifier: Apache-2.0

package operator

import (
	"reflect"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kube-lifeline/lifeline/internal/supply"
)

// converged reports whether obj has reached its desired state, by the Kubernetes conventions. Its
// status must be of its generation, and the conditions Ready and Available must be True. At least
// one of the two is required. A status without a generation counts for generation 1, and for kinds
// without generations. For a later generation it may be out of date.
func converged(obj client.Object) bool {
	s, ok := statusOf(reflect.ValueOf(obj))
	if !ok {
		s = parsedStatus(stateOf(obj))
	}
	seen := s.observed
	for _, c := range s.conditions {
		if c.status != "True" {
			return false
		}
		if c.observed != 0 && c.observed < obj.GetGeneration() {
			return false
		}
		seen = max(seen, c.observed)
	}
	if s.observed != 0 && s.observed < obj.GetGeneration() || seen == 0 && obj.GetGeneration() > 1 {
		return false
	}
	return len(s.conditions) > 0
}

// progress is the part of a status about convergence.
type progress struct {
	observed   int64       // observedGeneration; 0 if missing
	conditions []condition // Ready and Available, if present
}

type condition struct {
	status   string
	observed int64
}

// take adds a condition.
func (p *progress) take(kind, status string, observed int64) {
	if kind == "Ready" || kind == "Available" {
		p.conditions = append(p.conditions, condition{status, observed})
	}
}

// parsedStatus returns the status of an object as JSON values.
func parsedStatus(s supply.State) progress {
	var p progress
	p.observed, _ = s.At("status", "observedGeneration").(int64)
	conditions, _ := s.At("status", "conditions").([]any)
	for _, c := range conditions {
		c, _ := c.(map[string]any)
		kind, _ := c["type"].(string)
		status, _ := c["status"].(string)
		observed, _ := c["observedGeneration"].(int64)
		p.take(kind, status, observed)
	}
	return p
}
