// SPDX-License-Identifier: Apache-2.0

package build

import (
	"embed"
	"strings"
)

// modules holds one pinned module for each source: NAME.mod and NAME.sum are
// its go.mod and go.sum (a directory with a go.mod cannot be embedded).
//
//go:embed modules/*.mod modules/*.sum
var modules embed.FS

// KubernetesVersion is the version that the built Kubernetes programs report.
const KubernetesVersion = "v1.36.3"

// A program is one executable and how it is built.
type program struct {
	name    string
	module  string // of modules
	pkg     string
	tags    string
	ldflags string
}

const (
	stripped       = "-s -w"
	containerdTags = "no_btrfs no_zfs no_devmapper" // what would need C headers
)

// kubernetesFlags set the version, which a build from modules leaves unset and
// without which `kubectl version` fails.
var kubernetesFlags = func() string {
	parts := strings.Split(strings.TrimPrefix(KubernetesVersion, "v"), ".")
	flags := stripped
	for _, set := range []string{
		"gitVersion=" + KubernetesVersion, "gitMajor=" + parts[0], "gitMinor=" + parts[1],
		"gitTreeState=archive", "gitCommit=unknown", "buildDate=1970-01-01T00:00:00Z",
	} {
		flags += " -X k8s.io/component-base/version." + set
	}
	return flags
}()

// programs lists everything that can be built, in the order of building: what
// shares most packages with its successors comes first.
var programs = []program{
	{"etcd", "etcd", "go.etcd.io/etcd/server/v3", "", stripped},
	{"kube-apiserver", "kubernetes", "k8s.io/kubernetes/cmd/kube-apiserver", "", kubernetesFlags},
	{"kube-controller-manager", "kubernetes", "k8s.io/kubernetes/cmd/kube-controller-manager", "", kubernetesFlags},
	{"kube-scheduler", "kubernetes", "k8s.io/kubernetes/cmd/kube-scheduler", "", kubernetesFlags},
	{"kubectl", "kubernetes", "k8s.io/kubernetes/cmd/kubectl", "", kubernetesFlags},
	{"kwok", "kwok", "sigs.k8s.io/kwok/cmd/kwok", "", stripped},
	{"kubelet", "kubernetes", "k8s.io/kubernetes/cmd/kubelet", "", kubernetesFlags},
	{"containerd", "containerd", "github.com/containerd/containerd/v2/cmd/containerd", containerdTags, stripped},
	{
		"containerd-shim-runc-v2", "containerd",
		"github.com/containerd/containerd/v2/cmd/containerd-shim-runc-v2", containerdTags, stripped,
	},
}
