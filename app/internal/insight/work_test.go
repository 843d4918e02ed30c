// SPDX-License-Identifier: Apache-2.0

package insight_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kube-lifeline/lifeline/app/internal/insight"
	"github.com/kube-lifeline/lifeline/app/internal/span"
	"github.com/kube-lifeline/lifeline/app/internal/span/spantest"
)

func TestLongest(t *testing.T) {
	type part struct {
		name string
		ms   int
	}
	work := func(label string, ms int) insight.Work {
		return insight.Work{Label: label, Duration: time.Duration(ms) * time.Millisecond}
	}
	cases := map[string]struct {
		reason string
		path   []part
		open   bool
		want   []insight.Work
	}{
		"none": {reason: "no path has no work"},
		"order": {
			reason: "the order is that of the first segments, and equal labels are one kind",
			path:   []part{{"a", 10}, {"b", 50}, {"a", 5}, {"c", 70}},
			want:   []insight.Work{work("a", 15), work("b", 50), work("c", 70)},
		},
		"many": {
			reason: "the shortest are left out",
			path:   []part{{"a", 9}, {"b", 1}, {"c", 8}, {"d", 7}, {"e", 2}, {"f", 6}, {"g", 5}, {"h", 4}},
			want:   []insight.Work{work("a", 9), work("c", 8), work("d", 7), work("f", 6), work("g", 5), work("h", 4)},
		},
		"current": {
			reason: "the work that continues stays, however short",
			path:   []part{{"a", 9}, {"b", 8}, {"c", 7}, {"d", 6}, {"e", 5}, {"f", 4}, {"g", 1}},
			open:   true,
			want:   []insight.Work{work("a", 9), work("b", 8), work("c", 7), work("d", 6), work("e", 5), work("g", 1)},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			var path []insight.Segment
			at := 0
			for i, p := range tc.path {
				s := &span.Span{Name: p.name}
				if !tc.open || i < len(tc.path)-1 {
					s.End = spantest.At(at + p.ms)
				}
				path = append(path, insight.Segment{
					Span: s, Start: spantest.At(at).Time, End: spantest.At(at + p.ms).Time,
				})
				at += p.ms
			}
			if diff := cmp.Diff(tc.want, insight.Longest(path)); diff != "" {
				t.Errorf("%s: -want +got:\n%s", tc.reason, diff)
			}
		})
	}
}
