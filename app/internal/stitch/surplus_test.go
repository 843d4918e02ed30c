// SPDX-License-Identifier: Apache-2.0

package stitch_test

import (
	"slices"
	"testing"

	"github.com/kube-lifeline/lifeline/app/internal/span"
	"github.com/kube-lifeline/lifeline/app/internal/stitch"
)

// TestSurplus: a full trace loses the plugins of successful attempts first, and the last attempt without
// a node last, in any order of arrival.
func TestSurplus(t *testing.T) {
	ours, _, _ := web()
	var f foreign
	plugins := func(id by, point string, outcome string) {
		root := attempt(&f, id, "web-1", 21, 38)
		root.Attributes = append(root.Attributes, span.KeyAttemptOutcome.String(outcome))
		for i := range 4 {
			s := f.add("kube-scheduler@cp", "i", point+" plugin", by{id.trace, id.span + 2 + byte(i)}, id.span+1,
				22, 23, span.KeyPlugin.String("plugin"))
			s.Origin.Scope.Name = schedulerScope
		}
	}
	plugins(by{0xf0, 1}, "Filter", "unschedulable")
	earlier := attempt(&f, by{0x08, 1}, "web-1", 20.5, 38)
	earlier.Attributes = append(earlier.Attributes, span.KeyAttemptOutcome.String("unschedulable"))
	plugins(by{0x10, 1}, "Filter", "bound")
	plugins(by{0x20, 1}, "Score", "bound")
	f.request(by{0x30, 1}, patchPod, "audit-web-1", 33, 36)
	count := func(got *span.Trace) (failed, scored, filtered int) {
		for _, s := range got.Spans {
			switch {
			case s.Origin == nil:
			case s.Origin.TraceID[15] == 0xf0:
				failed++
			case s.Name == "Score plugin":
				scored++
			case s.Name == "Filter plugin":
				filtered++
			}
		}
		return failed, scored, filtered
	}
	whole := join(stitch.Options{}, &f, ours.Trace)[0]
	if failed, scored, filtered := count(whole); failed != 6 || scored != 4 || filtered != 4 {
		t.Fatalf("without a bound: %d of the failed attempt, %d of Score, %d of Filter\n%s", failed, scored, filtered,
			outline(whole))
	}
	all := len(edgesOf(whole))
	for most, want := range map[int][3]int{all - 6: {6, 4, 0}, 6: {6, 0, 0}} {
		for _, reversed := range []bool{false, true} {
			list := slices.Clone(f.list)
			if reversed {
				slices.Reverse(list)
			}
			s := stitch.New(stitch.Options{MaxPerTrace: most})
			s.Accept(list, now)
			got := s.Join(ours.Trace, true, now)
			check(t, ours.Trace, got)
			failed, scored, filtered := count(got)
			if n := [3]int{failed, scored, filtered}; n[0] != want[0] || n[1] != want[1] || n[2] != want[2] {
				t.Errorf("at most %d, reversed %t: got %v of the failed attempt, of Score, of Filter; want %v",
					most, reversed, n, want)
			}
			if st := s.Stats(); st.Surplus != int64(all-most) {
				t.Errorf("stats: %+v", st)
			}
		}
	}
}
