// SPDX-License-Identifier: Apache-2.0

package telemetry

import (
	"strings"
	"sync"

	"github.com/prometheus/client_golang/prometheus"
)

// Total is a counter with labels. It is incremented here, or follows a count from elsewhere. It is
// safe for concurrent use.
type Total struct {
	vec *prometheus.CounterVec

	mu sync.Mutex
	// raised is the last value given to Raise, by labels.
	raised map[string]float64
}

// Add adds n; a negative n is ignored. The number of labels must be that of the metric.
func (t *Total) Add(n float64, labels ...string) {
	if n > 0 {
		t.vec.WithLabelValues(labels...).Add(n)
	}
}

// Inc adds one.
func (t *Total) Inc(labels ...string) { t.Add(1, labels...) }

// Raise adds the increase of an external count since the last call with the same labels. A lower
// count means that the external counter has restarted.
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
