// SPDX-License-Identifier: Apache-2.0

package scheduler

import (
	"sync"

	"k8s.io/component-base/metrics"
	"k8s.io/component-base/metrics/legacyregistry"
)

// dropped counts sampled attempts without spans, because of a limit: too many at one time, or too
// many that wait for their spans.
var dropped = metrics.NewCounterVec(&metrics.CounterOpts{
	Name: "lifeline_scheduler_attempts_dropped_total",
	Help: "Sampled scheduling attempts without spans, by the limit that they exceeded" +
		" (attempts, finished, unsent).",
	StabilityLevel: metrics.ALPHA,
}, []string{"limit"})

// register adds the metric to those of the scheduler.
var register = sync.OnceFunc(func() { legacyregistry.MustRegister(dropped) })
