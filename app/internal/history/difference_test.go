// SPDX-License-Identifier: Apache-2.0

package history

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kube-lifeline/lifeline/app/internal/kind"
	"github.com/kube-lifeline/lifeline/app/internal/observation"
)

// TestCompareContent: a change of content that is not read. The digest of the content differs in each
// version.
func TestCompareContent(t *testing.T) {
	const leader = "metadata.annotations[control-plane.alpha.kubernetes.io/leader]"
	for name, tt := range map[string]struct {
		reason  string
		changed []string
		want    []string
	}{
		"by an update": {"nothing else changed", nil, []string{observation.PathData}},
		"by an apply": {
			"the applied manifest shows the change", []string{pathLastApplied}, []string{observation.PathData},
		},
		"of a label": {
			"the label is the change", []string{"metadata.labels[a]"}, []string{"metadata.labels[a]"},
		},
		"of a label, by an apply": {
			"the manifest has the label, too",
			[]string{pathLastApplied, "metadata.labels[a]"}, []string{"metadata.labels[a]"},
		},
		"of a leader": {"an election changes nothing", []string{leader}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			version := func(value uint64) *Version {
				fields := &Fields{}
				paths := append([]string{observation.PathData}, tt.changed...)
				slices.Sort(paths)
				for _, path := range paths {
					fields.Leaves = append(fields.Leaves, observation.Leaf{Path: path, Value: value, Managers: 1})
				}
				return &Version{Intent: &Intent{Fields: fields}}
			}
			got := Compare(&kind.ConfigMap, version(1), version(2))
			if diff := cmp.Diff(tt.want, got.Paths); diff != "" {
				t.Errorf("%s: changed fields (-want +got):\n%s", tt.reason, diff)
			}
		})
	}
}
