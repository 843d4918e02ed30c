// SPDX-License-Identifier: Apache-2.0

package node

// Config describes a node. All paths are absolute.
type Config struct {
	// Name is that of the Node object, which the kubeconfig must allow.
	Name string
	// Dir is the node's directory, which is created. It identifies the node.
	Dir string

	// Detached lets the node outlive its caller. Any other node is cleaned up when its caller dies,
	// by a waiting process.
	Detached bool

	// Kubelet, Containerd and Shim (containerd-shim-runc-v2) are the programs.
	Kubelet, Containerd, Shim string
	// Kubeconfig is how the kubelet reaches the API server, as system:node:Name.
	Kubeconfig string
	// ClientCA verifies who talks to the kubelet.
	ClientCA string
	// ServingCert issues the kubelet's certificate for the node's name and
	// address, which Start chooses; both results are PEM.
	ServingCert func(hosts ...string) (cert, key []byte, err error)

	// Registry is the host:port that images come from, over plain HTTP.
	Registry string
	// PauseImage is the full reference of the sandbox image in that registry.
	PauseImage string

	// KubeletLog and ContainerdLog are their log files.
	KubeletLog, ContainerdLog string
	// KubeletArgs and ContainerdArgs come last on the command lines.
	KubeletArgs, ContainerdArgs []string
	// KubeletTracing and ContainerdTracing configure the spans; nil means none.
	KubeletTracing, ContainerdTracing *Tracing
}

// Tracing names an OTLP gRPC receiver without TLS.
type Tracing struct {
	// Endpoint is host:port.
	Endpoint string
	// SamplingRatePerMillion is the number of recorded traces in a million that the program begins.
	// For other traces the caller decides.
	SamplingRatePerMillion int32
}

// The names of the node's processes in the caller's group.
const (
	KubeletProcess    = "kubelet"
	ContainerdProcess = "containerd"
)
