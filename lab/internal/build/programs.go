// SPDX-License-Identifier: Apache-2.0

package build

import (
	"embed"
	"strings"
)

// modules holds one pinned module for each source: NAME.mod and NAME.sum are
// its go.mod and go.sum (a directory with a go.mod cannot be embedded). NAME.go.txt
// is the main.go of a module whose program has no main package to import.
//
//go:embed modules/*.mod modules/*.sum modules/*.go.txt
var modules embed.FS

// crdsSuffix is what follows a program's path in that of the directory with its
// CustomResourceDefinitions.
const crdsSuffix = ".crds"

// CRDs returns the directory of the CustomResourceDefinitions of a program at
// the given path. It exists for a program that has some.
func CRDs(program string) string { return program + crdsSuffix }

// A program is one executable and how it is built.
type program struct {
	name    string
	source  string // its project: programs of one source are kept together
	module  string // of modules
	pkg     string
	tags    string
	ldflags string
	crds    crds
}

// tests reports whether the program is the tests of its package.
func (p program) tests() bool { return strings.HasSuffix(p.name, ".test") }

// crds is where the CustomResourceDefinitions of a program are: a directory of a
// Go module. The zero value means that it has none.
type crds struct{ module, dir string }

// Programs report the version that their modules pin.
const (
	helmFlags        = stripped + " -X helm.sh/helm/v4/internal/version.version=v4.3.1"
	certManagerFlags = stripped + " -X " + certManager + "/pkg/util.AppVersion=v1.21.2"
	argoFlags        = stripped + " -X " + argoCD + "/common.version=3.2.11"
	clusterAPIFlags  = stripped + " -X " + clusterAPI + "/version.gitVersion=v1.14.2" +
		" -X " + clusterAPI + "/version.gitMajor=1 -X " + clusterAPI + "/version.gitMinor=14"
)

const (
	kubernetes     = "kubernetes"
	stripped       = "-s -w"
	certManager    = "github.com/cert-manager/cert-manager"
	argoCD         = "github.com/argoproj/argo-cd/v3"
	clusterAPI     = "sigs.k8s.io/cluster-api"
	containerdTags = "no_btrfs no_zfs no_devmapper" // what would need C headers
)

// programsOf lists everything that can be built for a minor version of
// Kubernetes, in the order of building: what shares most packages with its
// successors comes first. Only the programs of Kubernetes itself differ. The newest version has its
// end-to-end tests, too.
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
			crds{},
		}
	}
	programs := []program{
		{"etcd", "etcd", "etcd", "go.etcd.io/etcd/server/v3", "", stripped, crds{}},
		ofKubernetes("kube-apiserver"),
		ofKubernetes("kube-controller-manager"),
		ofKubernetes("kube-scheduler"),
		ofKubernetes("kubectl"),
		{"kwok", "kwok", "kwok", "sigs.k8s.io/kwok/cmd/kwok", "", stripped, crds{}},
		ofKubernetes("kubelet"),
		{
			"containerd", "containerd", "containerd",
			"github.com/containerd/containerd/v2/cmd/containerd", containerdTags, stripped, crds{},
		},
		{
			"containerd-shim-runc-v2", "containerd", "containerd",
			"github.com/containerd/containerd/v2/cmd/containerd-shim-runc-v2", containerdTags, stripped, crds{},
		},
		{
			"source-controller", "flux", "flux",
			"github.com/fluxcd/source-controller", "", stripped,
			crds{"github.com/fluxcd/source-controller", "config/crd/bases"},
		},
		{
			"kustomize-controller", "flux", "flux",
			"github.com/fluxcd/kustomize-controller", "", stripped,
			crds{"github.com/fluxcd/kustomize-controller", "config/crd/bases"},
		},
		{"helm", "helm", "helm", "helm.sh/helm/v4/cmd/helm", "", helmFlags, crds{}},
		{
			"cert-manager", "cert-manager", "cert-manager", ".", "", certManagerFlags,
			crds{certManager, "deploy/crds"},
		},
		{
			"metrics-server", "metrics-server", "metrics-server",
			"sigs.k8s.io/metrics-server/cmd/metrics-server", "", stripped, crds{},
		},
		{
			"sample-apiserver", "sample-apiserver", "sample-apiserver",
			"k8s.io/sample-apiserver", "", stripped, crds{},
		},
		{
			"argocd-application-controller", "argo-cd", "argo-cd", ".", "", argoFlags,
			crds{argoCD, "manifests/crds"},
		},
		{
			"cluster-api", "cluster-api", "cluster-api", clusterAPI + "/core", "", clusterAPIFlags,
			crds{clusterAPI, "core/config/crd/bases"},
		},
	}
	if release == releases[0] {
		programs = append(programs, program{
			"e2e.test", "upstream", "upstream-" + minor,
			"k8s.io/kubernetes/test/e2e", "", kubernetesFlags(release), crds{},
		})
	}
	return programs, nil
}
