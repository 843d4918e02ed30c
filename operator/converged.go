// SPDX-License-Identifier: Apache-2.0

package operator

import (
	"reflect"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kube-lifeline/lifeline/internal/supply"
)

// converged reports whether obj has reached its desired state by what Kubernetes
// agrees on: its status is of its generation, and the conditions Ready and
// Available, of which there is one at least, are True. An object that does not
// say so has not. A status that names no generation is of the first one, or of a
// kind that has none: of a later one nobody knows whether it was seen yet.
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

// progress is what a status says of how far its object has come.
type progress struct {
	observed   int64       // observedGeneration; 0 if it says nothing
	conditions []condition // Ready and Available, as far as they are there
}

type condition struct {
	status   string
	observed int64
}

// take notes a condition.
func (p *progress) take(kind, status string, observed int64) {
	if kind == "Ready" || kind == "Available" {
		p.conditions = append(p.conditions, condition{status, observed})
	}
}

// parsedStatus reads the status of an object of any form.
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
