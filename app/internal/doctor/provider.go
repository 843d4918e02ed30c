// SPDX-License-Identifier: Apache-2.0

package doctor

import "strings"

// Providers with a control plane that the user cannot configure.
const (
	EKS = "EKS"
	GKE = "GKE"
	AKS = "AKS"
	// Kwok marks a fake node, which runs no Pods.
	Kwok = "kwok"
)

// providerLabels are prefixes of labels on a provider's nodes.
var providerLabels = []struct{ prefix, provider string }{
	{"eks.amazonaws.com/", EKS}, {"alpha.eksctl.io/", EKS}, {"cloud.google.com/gke-", GKE},
	{"kubernetes.azure.com/", AKS},
}

// providerOf returns the provider of a node, by its labels and annotations and its kubelet's
// version.
func providerOf(labels, annotations map[string]string, kubelet string) string {
	if annotations["kwok.x-k8s.io/node"] != "" || labels["type"] == "kwok" {
		return Kwok
	}
	for _, known := range providerLabels {
		for label := range labels {
			if strings.HasPrefix(label, known.prefix) {
				return known.provider
			}
		}
	}
	switch {
	case strings.Contains(kubelet, "-eks-"):
		return EKS
	case strings.Contains(kubelet, "-gke."):
		return GKE
	}
	return ""
}

// serverless reports whether the user has no access to a node's machine.
func serverless(labels map[string]string) bool {
	return labels["eks.amazonaws.com/compute-type"] == "fargate" || labels["type"] == "virtual-kubelet"
}

// managed describes a provider with a managed control plane.
type managed struct {
	name string
	// audit is the destination of its audit log.
	audit string
	// kubelet describes whether and how users can configure kubelets to trace. kubeletLines are the
	// lines, nil if they cannot.
	kubelet      string
	kubeletLines func(endpoint string) []Lines
	// runtime is the same for the container runtime.
	runtime string
}

var providers = map[string]managed{
	EKS: {
		name:    "Amazon EKS",
		audit:   "it goes to CloudWatch Logs alone (log type audit of the cluster)",
		kubelet: "only on nodes with a launch template or a NodeConfig of yours (Amazon Linux 2023)",
		kubeletLines: func(endpoint string) []Lines {
			return []Lines{{
				Where: "NodeConfig in the user data of the node group's launch template; then replace the nodes",
				Text: "apiVersion: node.eks.aws/v1alpha1\nkind: NodeConfig\nspec:\n  kubelet:\n    config:\n      " +
					"tracing:\n        endpoint: " + endpoint +
					"\n        samplingRatePerMillion: 1000000\n",
			}}
		},
		runtime: "only by the user data of nodes with a launch template of yours",
	},
	GKE: {
		name:    "Google GKE",
		audit:   "it goes to Cloud Audit Logs alone",
		kubelet: "tracing is not among what a node pool's kubelet may be told",
		runtime: "nodes are Google's to configure",
	},
	AKS: {
		name:    "Azure AKS",
		audit:   "it goes to Azure Monitor alone (diagnostic setting kube-audit)",
		kubelet: "tracing is not among what a node pool's kubelet may be told",
		runtime: "nodes are Azure's to configure",
	},
}

// managed returns the provider of the control plane, if all nodes with machines belong to one known
// provider.
func (c *Cluster) managed() (managed, bool) {
	if !c.Nodes.Is() {
		return managed{}, false
	}
	whose, some := "", false
	for _, n := range c.Nodes.Value {
		switch {
		case n.Provider == Kwok, n.Provider == "" && n.Serverless:
		case some && n.Provider != whose:
			return managed{}, false // nodes of two providers: the control plane's is unknown
		default:
			whose, some = n.Provider, true
		}
	}
	// A visible control plane is not managed.
	if len(c.APIServers.Value) > 0 {
		return managed{}, false
	}
	m, ok := providers[whose]
	return m, ok
}
