// SPDX-License-Identifier: Apache-2.0

package build

import "embed"

// modules holds one pinned module for each source: NAME.mod and NAME.sum are
// its go.mod and go.sum (a directory with a go.mod cannot be embedded).
//
//go:embed modules/*.mod modules/*.sum
var modules embed.FS

// A program is one executable and how it is built.
type program struct {
	name    string
	source  string // what it is part of: programs of one source are kept together
	module  string // of modules
	pkg     string
	tags    string
	ldflags string
}

const (
	kubernetes     = "kubernetes"
	stripped       = "-s -w"
	containerdTags = "no_btrfs no_zfs no_devmapper" // what would need C headers
)

// programsOf lists everything that can be built for a minor version of
// Kubernetes, in the order of building: what shares most packages with its
// successors comes first. Only the programs of Kubernetes itself differ.
func programsOf(minor string) ([]program, error) {
	release, err := Release(minor)
	if err != nil {
		return nil, err
	}
	ofKubernetes := func(name string) program {
		return program{
			name,
			kubernetes,
			kubernetes + "-" + minor,
			"k8s.io/kubernetes/cmd/" + name,
			"",
			kubernetesFlags(release),
		}
	}
	return []program{
		{"etcd", "etcd", "etcd", "go.etcd.io/etcd/server/v3", "", stripped},
		ofKubernetes("kube-apiserver"),
		ofKubernetes("kube-controller-manager"),
		ofKubernetes("kube-scheduler"),
		ofKubernetes("kubectl"),
		{"kwok", "kwok", "kwok", "sigs.k8s.io/kwok/cmd/kwok", "", stripped},
		ofKubernetes("kubelet"),
		{
			"containerd", "containerd", "containerd",
			"github.com/containerd/containerd/v2/cmd/containerd", containerdTags, stripped,
		},
		{
			"containerd-shim-runc-v2", "containerd", "containerd",
			"github.com/containerd/containerd/v2/cmd/containerd-shim-runc-v2", containerdTags, stripped,
		},
	}, nil
}
