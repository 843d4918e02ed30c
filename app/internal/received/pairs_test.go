// SPDX-License-Identifier: Apache-2.0

package received

import (
	"testing"
	"time"

	"github.com/cespare/xxhash/v2"
)

var epoch = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

func TestPairs(t *testing.T) {
	type half struct {
		of  halves
		key uint64
		at  time.Duration
	}
	for name, tc := range map[string]struct {
		reason string
		halves []half
		at     time.Duration
		want   Rate
	}{
		"Nothing": {reason: "without pairs there is no share", at: time.Minute},
		"Both":    {"the other half came", []half{{expected, 1, 0}, {came, 1, time.Second}}, time.Minute, Rate{1, 1}},
		"Reversed": {
			"a span may come before the event",
			[]half{{came, 1, 0}, {expected, 1, 40 * time.Second}}, time.Minute, Rate{1, 1},
		},
		"Missing": {"the other half did not come", []half{{expected, 1, 0}}, time.Minute, Rate{1, 0}},
		"Young":   {"the other half may still come", []half{{expected, 1, 0}}, 44 * time.Second, Rate{}},
		"Alone":   {"an unexpected half does not count", []half{{came, 1, 0}}, time.Minute, Rate{}},
		"Repeated": {
			"a repeated half counts once",
			[]half{{expected, 1, 0}, {expected, 1, 1}, {came, 1, 2}, {came, 1, 3}}, time.Minute, Rate{1, 1},
		},
		"TooLate": {
			"a half after patience does not change the count",
			[]half{{expected, 1, 0}, {came, 1, time.Minute}}, 3 * time.Minute, Rate{1, 0},
		},
		"Old": {
			"a pair before the window does not count",
			[]half{{expected, 1, 0}, {expected, 2, time.Minute}}, 17 * time.Minute, Rate{1, 0},
		},
	} {
		t.Run(name, func(t *testing.T) {
			p := newPairs(late)
			for _, h := range tc.halves {
				p.note(h.of, h.key, epoch.Add(h.at))
			}
			if name == "Old" { // count each pair at its own time, not all at the end
				p = newPairs(late)
				p.note(expected, 1, epoch)
				p.rate(epoch.Add(time.Minute))
				p.note(expected, 2, epoch.Add(10*time.Minute))
			}
			if got := p.rate(epoch.Add(tc.at)); got != tc.want {
				t.Errorf("%s: %+v, want %+v", tc.reason, got, tc.want)
			}
		})
	}
}

// TestPairsFlood: in a flood, the number of pending pairs is bounded, and the share stays right.
func TestPairsFlood(t *testing.T) {
	p := newPairs(late)
	const all = 20 * maxPending
	for i := range uint64(all) {
		key := xxhash.Sum64([]byte{byte(i), byte(i >> 8), byte(i >> 16), byte(i >> 24)})
		p.note(expected, key, epoch)
		if i%10 == 0 {
			p.note(came, key, epoch)
		}
		if len(p.pending) > maxPending || len(p.queue) > 2*maxPending {
			t.Fatalf("%d are pending, %d queued", len(p.pending), len(p.queue))
		}
	}
	got := p.rate(epoch.Add(time.Minute))
	if got.Of < maxPending/8 || got.Of > maxPending {
		t.Errorf("%d of %d pairs were counted", got.Of, all)
	}
	if share := float64(got.With) / float64(got.Of); share < 0.08 || share > 0.12 {
		t.Errorf("a share of %.3f, want a tenth", share)
	}
	// After the flood, every pair counts again.
	p.rate(epoch.Add(2 * time.Minute))
	p.note(expected, 1, epoch.Add(20*time.Minute))
	if again := p.rate(epoch.Add(30 * time.Minute)); again != (Rate{Of: 1}) {
		t.Errorf("after the flood %+v, want one", again)
	}
}

func TestSeries(t *testing.T) {
	var s series
	s.count(1, epoch)
	s.count(2, epoch.Add(14*time.Minute))
	for at, want := range map[time.Duration]int64{14 * time.Minute: 3} {
		if got := s.sum(epoch.Add(at)); got != want {
			t.Errorf("after %s: %d, want %d", at, got, want)
		}
	}
	s.count(4, epoch) // the clock was set back
	if got := s.sum(epoch.Add(15 * time.Minute)); got != 6 {
		t.Errorf("a minute later: %d, want 6: without the first count, with that of the wrong clock", got)
	}
	if got := s.sum(epoch.Add(time.Hour)); got != 0 {
		t.Errorf("an hour later: %d, want none", got)
	}
}
