// SPDX-License-Identifier: Apache-2.0

package phase

import (
	"testing"
	"time"

	"github.com/kube-lifeline/lifeline/app/internal/change"
	"github.com/kube-lifeline/lifeline/app/internal/history"
	"github.com/kube-lifeline/lifeline/app/internal/span"
)

var epoch = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

// at is a live arrival so many seconds after the epoch.
func at(seconds int) history.Moment {
	return history.Moment{Hi: epoch.Add(time.Duration(seconds) * time.Second), Live: true}
}

// TestSpan: a step starts not before its reconciliation, and ends not before its start.
func TestSpan(t *testing.T) {
	line := &change.Lineage{}
	r := &change.Reconciliation{
		Timeline: &change.Timeline{}, Lineage: line, Writes: []*change.Write{{Verb: history.Created}},
	}
	for name, tc := range map[string]struct {
		step       Step
		start, end int // in seconds; an end of 0 is none
	}{
		"Inside":   {Step{start: at(2), end: at(4)}, 2, 4},
		"Open":     {Step{start: at(2)}, 2, 0},
		"Early":    {Step{start: at(0), end: at(4)}, 1, 4},
		"Before":   {Step{start: at(0), end: at(0)}, 1, 1},
		"Precise":  {Step{start: at(2), end: at(4), precise: time.Second}, 3, 4},
		"TooLong":  {Step{start: at(2), end: at(4), precise: time.Minute}, 1, 4},
		"Reversed": {Step{start: at(4), end: at(2)}, 4, 4},
	} {
		t.Run(name, func(t *testing.T) {
			s := Spans(nil, []Step{tc.step}, r, at(1))[0]
			if got := s.Start.Sub(epoch); got != time.Duration(tc.start)*time.Second {
				t.Errorf("start: got %s, want %d s", got, tc.start)
			}
			switch {
			case tc.end == 0 && !s.Open():
				t.Errorf("end: got %s, want none", s.End.Sub(epoch))
			case tc.end > 0 && s.End.Sub(epoch) != time.Duration(tc.end)*time.Second:
				t.Errorf("end: got %s, want %d s", s.End.Sub(epoch), tc.end)
			}
		})
	}
}

// TestAttempt: only a repeated step has the number of its attempt.
func TestAttempt(t *testing.T) {
	r := &change.Reconciliation{
		Timeline: &change.Timeline{}, Lineage: &change.Lineage{}, Writes: []*change.Write{{Verb: history.Created}},
	}
	for attempt, want := range map[int]int{0: 0, 1: 0, 2: 1} {
		s := Spans(nil, []Step{{start: at(2), attempt: attempt}}, r, at(1))[0]
		if got := len(s.Attributes); got != want {
			t.Errorf("attempt %d: %d attributes, want %d", attempt, got, want)
		}
	}
}

// TestSpans: each step has a span below its reconciliation, with an ID of its own.
func TestSpans(t *testing.T) {
	r := &change.Reconciliation{
		Timeline: &change.Timeline{}, Lineage: &change.Lineage{}, Writes: []*change.Write{{Verb: history.Created}},
	}
	steps := []Step{
		{name: "a", start: at(2)}, {name: "b", start: at(2)}, {name: "a", key: "x", start: at(2)},
		{name: "a", attempt: 1, start: at(2)}, {name: "a", failed: true, message: "no", attempt: 2, start: at(2)},
	}
	seen := map[string]bool{}
	for i, s := range Spans(nil, steps, r, at(1)) {
		if s.Parent != r.ID() || seen[s.ID.String()] || s.Name != steps[i].name || s.Message != steps[i].message {
			t.Errorf("step %d: got %+v, want its name and message, below the reconciliation, with a new ID", i, s)
		}
		if failed := s.Status == span.StatusError; failed != steps[i].failed {
			t.Errorf("step %d: failed %t", i, failed)
		}
		seen[s.ID.String()] = true
	}
}
