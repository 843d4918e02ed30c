// SPDX-License-Identifier: Apache-2.0

// Package received counts input from the components of a cluster: spans by component, audit events,
// and the share of expected spans that arrived. Its memory is bounded: it keeps counts, and the
// names of components and hosts, but no spans. The conclusions from a low share are left to its
// callers.
package received

import "time"

// Window is the period of the counts in a Summary.
const Window = minutes * time.Minute

// Names of components, the service.name of their spans.
const (
	APIServer  = "apiserver"
	Kubelet    = "kubelet"
	Containerd = "containerd"
	Etcd       = "etcd"
	Scheduler  = "kube-scheduler"
	CSIDriver  = "csi-driver"
	// DevicePlugin is the service of calls to device plugins.
	DevicePlugin = "device-plugin"
	// Others stands for the components above the limit of names.
	Others = "(others)"
)

// Summary has the counts of received data.
type Summary struct {
	// AsOf is the time of the Summary. Since is the start of counting: that of the server.
	AsOf  time.Time `json:"asOf"`
	Since time.Time `json:"since"`
	// Window is the constant, in seconds.
	Window int `json:"windowSeconds"`
	// Components are the senders of spans, sorted by name.
	Components []Component `json:"components"`
	Audit      Audit       `json:"audit"`
	Coverage   Coverage    `json:"coverage"`
}

// Component has the counts of one component.
type Component struct {
	// Name is its service.name.
	Name string `json:"name"`
	// Spans counts the received spans within the window, and All those since the start. Last is the
	// arrival of the latest one.
	Spans int64     `json:"spans"`
	All   int64     `json:"all"`
	Last  time.Time `json:"last"`
	// Joined counts the spans that joined the trace of a finished change, within the window.
	Joined int64 `json:"joined"`
	// Hosts are the values of host.name in spans within the window, sorted.
	Hosts []Host `json:"hosts,omitempty"`
	// Version is the service.version of its latest span; empty if spans do not have it.
	Version string `json:"version,omitempty"`
	// Corrected counts joined spans whose times were corrected because the component's clock was
	// wrong, within the window. Correction is the shift of the latest one in seconds.
	Corrected  int64   `json:"corrected"`
	Correction float64 `json:"correctionSeconds,omitempty"`
}

// Host is a host of a component. Last is the arrival of its latest span.
type Host struct {
	Name string    `json:"name"`
	Last time.Time `json:"last"`
}

// Audit has the counts of audit events.
type Audit struct {
	// Writes counts the writes in the audit log within the window, and Refused the failed ones of
	// them.
	Writes  int64 `json:"writes"`
	Refused int64 `json:"refused"`
	// Answers counts the granted writes whose response has the stored object, without subresources
	// and deletions. With counts the events that include the response (level RequestResponse).
	Answers Rate `json:"answers"`
	// Delay is the average time from the response of a write to its arrival here, in seconds.
	Delay float64 `json:"delaySeconds"`
	// Last is the arrival of the latest event of a write.
	Last time.Time `json:"last,omitzero"`
}

// Coverage has the shares of expected spans that arrived, within the window. An item is counted
// some time after its arrival, because spans come late.
type Coverage struct {
	// Writes are the writes in the audit log. With counts those with a span of the API server.
	Writes Rate `json:"writes"`
	// Changes compares two independent counts, for servers without an audit log. Of counts the
	// object versions from watches. With counts the API server's spans of granted writes. Both
	// leave out deletions.
	Changes Rate `json:"changes"`
	// Transactions are the API server's spans of calls to etcd. With counts those with a span of
	// etcd.
	Transactions Rate `json:"transactions"`
	// Pods are the Pods that were bound to a node. With counts those with the kubelet's span of the
	// first syncPod.
	Pods Rate `json:"pods"`
	// Sandboxes are the same Pods. With counts those with the runtime's span of the sandbox's
	// creation.
	Sandboxes Rate `json:"sandboxes"`
	// Calls are the kubelet's spans of calls to the runtime. With counts those with a span of the
	// runtime.
	Calls Rate `json:"calls"`
}

// Rate is a number of items, and the number of those with their other half. In a flood both count
// only a sample.
type Rate struct {
	Of   int64 `json:"of"`
	With int64 `json:"with"`
}

// Component returns the counts of a component by name. If there are none, only Name is set.
func (s *Summary) Component(name string) Component {
	for _, c := range s.Components {
		if c.Name == name {
			return c
		}
	}
	return Component{Name: name}
}
