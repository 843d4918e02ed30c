// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kube-lifeline/lifeline/app/internal/kind"
	"github.com/kube-lifeline/lifeline/app/internal/object"
	"github.com/kube-lifeline/lifeline/app/internal/observation"
)

// mirror is the mirror Pod of a static Pod, with the hash of its manifest. Each mirror Pod has its own
// UID.
func mirror(name string, hash uint64) func(*observation.State) {
	return func(st *observation.State) {
		pod("")(st)
		managedBy(kind.Kubelet)(st)
		st.UID, st.Name = types.UID("uid-"+name), "etcd-node-1"
		st.Owners = []object.Owner{{Kind: kind.Node.Kind, Name: "node-1", UID: "uid-node-1", Controller: true}}
		st.Leaves = []observation.Leaf{
			{Path: "metadata.annotations[kubernetes.io/config.mirror]", Value: hash, Managers: 1},
		}
	}
}

// TestStaticPods: a mirror Pod after an edit of its manifest is a change by the kubelet, and one after a
// deletion by a person heals.
func TestStaticPods(t *testing.T) {
	cases := map[string]struct {
		reason string
		tell   func(*story)
		want   string
	}{
		"edited": {"the kubelet replaces the mirror Pod", func(s *story) {
			s.gone("etcd")
			s.write("etcd-2", mirror("etcd-2", 2))
			s.write("etcd-2", bind)
			s.write("etcd-2", ready)
		}, "trace 0 converged\n  reconcile Pod etcd-node-1 converged\n    schedule etcd-node-1\n" +
			"    reconcile Pod etcd-node-1 deleted (relation)\n      terminate etcd-node-1\n    sandbox etcd-node-1\n"},
		"deleted": {"the manifest is still there", func(s *story) {
			s.gone("etcd")
			s.write("etcd-2", mirror("etcd-2", 1))
			s.write("etcd-2", bind)
			s.write("etcd-2", ready)
		}, "trace 0 deleted\n  reconcile Pod etcd-node-1 deleted\n    terminate etcd-node-1\n" +
			"trace 1 converged\n  reconcile Pod etcd-node-1 converged ~heals\n" +
			"    schedule etcd-node-1\n    sandbox etcd-node-1\n"},
		"another": {"a new static Pod replaces no other", func(s *story) {
			s.gone("etcd")
			s.write("proxy", mirror("proxy", 2), func(st *observation.State) { st.Name = "proxy-node-1" })
			s.write("proxy", bind)
			s.write("proxy", ready)
		}, "trace 0 deleted\n  reconcile Pod etcd-node-1 deleted\n    terminate etcd-node-1\n" +
			"trace 1 converged\n  reconcile Pod proxy-node-1 converged\n" +
			"    schedule proxy-node-1\n    sandbox proxy-node-1\n"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			s := newStory()
			s.write("node-1", aNode)
			s.write("etcd", mirror("etcd", 1))
			s.write("etcd", bind)
			s.write("etcd", ready)
			s.wait(time.Minute)
			s.before()
			tc.tell(s)
			if diff := cmp.Diff(tc.want, s.outline(t)); diff != "" {
				t.Errorf("%s: (-want +got)\n%s", tc.reason, diff)
			}
			inAnyOrder(t, s, outline)
		})
	}
}

// TestStaticPodsOfANewNode: they belong to the creation of their Node.
func TestStaticPodsOfANewNode(t *testing.T) {
	s := newStory()
	s.write("node-1", aNode, managedBy(kind.Kubelet), joining)
	s.write("etcd", mirror("etcd", 1))
	s.write("etcd", bind)
	s.write("etcd", ready)
	s.write("node-1", back)
	want := "trace 0 converged\n  reconcile Node node-1 converged\n" +
		"    reconcile Pod etcd-node-1 converged (owner)\n      schedule etcd-node-1\n      sandbox etcd-node-1\n"
	if diff := cmp.Diff(want, s.outline(t)); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}
