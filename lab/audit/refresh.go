// SPDX-License-Identifier: Apache-2.0

package audit

import (
	"encoding/json"
	"strings"
	"time"
)

// started is the longest time between a Pod's readiness and the last report of
// its start. The next report comes with the kubelet's sync, a minute after the
// start at the earliest.
const started = 30 * time.Second

// Refresh reports whether a kubelet wrote the status of a Pod that had been ready for more than 30
// seconds and still was. A kubelet syncs each Pod about once a minute; the first such sync of
// version 1.36 adds status.resources. No change causes that write.
func (w *Write) Refresh() bool {
	if w.Group != "" || w.Resource != "pods" || w.Subresource != "status" ||
		!strings.HasPrefix(w.UserAgent, "kubelet/") {
		return false
	}
	var pod struct {
		Metadata struct {
			DeletionTimestamp *time.Time `json:"deletionTimestamp"`
		} `json:"metadata"`
		Status struct {
			Conditions []struct {
				Type   string    `json:"type"`
				Status string    `json:"status"`
				Since  time.Time `json:"lastTransitionTime"`
			} `json:"conditions"`
		} `json:"status"`
	}
	if json.Unmarshal(w.Object, &pod) != nil || pod.Metadata.DeletionTimestamp != nil {
		return false
	}
	for _, c := range pod.Status.Conditions {
		if c.Type == "Ready" {
			return c.Status == "True" && w.Received.Sub(c.Since) > started
		}
	}
	return false
}
