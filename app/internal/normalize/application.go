// SPDX-License-Identifier: Apache-2.0

package normalize

import (
	"cmp"

	"github.com/kube-lifeline/lifeline/app/internal/kind"
	"github.com/kube-lifeline/lifeline/app/internal/observation"
)

// applicationConditions returns the health and the sync of an Argo CD Application as conditions, and its
// own conditions with a status: an Application has one only while it is true.
func applicationConditions(status fields, own []observation.Condition) []observation.Condition {
	for i := range own {
		own[i].Status = cmp.Or(own[i].Status, "True")
	}
	health := sub(status, "health")
	if state := word(health, "status"); state != "" {
		own = append(own, observation.Condition{
			Type:    kind.Healthy,
			Status:  truthOf(state, "Healthy"),
			Reason:  state,
			Message: cmp.Or(raw(health, "message"), unhealthy(status, state)),
			Since:   moment(health, "lastTransitionTime"),
		})
	}
	if state := word(sub(status, "sync"), "status"); state != "" {
		own = append(own, observation.Condition{Type: kind.Synced, Status: truthOf(state, "Synced"), Reason: state})
	}
	return own
}

// truthOf returns the status of a condition by a state.
func truthOf(state, good string) string {
	switch state {
	case good:
		return "True"
	case "Unknown":
		return "Unknown"
	}
	return "False"
}

// unhealthy returns the message about the first object of an Application with that health, or "".
func unhealthy(status fields, state string) string {
	for _, item := range items(status, "resources") {
		m, _ := item.(fields)
		if health := sub(m, "health"); raw(health, "status") == state {
			return raw(health, "message")
		}
	}
	return ""
}
