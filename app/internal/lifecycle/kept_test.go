// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"testing"
	"time"

	"github.com/kube-lifeline/lifeline/app/internal/span"
)

// TestKeptSpans: the spans of a Pod without a change are those of the look before, those of the other
// Pods are not. TestGroups compares all of them with a derivation from nothing.
func TestKeptSpans(t *testing.T) {
	c := newCrowd(1, 4)
	before := spansByPod(c.engine.Traces(c.now))
	c.step(4, 0)
	after := spansByPod(c.engine.Traces(c.now.Add(time.Millisecond)))
	changed := c.pods[0].Name
	for name, spans := range before {
		if same := spans == after[name]; same == (name == changed) {
			t.Errorf("Pod %s: the same span in both looks: %t", name, same)
		}
	}
	if len(before) != 4 {
		t.Errorf("%d Pods, want 4", len(before))
	}
}

// spansByPod returns the span of each Pod's start.
func spansByPod(traces []*span.Trace) map[string]*span.Span {
	out := map[string]*span.Span{}
	for _, t := range traces {
		for _, s := range t.Spans {
			if s.Name == span.ReconcileName("Pod") {
				out[s.Object.Name] = s
			}
		}
	}
	return out
}
