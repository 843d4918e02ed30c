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

func TestShares(t *testing.T) {
	type part struct {
		name string
		ms   int
	}
	share := func(label string, ms, percent int) insight.Share {
		return insight.Share{Label: label, Duration: time.Duration(ms) * time.Millisecond, Percent: percent}
	}
	cases := map[string]struct {
		reason string
		path   []part
		want   []insight.Share
	}{
		"none": {reason: "no path has no shares"},
		"thirds": {
			"the remainder goes to one of equals", []part{{"a", 1}, {"b", 1}, {"c", 1}}, []insight.Share{
				share("a", 1, 34), share("b", 1, 33), share("c", 1, 33),
			},
		},
		"summed": {
			"what has the same label is one share", []part{{"a", 10}, {"b", 50}, {"a", 40}}, []insight.Share{
				share("a", 50, 50), share("b", 50, 50),
			},
		},
		"small": {
			"what is below 3 % is other, and last", []part{
				{"a", 90}, {"b", 2}, {"c", 1}, {"d", 2}, {"e", 5},
			}, []insight.Share{share("a", 90, 90), share("e", 5, 5), share("other", 5, 5)},
		},
		"tiny": {
			"other is left out if it rounds to nothing", []part{{"a", 10000}, {"b", 1}}, []insight.Share{
				share("a", 10000, 100),
			},
		},
		"largest remainder": {
			"rounding gives to who lost most", []part{{"a", 576}, {"b", 284}, {"c", 140}},
			[]insight.Share{share("a", 576, 58), share("b", 284, 28), share("c", 140, 14)},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			var path []insight.Segment
			at := 0
			for _, p := range tc.path {
				path = append(path, insight.Segment{
					Span: &span.Span{Name: p.name}, Start: spantest.At(at).Time, End: spantest.At(at + p.ms).Time,
				})
				at += p.ms
			}
			if diff := cmp.Diff(tc.want, insight.Shares(path)); diff != "" {
				t.Errorf("%s: -want +got:\n%s", tc.reason, diff)
			}
		})
	}
}
