// SPDX-License-Identifier: Apache-2.0

package churn

import "github.com/kube-lifeline/lifeline/e2e/internal/harness"

// backend counts what the collector gets, by trace, and keeps nothing else of
// it.
type backend struct {
	collector *harness.Collector
	seen      map[[2]string]bool
	spans     map[string]int
	// repeated is how many spans came more than once.
	repeated int
}

func newBackend(c *harness.Collector) *backend {
	return &backend{collector: c, seen: map[[2]string]bool{}, spans: map[string]int{}}
}

// count counts what came since the last call.
func (b *backend) count() {
	for _, s := range b.collector.Take() {
		id := [2]string{s.Trace, s.ID}
		if b.seen[id] {
			b.repeated++
			continue
		}
		b.seen[id] = true
		b.spans[s.Trace]++
	}
}
