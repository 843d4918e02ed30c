// SPDX-License-Identifier: Apache-2.0

// Package received counts what comes in from the components of a cluster: spans
// by component, what the audit log tells, and of what must have been there how
// much was. It keeps no span and no name but those of components and hosts, in
// bounded memory; what is missing because of it is for others to say.
package received

import "time"

// Window is for how long back a Summary counts.
const Window = minutes * time.Minute

// Names of components, as their spans have them in service.name.
const (
	APIServer  = "apiserver"
	Kubelet    = "kubelet"
	Containerd = "containerd"
	Etcd       = "etcd"
	// Others are those for which there is no room.
	Others = "(others)"
)

// Summary is what has been received.
type Summary struct {
	// AsOf is when it was, Since since when is counted: the start of the server.
	AsOf  time.Time `json:"asOf"`
	Since time.Time `json:"since"`
	// Window is how many seconds back the counts go that are not of all.
	Window int `json:"windowSeconds"`
	// Components are those that sent spans, by name.
	Components []Component `json:"components"`
	Audit      Audit       `json:"audit"`
	Coverage   Coverage    `json:"coverage"`
}

// Component is what came of one.
type Component struct {
	// Name is its service.name.
	Name string `json:"name"`
	// Spans came within the window, All since the start; Last is when the latest
	// came.
	Spans int64     `json:"spans"`
	All   int64     `json:"all"`
	Last  time.Time `json:"last"`
	// Joined are those that were joined to a finished change, within the window.
	Joined int64 `json:"joined"`
	// Hosts are those from which something came within the window, by name, as
	// far as the component tells (host.name).
	Hosts []Host `json:"hosts,omitempty"`
	// Corrected counts joined spans that were moved since the component's clock was
	// proved wrong, within the window; Correction is by how many seconds the last
	// of them was.
	Corrected  int64   `json:"corrected"`
	Correction float64 `json:"correctionSeconds,omitempty"`
}

// Host is one on which a component runs.
type Host struct {
	Name string    `json:"name"`
	Last time.Time `json:"last"`
}

// Audit is what the audit log told.
type Audit struct {
	// Writes were told of within the window, Refused of them were not granted.
	Writes  int64 `json:"writes"`
	Refused int64 `json:"refused"`
	// Answers are the granted writes whose answer shows what was stored, if it was
	// logged (level RequestResponse), and how many do.
	Answers Rate `json:"answers"`
	// Delay is how many seconds after the answer the server heard of a write, on
	// average.
	Delay float64   `json:"delaySeconds"`
	Last  time.Time `json:"last,omitzero"`
}

// Coverage says, of what must have been there, how much was, within the window.
// Each is judged a while after it was seen, for spans come late.
type Coverage struct {
	// Writes are those that the audit log told of, and those of which the API
	// server's span came.
	Writes Rate `json:"writes"`
	// Changes are the versions of objects that a watch has shown, and how many
	// spans of granted writes the API server sent, deletions apart. That is no
	// pairing: use it where there is no audit log.
	Changes Rate `json:"changes"`
	// Transactions are the API server's calls of etcd whose span came, and those
	// of which etcd's came, too.
	Transactions Rate `json:"transactions"`
	// Pods are those that were bound to a node, and those of which the kubelet's
	// first syncPod came; Sandboxes the same, and containerd's making of the
	// sandbox.
	Pods      Rate `json:"pods"`
	Sandboxes Rate `json:"sandboxes"`
	// Calls are the kubelet's calls of the runtime whose span came, and those of
	// which the runtime's came, too.
	Calls Rate `json:"calls"`
}

// Rate is how many of something there were, and with how many of them what
// belongs to it came. In a flood, only a part of all is looked at.
type Rate struct {
	Of   int64 `json:"of"`
	With int64 `json:"with"`
}

// Component returns what came of the one of that name; the zero value if nothing
// did.
func (s *Summary) Component(name string) Component {
	for _, c := range s.Components {
		if c.Name == name {
			return c
		}
	}
	return Component{Name: name}
}
