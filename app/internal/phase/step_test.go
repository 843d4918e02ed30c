// SPDX-License-Identifier: Apache-2.0

package phase

import (
	"testing"
	"time"

	"github.com/kube-lifeline/lifeline/app/internal/change"
	"github.com/kube-lifeline/lifeline/app/internal/history"
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
