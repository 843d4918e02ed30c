// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"time"

	"github.com/kube-lifeline/lifeline/app/internal/api"
	"github.com/kube-lifeline/lifeline/app/internal/config"
)

// Known is an answer, or the reason why there is none.
type Known[T any] struct {
	Value T `json:"value"`
	// Unknown is the reason; empty if Value is set.
	Unknown string `json:"unknown,omitempty"`
}

// known returns an answer.
func known[T any](value T) Known[T] { return Known[T]{Value: value} }

// unknown returns a missing answer.
func unknown[T any](why string) Known[T] { return Known[T]{Unknown: why} }

// Is reports whether there is an answer.
func (k Known[T]) Is() bool { return k.Unknown == "" }

// Facts are all gathered facts.
type Facts struct {
	// At is the time by this machine's clock.
	At time.Time `json:"at"`
	// Version is the version of this program.
	Version string `json:"version"`
	// Cluster comes from the API server, Server from `lifeline serve`. Server.Unknown is the reason
	// why no server was queried.
	Cluster Known[Cluster] `json:"cluster"`
	Server  Known[Server]  `json:"server"`
}

// Cluster holds the facts from its API server.
type Cluster struct {
	// Version is the API server's: v1.37.2.
	Version string `json:"version"`
	// User is the caller's user name in the API server. It is hashed unless names were requested.
	User  Known[string] `json:"user"`
	Clock Known[Skew]   `json:"clock"`
	Nodes Known[[]Node] `json:"nodes"`
	// Kubelets are those with readable tracing settings; of many nodes, a sample.
	Kubelets Known[[]Kubelet] `json:"kubelets"`
	// APIServers and Etcds are those that run as Pods in kube-system.
	APIServers Known[[]Process] `json:"apiServers"`
	Etcds      Known[[]Process] `json:"etcds"`
	// Schedulers are likewise the kube-schedulers.
	Schedulers Known[[]Process] `json:"schedulers"`
	// Audited is the number of audit events of the queried API server since its start.
	Audited Known[float64] `json:"audited"`
	// Rights are the resources to watch, and those that the caller may not watch.
	Rights Known[Rights] `json:"rights"`
	// Webhook is the registration of our admission webhook; nil without one.
	Webhook Known[*Webhook] `json:"webhook"`
	// Path is the way from the API server to the webhook; nil unless it was probed.
	Path *Known[Path] `json:"path,omitempty"`
}

// Webhook is the registration of the admission webhook with the API server.
type Webhook struct {
	Name string `json:"name"`
	// Where is the webhook's address: a URL, or a Service as lifeline/lifeline-webhook:443.
	Where string `json:"where"`
	// Differs lists the changes to the configuration.
	Differs []string `json:"differs,omitempty"`
	// Authority is the source of the authorities: managed, given, cert-manager, or empty if it is
	// not recorded. Authorities is their number, and Until the end of the last one.
	Authority   string    `json:"authority,omitempty"`
	Authorities int       `json:"authorities"`
	Until       time.Time `json:"until,omitzero"`
	// Ready is the number of ready endpoints. It is Unknown without a Service, or without the right
	// to read its endpoints.
	Ready Known[int] `json:"ready"`
	// Served is the certificate at the address, seen from this machine. It is Unknown if this
	// machine does not reach it.
	Served Known[Served] `json:"served"`
	// Calls are the calls of the queried API server since its start.
	Calls Known[Calls] `json:"calls"`
}

// Served is the webhook's certificate.
type Served struct {
	// Wrong is the reason why the API server would reject it; empty if it would accept it.
	Wrong string    `json:"wrong,omitempty"`
	Until time.Time `json:"until"`
}

// Calls are counts of calls. Failed ones failed open: their writes proceeded without a response.
type Calls struct {
	All    float64 `json:"all"`
	Failed float64 `json:"failed"`
}

// Skew is the API server's clock minus this machine's, between Low and High, in seconds. Its Date
// header has whole seconds.
type Skew struct {
	Low  float64 `json:"low"`
	High float64 `json:"high"`
}

// Node is the relevant part of a Node.
type Node struct {
	Name string `json:"name"`
	// Kubelet and Runtime are versions: v1.37.2, containerd://2.3.7.
	Kubelet string `json:"kubelet"`
	Runtime string `json:"runtime"`
	// Provider is derived from labels and provider ID: EKS, GKE, AKS, kwok or empty.
	Provider string `json:"provider,omitempty"`
	// Serverless means that the user has no access to the machine.
	Serverless bool `json:"serverless,omitempty"`
	// Drivers are the CSI drivers that the kubelet has registered, sorted.
	Drivers []string `json:"drivers,omitempty"`
	// Devices are the extended resources of the node, sorted. Most are of device plugins.
	Devices []string `json:"devices,omitempty"`
}

// Kubelet is the tracing configuration of a kubelet.
type Kubelet struct {
	Node string `json:"node"`
	// Tracing is nil if tracing is off.
	Tracing *Tracing `json:"tracing,omitempty"`
}

// Tracing is the destination of spans, and the number of sampled traces per million.
type Tracing struct {
	Endpoint string `json:"endpoint,omitempty"`
	Rate     int64  `json:"samplingRatePerMillion"`
}

// Process is a component of a control plane.
type Process struct {
	Node string `json:"node"`
	// Version is the tag of its image.
	Version string `json:"version"`
	// Flags are those for tracing and auditing, without dashes.
	Flags map[string]string `json:"flags"`
}

// Rights are the resources that a caller may list and watch.
type Rights struct {
	// Namespace is that of the user if the rights are for it alone; empty for rights in all namespaces.
	Namespace string   `json:"namespace,omitempty"`
	Resources int      `json:"resources"`
	Denied    []string `json:"denied,omitempty"`
}

// Server holds the facts from a `lifeline serve`.
type Server struct {
	Version string `json:"version"`
	Mode    string `json:"mode,omitempty"`
	// Local means that it is on this machine, or reached through a loopback address.
	Local bool        `json:"local"`
	Stats api.Stats   `json:"stats"`
	AsOf  time.Time   `json:"asOf"`
	From  api.Sources `json:"sources"`
	// Configuration is that of From; the default if this program cannot parse it.
	Configuration *config.ServerConfiguration `json:"-"`
}

// receivesSpans and receivesAudit report whether the server has such a receiver.
func (s *Server) receivesSpans() bool { return s.From.Receives.GRPC+s.From.Receives.HTTP != "" }

func (s *Server) receivesAudit() bool {
	return s.From.Receives.AuditLog+s.From.Receives.AuditWebhook != ""
}

// counted is how long the server has counted received data.
func (s *Server) counted() time.Duration { return s.From.Received.AsOf.Sub(s.From.Received.Since) }
