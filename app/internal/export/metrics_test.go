// SPDX-License-Identifier: Apache-2.0

package export

import "testing"

func TestDeliveredRatio(t *testing.T) {
	cases := map[string]struct {
		reason string
		stats  OutboxStats
		want   float64
	}{
		"nothing":  {"nothing is missing where nothing was expected", OutboxStats{}, 1},
		"all":      {"every span has arrived", OutboxStats{Exported: 10}, 1},
		"all lost": {"the backend never answered", OutboxStats{Dropped: map[DropReason]int64{DroppedAge: 3}}, 0},
		"some": {
			"dropped, refused and waiting ones all count",
			OutboxStats{Exported: 7, Refused: 1, Spans: 1, Dropped: map[DropReason]int64{DroppedFull: 1}}, 0.7,
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if got := tc.stats.DeliveredRatio(); got != tc.want {
				t.Errorf("%s: got %v, want %v", tc.reason, got, tc.want)
			}
		})
	}
}
