// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"testing"
	"time"

	"github.com/kube-lifeline/lifeline/app/internal/object"
	"github.com/kube-lifeline/lifeline/app/internal/observation"
	"github.com/kube-lifeline/lifeline/app/internal/reason"
)

// TestBrokenPodOfEarlierChange: a scaling of a StatefulSet waits for a Pod that it did not create.
func TestBrokenPodOfEarlierChange(t *testing.T) {
	s := newStory()
	s.write("web", deployment(1), ofKind("apps", "StatefulSet"))
	s.write("web-0", pod("web"), func(st *observation.State) {
		st.Owners[0].Kind = object.Kind{Group: "apps", Version: "v1", Kind: "StatefulSet"}
	}, bind, unpulled)
	s.rv += 10 // a second
	s.write("web", scaled(2))
	const sentence = "StatefulSet web waits for Pod web-0, which cannot pull image web:2 of container app: not found"
	seen := ""
	for _, trace := range observe(s.seen).Traces(s.now().Add(time.Minute)) {
		if got := reasonsOf(trace); got["lifeline.reason"] == string(reason.Ordinal) {
			seen = trace.Reason
			if next := got["lifeline.reason.next"]; next != "kubectl -n default describe pod/web-0" {
				t.Errorf("next: got %q", next)
			}
		}
	}
	if seen != sentence {
		t.Errorf("got %q, want %q", seen, sentence)
	}
}

// TestStanding: only an object that exists and has converged has such a reason.
func TestStanding(t *testing.T) {
	s := newStory()
	suspended := func(st *observation.State) {
		ofKind("batch", "CronJob")(st)
		st.Leaves = []observation.Leaf{{Path: "spec.suspend", Value: 1, Shown: "true"}}
	}
	s.write("work", suspended, arrived)
	if got := observe(s.seen).Standing("uid-work"); got.Category != reason.Suspended {
		t.Errorf("got %+v, want that it is suspended", got)
	}
	if got := observe(s.seen).Standing("uid-none"); got.Text != "" {
		t.Errorf("got %+v of an unknown object", got)
	}
	s.write("work", func(st *observation.State) { st.Progress = observation.ProgressInProgress })
	if got := observe(s.seen).Standing("uid-work"); got.Text != "" {
		t.Errorf("got %+v of an object on its way", got)
	}
}
