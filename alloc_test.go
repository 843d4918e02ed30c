// SPDX-License-Identifier: Apache-2.0

package lifeline

import (
	"testing"

	"go.opentelemetry.io/otel/trace"
)

// TestAllocations limits the allocations: none for a lookup, a slice for a tracestate with one
// member, a map and its strings for a write.
func TestAllocations(t *testing.T) {
	carrying := func(key, value string) Annotations {
		obj := Annotations(beside())
		obj[key] = value
		return obj
	}
	both := carrying(ContextKey, goodParent)
	both[StateKey] = benchState
	absent, bare := Annotations(beside()), carrying(ContextKey, goodParent)
	malformed, later := carrying(ContextKey, "malformed"), carrying(KEP5915.context, goodParent)
	ctx := trace.ContextWithSpanContext(t.Context(), Extract(&both))
	tests := map[string]struct {
		reason string
		most   float64
		run    func()
	}{
		"Absent":    {"no context on the object", 0, func() { sinkSpan = Extract(&absent) }},
		"Malformed": {"a malformed value", 0, func() { sinkSpan = Extract(&malformed) }},
		"Context":   {"a context alone", 0, func() { sinkSpan = Extract(&bare) }},
		"Chosen":    {"a given convention", 0, func() { sinkSpan = Extract(&later, W3C, KEP5915) }},
		"State":     {"a context and a tracestate", 1, func() { sinkSpan = Extract(&both) }},
		"Inject": {
			"a context and a tracestate onto six other annotations",
			5,
			func() { obj := absent; Inject(ctx, &obj) },
		},
		"RemoveNot": {"nothing to remove", 0, func() { Remove(&absent) }},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			if got := testing.AllocsPerRun(100, tt.run); got > tt.most {
				t.Errorf("%s: %.0f allocations, want %.0f at most", tt.reason, got, tt.most)
			}
		})
	}
}
