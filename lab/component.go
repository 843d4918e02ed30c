// SPDX-License-Identifier: Apache-2.0

package lab

// A Component is one of the programs that a cluster runs.
type Component string

// The components of a cluster. Those of the nodes depend on the NodeMode.
const (
	Etcd              Component = "etcd"
	APIServer         Component = "kube-apiserver"
	ControllerManager Component = "kube-controller-manager"
	Scheduler         Component = "kube-scheduler"
	KWOK              Component = "kwok"       // NodesKWOK
	Kubelet           Component = "kubelet"    // NodesReal
	Containerd        Component = "containerd" // NodesReal
)

// The controllers of the add-ons.
const (
	SourceController    Component = "source-controller"             // Flux
	KustomizeController Component = "kustomize-controller"          // Flux
	CertController      Component = "cert-manager"                  // CertManager
	MetricsServer       Component = "metrics-server"                // Metrics
	ArgoController      Component = "argocd-application-controller" // ArgoCD
	ClusterAPIManager   Component = "cluster-api"                   // ClusterAPI
	SampleAPIServer     Component = "sample-apiserver"              // SampleAPI
)

// components lists all of them, in the order in which they start.
var components = []Component{
	Etcd, APIServer, ControllerManager, Scheduler, KWOK, Containerd, Kubelet,
	SourceController, KustomizeController, CertController, MetricsServer,
	ArgoController, ClusterAPIManager, SampleAPIServer,
}
