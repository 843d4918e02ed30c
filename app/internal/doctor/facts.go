// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"time"

	"github.com/kube-lifeline/lifeline/app/internal/api"
	"github.com/kube-lifeline/lifeline/app/internal/config"
)

// Known is an answer, or why there is none.
type Known[T any] struct {
	Value T `json:"value"`
	// Unknown says why; empty if Value holds.
	Unknown string `json:"unknown,omitempty"`
}

// known is an answer.
func known[T any](value T) Known[T] { return Known[T]{Value: value} }

// unknown is none.
func unknown[T any](why string) Known[T] { return Known[T]{Unknown: why} }

// Is reports whether there is an answer.
func (k Known[T]) Is() bool { return k.Unknown == "" }

// Facts are what was found out.
type Facts struct {
	// At is when, by this machine's clock.
	At time.Time `json:"at"`
	// Version is that of this program.
	Version string `json:"version"`
	// Cluster is what the API server told; Server what `lifeline serve` did. The
	// Server's Unknown says why none was asked.
	Cluster Known[Cluster] `json:"cluster"`
	Server  Known[Server]  `json:"server"`
}

// Cluster is what its API server tells.
type Cluster struct {
	// Version is the API server's: v1.36.3.
	Version string `json:"version"`
	// User is whom the API server takes the caller for: a hash of the name, unless
	// names were asked for.
	User  Known[string] `json:"user"`
	Clock Known[Skew]   `json:"clock"`
	Nodes Known[[]Node] `json:"nodes"`
	// Kubelets are those that told how they trace; of many nodes, some.
	Kubelets Known[[]Kubelet] `json:"kubelets"`
	// APIServers and Etcds are those that run as Pods of kube-system.
	APIServers Known[[]Process] `json:"apiServers"`
	Etcds      Known[[]Process] `json:"etcds"`
	// Audited is how many audit events the API server that answered has made since
	// its start.
	Audited Known[float64] `json:"audited"`
	// Rights are the resources that are to be watched, and those of them that the
	// caller may not.
	Rights Known[Rights] `json:"rights"`
	// Webhook is our admission webhook as it is registered; nil if it is not.
	Webhook Known[*Webhook] `json:"webhook"`
}

// Webhook is the admission webhook as the API server knows it.
type Webhook struct {
	Name string `json:"name"`
	// Where is who is asked: a URL, or a Service as lifeline/lifeline-webhook:443.
	Where string `json:"where"`
	// Differs says in what the configuration was changed.
	Differs []string `json:"differs,omitempty"`
	// Authority is who writes the authorities: managed, given, cert-manager, or nothing
	// if that is not said. Authorities is how many there are, and Until when the last of
	// them ends.
	Authority   string    `json:"authority,omitempty"`
	Authorities int       `json:"authorities"`
	Until       time.Time `json:"until,omitzero"`
	// Ready says how many of those that are asked are ready, Unknown if it is not a
	// Service, or its endpoints may not be read.
	Ready Known[int] `json:"ready"`
	// Served is what answers there, seen from this machine; Unknown if that does not
	// reach it.
	Served Known[Served] `json:"served"`
	// Calls are those that the API server that answered has made since its start, and
	// Failed of them came to nothing.
	Calls Known[Calls] `json:"calls"`
}

// Served is the certificate of who answers.
type Served struct {
	// Wrong says why the API server would not take it; empty if it would.
	Wrong string    `json:"wrong,omitempty"`
	Until time.Time `json:"until"`
}

// Calls are counts.
type Calls struct {
	All    float64 `json:"all"`
	Failed float64 `json:"failed"`
}

// Skew is by how much the API server's clock is ahead of this machine's: at least
// Low, at most High, in seconds. Its Date header has whole seconds.
type Skew struct {
	Low  float64 `json:"low"`
	High float64 `json:"high"`
}

// Node is what counts of a Node.
type Node struct {
	Name string `json:"name"`
	// Kubelet and Runtime are versions: v1.36.3, containerd://2.3.7.
	Kubelet string `json:"kubelet"`
	Runtime string `json:"runtime"`
	// Provider says whose it is, by labels and provider ID: EKS, GKE, AKS, kwok or
	// nothing.
	Provider string `json:"provider,omitempty"`
	// Serverless says that there is no machine of the user's behind it.
	Serverless bool `json:"serverless,omitempty"`
}

// Kubelet is how one was told to trace.
type Kubelet struct {
	Node string `json:"node"`
	// Tracing is nil if it was not told to.
	Tracing *Tracing `json:"tracing,omitempty"`
}

// Tracing is where spans go, and how many traces of a million are begun.
type Tracing struct {
	Endpoint string `json:"endpoint,omitempty"`
	Rate     int64  `json:"samplingRatePerMillion"`
}

// Process is a part of a control plane.
type Process struct {
	Node string `json:"node"`
	// Version is the tag of its image.
	Version string `json:"version"`
	// Flags are those that are about tracing and auditing, without dashes.
	Flags map[string]string `json:"flags"`
}

// Rights are what a caller may list and watch.
type Rights struct {
	Resources int      `json:"resources"`
	Denied    []string `json:"denied,omitempty"`
}

// Server is what a `lifeline serve` tells.
type Server struct {
	Version string `json:"version"`
	Mode    string `json:"mode,omitempty"`
	// Local says whether it is on this machine, or reached as if it were.
	Local bool        `json:"local"`
	Stats api.Stats   `json:"stats"`
	AsOf  time.Time   `json:"asOf"`
	From  api.Sources `json:"sources"`
	// Configuration is From's, as far as this program can read it: the default
	// where it cannot.
	Configuration *config.ServerConfiguration `json:"-"`
}

// receivesSpans and receivesAudit report whether the server was told to receive.
func (s *Server) receivesSpans() bool { return s.From.Receives.GRPC+s.From.Receives.HTTP != "" }

func (s *Server) receivesAudit() bool {
	return s.From.Receives.AuditLog+s.From.Receives.AuditWebhook != ""
}

// counted is for how long the server has counted what it receives.
func (s *Server) counted() time.Duration { return s.From.Received.AsOf.Sub(s.From.Received.Since) }
