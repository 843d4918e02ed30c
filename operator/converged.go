// SPDX-License-Identifier: Apache-2.0

package operator

import "sigs.k8s.io/controller-runtime/pkg/client"

// converged reports whether obj has reached its desired state by what Kubernetes
// agrees on: its status is of its generation, and a condition Ready or Available
// is True. An object that does not say so has not.
func converged(obj client.Object) bool {
	s := stateOf(obj)
	if seen, ok := s.at("status", "observedGeneration").(int64); ok && seen < obj.GetGeneration() {
		return false
	}
	conditions, _ := s.at("status", "conditions").([]any)
	met := false
	for _, c := range conditions {
		c, _ := c.(map[string]any)
		if t := c["type"]; t != "Ready" && t != "Available" {
			continue
		}
		if c["status"] != "True" {
			return false
		}
		if seen, ok := c["observedGeneration"].(int64); ok && seen < obj.GetGeneration() {
			return false
		}
		met = true
	}
	return met
}
