// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"testing"
	"time"
)

func TestCausesComeFirst(t *testing.T) {
	s := newStory()
	s.rollout()
	late := s.seen[0]
	late.Seen = late.Seen.Add(350 * time.Millisecond) // after its ReplicaSet and its Pod
	starts := map[string]time.Time{}
	for _, tr := range observe(s.seen).Traces(s.now().Add(time.Minute)) {
		for _, sp := range tr.Spans {
			starts[sp.Name] = sp.Start.Time
		}
	}
	if d, r := starts["reconcile Deployment"], starts["reconcile ReplicaSet"]; d.IsZero() || d.After(r) {
		t.Errorf("the Deployment's reconciliation starts %s after that of the ReplicaSet that it causes", d.Sub(r))
	}
}
