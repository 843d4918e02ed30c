// SPDX-License-Identifier: Apache-2.0

package node

// Config says what node to run. All paths are absolute.
type Config struct {
	// Name is that of the Node object, which the kubeconfig must allow.
	Name string
	// Dir is the node's directory, which is created. It identifies the node.
	Dir string

	// Detached says that the node outlives its caller. Any other is cleaned up
	// as soon as the caller has died, by a process that waits for that.
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
	// KubeletTracing and ContainerdTracing say where spans go; nil: nowhere.
	KubeletTracing, ContainerdTracing *Tracing
}

// Tracing names an OTLP gRPC receiver without TLS.
type Tracing struct {
	// Endpoint is host:port.
	Endpoint string
	// SamplingRatePerMillion is how many of a million traces that the program
	// begins are recorded; those of its callers are as the caller says.
	SamplingRatePerMillion int32
}

// The names of the node's processes in the caller's group.
const (
	KubeletProcess    = "kubelet"
	ContainerdProcess = "containerd"
)
