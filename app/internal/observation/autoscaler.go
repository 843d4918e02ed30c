// SPDX-License-Identifier: Apache-2.0

package observation

import "time"

// Autoscaler is the last decision of a HorizontalPodAutoscaler.
type Autoscaler struct {
	// Scaled is status.lastScaleTime, in whole seconds.
	Scaled time.Time `json:"scaled,omitzero"`
	// Metrics are the current metrics next to their targets: "cpu 250% of 50%".
	Metrics string `json:"metrics,omitempty"`
}
