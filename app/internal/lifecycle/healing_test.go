// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"strings"
	"testing"

	"github.com/kube-lifeline/lifeline/app/internal/cause"
	"github.com/kube-lifeline/lifeline/app/internal/object"
	"github.com/kube-lifeline/lifeline/app/internal/observation"
)

// TestDaemonSetRefills: while a DaemonSet rolls out, a new Pod on a Node is part of the rollout. Another
// of the same revision on that Node replaces it.
func TestDaemonSetRefills(t *testing.T) {
	agent := func(node string, revision uint64) func(*observation.State) {
		return func(st *observation.State) {
			pod("")(st)
			st.Owners = []object.Owner{{
				Kind: object.Kind{Group: "apps", Version: "v1", Kind: "DaemonSet"},
				Name: "agent", UID: "uid-agent", Controller: true,
			}}
			st.Pod.Node = node
			st.Leaves = []observation.Leaf{{Path: cause.RevisionLabel, Value: revision}}
		}
	}
	for name, tc := range map[string]struct {
		reason   string
		revision uint64 // of the Pod that is lost during the rollout
		want     string
	}{
		"Old": {"the new Pod has the new template", 1, "    reconcile Pod agent-c (owner)\n"},
		"New": {"the rollout had made a Pod there", 2, "  reconcile Pod agent-c ~owner ~heals\n"},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStory()
			s.write("agent", ofKind("apps", "DaemonSet"), func(st *observation.State) {
				st.Workload = &observation.Workload{Replicas: 2}
			})
			s.write("agent-a", agent("n1", tc.revision))
			s.write("agent-b", agent("n2", 1))
			s.write("agent-a", deleting)
			s.gone("agent-a")
			s.write("agent-c", agent("n1", 2))
			if got := s.outline(t); !strings.Contains(got, tc.want) {
				t.Errorf("%s: want %q in:\n%s", tc.reason, tc.want, got)
			}
		})
	}
}
