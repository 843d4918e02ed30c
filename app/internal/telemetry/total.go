// SPDX-License-Identifier: Apache-2.0

package telemetry

import (
	"strings"
	"sync"

	"github.com/prometheus/client_golang/prometheus"
)

// Total is a counter by labels which can be counted here, or follow a number
// that was counted elsewhere. It is safe for concurrent use.
type Total struct {
	vec *prometheus.CounterVec

	mu sync.Mutex
	// raised is how far each was raised, by its labels.
	raised map[string]float64
}

// Add counts n more; a negative n is ignored. As many labels are wanted as the
// metric has.
func (t *Total) Add(n float64, labels ...string) {
	if n > 0 {
		t.vec.WithLabelValues(labels...).Add(n)
	}
}

// Inc counts one more.
func (t *Total) Inc(labels ...string) { t.Add(1, labels...) }

// Raise counts up by as much as now is above what the call before it with the
// same labels said: for what somebody else counts. A lower number than before
// is a count that began anew.
func (t *Total) Raise(now float64, labels ...string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	key := strings.Join(labels, "\x00")
	before := t.raised[key]
	if now < before {
		before = 0
	}
	if t.raised == nil {
		t.raised = map[string]float64{}
	}
	t.raised[key] = now
	t.Add(now-before, labels...)
}
