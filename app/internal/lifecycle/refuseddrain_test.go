// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"testing"
	"time"

	"github.com/kube-lifeline/lifeline/app/internal/observation"
	"github.com/kube-lifeline/lifeline/app/internal/span"
)

// TestRefusedDrain: a drain has failed if its last eviction was refused and the drain did not try again.
func TestRefusedDrain(t *testing.T) {
	twoBudgets := func(w *observation.Write) {
		w.Code, w.Reason = 500, "InternalError"
		w.Message = "This pod has more than one PodDisruptionBudget, which the eviction subresource does not support."
	}
	for name, tc := range map[string]struct {
		reason  string
		evict   func(s *story)
		after   time.Duration
		outcome span.Outcome
		text    string
	}{
		"budget": {"the drain gave up", func(s *story) { s.evict("app", 429) }, time.Minute, span.Refused,
			"the eviction of Pod app was refused: PodDisruptionBudget web needs 2 healthy Pods, and 2 are; Node " +
				"node-1 stays cordoned"},
		"two budgets": {"no eviction is possible", func(s *story) {
			s.evict("app", 429)
			twoBudgets(s.seen[len(s.seen)-1].Write)
		}, time.Minute, span.Refused, "the eviction of Pod app was refused: more than one PodDisruptionBudget " +
			"selects the Pod, and an eviction supports only one; Node node-1 stays cordoned"},
		"named budgets": {"the namespace has no others", func(s *story) {
			s.write("team", ofKind("policy", "PodDisruptionBudget"))
			s.write("platform", ofKind("policy", "PodDisruptionBudget"))
			s.evict("app", 429)
			twoBudgets(s.seen[len(s.seen)-1].Write)
		}, time.Minute, span.Refused, "the eviction of Pod app was refused: PodDisruptionBudgets platform and team " +
			"both select the Pod, and an eviction supports only one; Node node-1 stays cordoned"},
		"tried again": {"the drain gave up", func(s *story) {
			s.evict("app", 429)
			s.wait(5 * time.Second)
			s.evict("app", 429)
		}, time.Minute, span.Refused, "the eviction of Pod app was refused: PodDisruptionBudget web needs 2 " +
			"healthy Pods, and 2 are (tried 2 times); Node node-1 stays cordoned"},
		"open": {"the drain may try again", func(s *story) { s.evict("app", 429) }, 3 * time.Second,
			span.Converged, ""},
		"later": {"the next eviction was accepted", func(s *story) {
			s.evict("app", 429)
			s.wait(5 * time.Second)
			s.evict("app", 201)
			s.ended("app")
		}, time.Minute, span.Converged, ""},
		"deleted": {"somebody deleted the Pod", func(s *story) {
			s.evict("app", 429)
			s.wait(time.Second)
			s.gone("app")
		}, time.Minute, span.Converged, ""},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStory()
			s.onNode("app")
			s.write("node-1", set(unschedulable))
			s.audited("node-1", "patch", person("user-a"))
			s.wait(100 * time.Millisecond)
			tc.evict(s)
			traces := observe(s.seen).Traces(s.now().Add(tc.after))
			for _, tr := range traces {
				if tr.Root().Object.Kind.Kind == "Node" {
					if tr.Outcome != tc.outcome || tr.Reason != tc.text {
						t.Errorf("%s: got %s: %q", tc.reason, tr.Outcome, tr.Reason)
					}
					return
				}
			}
			t.Errorf("no trace of the Node:\n%s", outline(traces))
		})
	}
}
