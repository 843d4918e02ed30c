// SPDX-License-Identifier: Apache-2.0

package tree

import (
	"strings"
	"testing"

	"github.com/kube-lifeline/lifeline/app/internal/observation"
)

// TestNodeAttributes: the attributes of a Pod's span that are those of its Node.
func TestNodeAttributes(t *testing.T) {
	for name, test := range map[string]struct {
		node *observation.Node
		want string
	}{
		"unknown": {nil, ""},
		"nothing": {&observation.Node{ProviderID: "aws:///i-1"}, ""},
		"all": {
			&observation.Node{Region: "eu", Zone: "eu-a", InstanceType: "m7i.large", Runtime: "containerd://2.3.7",
				Kubelet: "v1.36.2", Pool: "spot"},
			"cloud.availability_zone=eu-a cloud.region=eu host.type=m7i.large container.runtime.name=containerd " +
				"container.runtime.version=2.3.7 lifeline.node.kubelet=v1.36.2 lifeline.node.pool=spot",
		},
		"a runtime without a version": {&observation.Node{Runtime: "cri-o"}, "container.runtime.name=cri-o"},
		"a version without a runtime": {&observation.Node{Runtime: "://1"}, "container.runtime.version=1"},
	} {
		t.Run(name, func(t *testing.T) {
			var got []string
			for _, kv := range appendNode(nil, test.node) {
				got = append(got, string(kv.Key)+"="+kv.Value.AsString())
			}
			if text := strings.Join(got, " "); text != test.want {
				t.Errorf("%s, want %s", text, test.want)
			}
		})
	}
}
