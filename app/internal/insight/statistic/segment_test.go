// SPDX-License-Identifier: Apache-2.0

package statistic

import "testing"

// TestPlace: one unusual value beside a shift does not move it, since it is nearer to the values of its own side.
func TestPlace(t *testing.T) {
	var values []float64
	for i := range 40 {
		v := 300 + float64(i*7%11)
		if i >= 30 {
			v += 1700
		}
		values = append(values, v)
	}
	values[29], values[28] = 420, 380
	var s Splitter
	if ranks := s.Best(values).At; ranks >= 30 {
		t.Errorf("by ranks alone the shift is at %d: the test shows nothing", ranks)
	}
	if got := s.Segment(values, 0.01); len(got) != 1 || got[0].At != 30 {
		t.Errorf("got %v, want one shift at 30", got)
	}
}
