// SPDX-License-Identifier: Apache-2.0

package doctor

import "strings"

// Providers whose control planes are their own.
const (
	EKS = "EKS"
	GKE = "GKE"
	AKS = "AKS"
	// Kwok marks a node that is none: nobody runs its Pods.
	Kwok = "kwok"
)

// providerLabels begin the labels that a provider's nodes have.
var providerLabels = []struct{ prefix, provider string }{
	{"eks.amazonaws.com/", EKS}, {"alpha.eksctl.io/", EKS}, {"cloud.google.com/gke-", GKE},
	{"kubernetes.azure.com/", AKS},
}

// providerOf says whose a node is, by its labels and annotations and by the
// version that its kubelet says.
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

// serverless reports whether a node is a provider's alone.
func serverless(labels map[string]string) bool {
	return labels["eks.amazonaws.com/compute-type"] == "fargate" || labels["type"] == "virtual-kubelet"
}

// managed is what is known of a provider whose control plane is its own.
type managed struct {
	name string
	// audit is where the audit log goes instead.
	audit string
	// kubelet says whether one may tell kubelets to trace, and how; kubeletLines
	// are the lines, empty if one may not.
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

// managed is whose the control plane is, if it is a provider's that is known: of
// all nodes that are machines.
func (c *Cluster) managed() (managed, bool) {
	if !c.Nodes.Is() {
		return managed{}, false
	}
	whose, some := "", false
	for _, n := range c.Nodes.Value {
		switch {
		case n.Provider == Kwok, n.Provider == "" && n.Serverless:
		case some && n.Provider != whose:
			return managed{}, false // nodes of two: who runs the control plane?
		default:
			whose, some = n.Provider, true
		}
	}
	// A control plane that can be seen is nobody else's.
	if len(c.APIServers.Value) > 0 {
		return managed{}, false
	}
	m, ok := providers[whose]
	return m, ok
}
