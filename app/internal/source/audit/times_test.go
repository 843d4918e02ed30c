// SPDX-License-Identifier: Apache-2.0

package audit

import (
	"testing"
	"time"
)

// TestImpossibleTimes: impossible times of an event are replaced. An event in 2099 would stay first
// in lists and outlive retention. One in the year 1 does not fit into int64 nanoseconds.
func TestImpossibleTimes(t *testing.T) {
	const first, last = `"2026-05-04T03:02:00.5Z"`, `"2026-05-04T03:02:00.75Z"`
	at, until := start.Add(-500*time.Millisecond), start.Add(-250*time.Millisecond)
	for name, tc := range map[string]struct {
		received, answered string
		start, end         time.Time
		count              uint64
	}{
		"good": {first, last, at, until, 0},
		"ten minutes ahead": {
			`"2026-05-04T03:12:01Z"`, `"2026-05-04T03:12:01Z"`, start.Add(10 * time.Minute),
			start.Add(10 * time.Minute), 0,
		},
		"eleven minutes ahead": {`"2026-05-04T03:13:01Z"`, `"2026-05-04T03:13:01Z"`, start, start, 1},
		"year 1":               {`"0001-01-01T00:00:00Z"`, last, until, until, 1},
		"year 1 throughout":    {`"0001-01-01T00:00:01Z"`, `"0001-01-01T00:00:02Z"`, start, start, 1},
		"2099":                 {`"2099-01-01T00:00:00Z"`, `"2099-01-01T00:00:01Z"`, start, start, 1},
		"answered in 2099":     {first, `"2099-01-01T00:00:01Z"`, at, at, 1},
		"9999": {
			`"9999-12-31T23:59:59.999999999Z"`, `"9999-12-31T23:59:59.999999999Z"`, start, start, 1,
		},
	} {
		t.Run(name, func(t *testing.T) {
			source := newSource(t, newSink(), nil)
			got, _, err := source.batch(
				eventList(told("requestReceivedTimestamp", tc.received, "stageTimestamp", tc.answered)),
			)
			if err != nil || len(got) != 1 {
				t.Fatalf("got %v, %v", got, err)
			}
			if w := got[0].Write; !w.Start.Equal(tc.start) || !w.End.Equal(tc.end) || w.Start.UnixNano() < 0 ||
				w.End.UnixNano() < 0 {
				t.Errorf("got %v to %v, want %v to %v", w.Start, w.End, tc.start, tc.end)
			}
		})
	}
}

// TestImpossibleTimesAreCounted: batches and files count impossible times, but only of writes.
func TestImpossibleTimesAreCounted(t *testing.T) {
	source := newSource(t, newSink(), nil)
	forged := []string{"requestReceivedTimestamp", `"2099-01-01T00:00:00Z"`, "stageTimestamp", `"2099-01-01T00:00:00Z"`}
	_, tally, err := source.batch(eventList(told(), told(forged...), told(append(forged, "verb", `"get"`)...)))
	if err != nil {
		t.Fatal(err)
	}
	f := follower{s: source}
	batch := f.line(nil, []byte(told(forged...)), tally)
	source.count(tally)
	if len(batch) != 1 || !batch[0].Write.Start.Equal(start) {
		t.Errorf("the file gave %v, want one write with replaced times", batch)
	}
	if got := source.Stats().Impossible; got != 2 {
		t.Errorf("%d impossible times were counted, want 2", got)
	}
}
