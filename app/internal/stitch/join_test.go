// SPDX-License-Identifier: Apache-2.0

package stitch_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kube-lifeline/lifeline/app/internal/span"
	"github.com/kube-lifeline/lifeline/app/internal/stitch"
)

func TestJoinChangesNothingGiven(t *testing.T) {
	ours, _, _ := web()
	r := captured{spans: all()}
	before, theirs := document(ours.Trace), document(&span.Trace{Spans: r.spans})
	s := stitch.New(stitch.Options{})
	s.Accept(r.spans, now)
	first := s.Join(ours.Trace, false, now)
	if again := s.Join(ours.Trace, false, now); again != first {
		t.Error("nothing has changed, and yet it was made anew")
	}
	if diff := cmp.Diff(before, document(ours.Trace)); diff != "" {
		t.Errorf("ours: -want +got:\n%s", diff)
	}
	if diff := cmp.Diff(theirs, document(&span.Trace{Spans: r.spans})); diff != "" {
		t.Errorf("theirs: -want +got:\n%s", diff)
	}
	other := newStory("other")
	other.add(nil, "reconcile Deployment", ref("apps", "Deployment", "other"), 0, 10)
	if s.Join(other.Trace, false, now) != other.Trace {
		t.Error("a trace to which nothing belongs is not returned itself")
	}
}
