// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/kube-lifeline/lifeline/app/internal/object"
	"github.com/kube-lifeline/lifeline/app/internal/observation"
)

// TestDeletionDuringAnUpdate: nobody knows the author of a deletion. The controller of a StatefulSet deletes
// a Pod for an update only if all are ready, or if their management is Parallel.
func TestDeletionDuringAnUpdate(t *testing.T) {
	failed := func(st *observation.State) { st.Pod.Phase = "Failed" }
	for name, tc := range map[string]struct {
		policy string
		pods   []func(*observation.State)
		want   bool
	}{
		"AllReady":      {"OrderedReady", []func(*observation.State){ready, ready}, true},
		"NotReady":      {"OrderedReady", []func(*observation.State){unpulled, ready}, false},
		"OtherNotReady": {"OrderedReady", []func(*observation.State){ready, unpulled}, true},
		"Ended":         {"OrderedReady", []func(*observation.State){failed, ready}, true},
		"Parallel":      {"Parallel", []func(*observation.State){unpulled, ready}, true},
		"Unknown":       {"", []func(*observation.State){unpulled, ready}, true},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStory()
			s.write("db", deployment(2), ofKind("apps", "StatefulSet"), func(st *observation.State) {
				if tc.policy != "" {
					st.Leaves = []observation.Leaf{{Path: "spec.podManagementPolicy", Value: 1, Shown: tc.policy}}
				}
			})
			for i, state := range tc.pods {
				s.write([]string{"db-0", "db-1"}[i], pod("db"), func(st *observation.State) {
					st.Owners[0].Kind = object.Kind{Group: "apps", Version: "v1", Kind: "StatefulSet"}
				}, bind, state)
			}
			s.write("db", arrived)
			s.wait(time.Minute)
			s.write("db", changed, func(st *observation.State) {
				st.Leaves = append(slices.Clone(st.Leaves), observation.Leaf{Path: "spec.template", Value: 1})
			})
			s.write("db-0", deleting)
			s.gone("db-0")
			out := s.outline(t)
			_, update, _ := strings.Cut(out, "\ntrace 1 ")
			update, _, _ = strings.Cut(update, "\ntrace ")
			if got := strings.Contains(update, "Pod db-0"); got != tc.want {
				t.Errorf("the deletion is part of the update: got %v, want %v\n%s", got, tc.want, out)
			}
			inAnyOrder(t, s, outline)
		})
	}
}
