// SPDX-License-Identifier: Apache-2.0

package serve

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kube-lifeline/lifeline/app/internal/source/watch"
)

func TestUnlistable(t *testing.T) {
	resource := func(name string, connected, unreadable int, failures uint64) watch.ResourceStats {
		return watch.ResourceStats{
			Resource: schema.GroupResource{Resource: name}, Streams: 1, Connected: connected, Unreadable: unreadable,
			Errors: map[string]uint64{"server": failures},
		}
	}
	stats := func(resources ...watch.ResourceStats) watch.Stats { return watch.Stats{Resources: resources} }
	for name, c := range map[string]struct {
		reason      string
		before, now watch.Stats
		want        []string
	}{
		"fails": {
			"nothing else is missing", stats(resource("heads", 0, 0, 1), resource("pods", 0, 0, 0), resource("secrets", 0, 0, 0)),
			stats(resource("heads", 0, 0, 9), resource("pods", 1, 0, 0), resource("secrets", 0, 1, 0)), []string{"heads"},
		},
		"fails from its beginning": {
			"it was not watched before", watch.Stats{}, stats(resource("heads", 0, 0, 9), resource("pods", 1, 0, 0)), []string{"heads"},
		},
		"another is large": {
			"it is being read", stats(), stats(resource("heads", 0, 0, 9), resource("nodes", 1, 0, 0), resource("pods", 0, 0, 0)), nil,
		},
		"has failed": {
			"it is being read now", stats(resource("heads", 0, 0, 9)), stats(resource("heads", 0, 0, 9), resource("pods", 1, 0, 0)), nil,
		},
		"all fail": {"the API server starts", stats(), stats(resource("heads", 0, 0, 9), resource("pods", 0, 0, 9)), nil},
		"none":     {"all is shown that can be", stats(), stats(resource("pods", 1, 0, 3)), nil},
	} {
		t.Run(name, func(t *testing.T) {
			if d := cmp.Diff(c.want, unlistable(c.before, c.now)); d != "" {
				t.Errorf("%s: -want +got:\n%s", c.reason, d)
			}
		})
	}
}
