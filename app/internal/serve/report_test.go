// SPDX-License-Identifier: Apache-2.0

package serve

import (
	"testing"

	"github.com/kube-lifeline/lifeline/app/internal/source/watch"
)

func TestBlind(t *testing.T) {
	type resources = []watch.ResourceStats
	tests := map[string]struct {
		reason string
		stats  resources
		want   bool
	}{
		"nothing yet":  {"before the first statistics", nil, false},
		"ended":        {"what nothing watches any more does not count", resources{{}}, false},
		"one of two":   {"little is better than nothing", resources{{Streams: 2, Unreadable: 2}, {Streams: 1}}, false},
		"some streams": {"some namespaces may be read", resources{{Streams: 2, Unreadable: 1}}, false},
		"none": {
			"there is nothing to see",
			resources{{Streams: 2, Unreadable: 2}, {Streams: 1, Unreadable: 1}, {}},
			true,
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			if got := blind(watch.Stats{Resources: tt.stats}); got != tt.want {
				t.Errorf("blind is %t, want %t: %s", got, tt.want, tt.reason)
			}
		})
	}
}
