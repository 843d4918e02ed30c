// SPDX-License-Identifier: Apache-2.0

package config

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// RegressionsConfiguration is the section `regressions`.
type RegressionsConfiguration struct {
	// Whether the server looks for phases that got slower. Without it there are no notices and no metric about
	// them; `lifeline regressions` still computes its answer.
	Enabled bool `json:"enabled"`

	// The time before now from which samples count, from `24h` to `8784h` (366 days).
	Period metav1.Duration `json:"period"`

	// The time between two computations, from `1m` to `24h`. It is at least 20 times as long as one computation
	// takes.
	Interval metav1.Duration `json:"interval"`
}

func (v *validator) regressions(path *field.Path, c RegressionsConfiguration) {
	const day = 24 * time.Hour
	if d := c.Period.Duration; d < day || d > 366*day {
		v.invalid(path.Child("period"), d.String(), "must be between 24h and 8784h")
	}
	if d := c.Interval.Duration; d < time.Minute || d > day {
		v.invalid(path.Child("interval"), d.String(), "must be between 1m and 24h")
	}
}
