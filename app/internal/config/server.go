// SPDX-License-Identifier: Apache-2.0

// Package config is the configuration of `lifeline serve`: one YAML file, its defaults, its
// validation, and its reload while the server runs.
//
// Users read the doc comments and json tags of the types here: docs/configuration.md is generated
// from them. They describe the file, not Go.
package config

// APIVersion and Kind are the required type of a configuration file, as in Kubernetes objects.
const (
	APIVersion = "lifeline.dev/v1alpha1"
	Kind       = "ServerConfiguration"
)

// ServerConfiguration is the whole configuration of `lifeline serve`. The zero value is not usable:
// start with [Default], whose values also apply to fields missing from a file. A value must not
// change after its creation, so that goroutines may share it.
type ServerConfiguration struct {
	// Must be `lifeline.dev/v1alpha1`.
	APIVersion string `json:"apiVersion"`

	// Must be `ServerConfiguration`.
	Kind string `json:"kind"`

	// The directory for what is kept on disk; each cluster has a sub-directory of its own in it,
	// named by the UID of the cluster. Empty means `$XDG_STATE_HOME/lifeline`, or
	// `~/.local/state/lifeline`.
	DataDir string `json:"dataDir"`

	// The HTTP API that programs read traces from.
	API APIConfiguration `json:"api"`

	// What the server says of itself: metrics, health and profiles. This listener carries no
	// traces.
	Telemetry TelemetryConfiguration `json:"telemetry"`

	// The log, which is written to stderr.
	Log LogConfiguration `json:"log"`

	// What is watched of the cluster.
	Watch WatchConfiguration `json:"watch"`

	// What is received from the components of the cluster, beside what is watched.
	Receivers ReceiversConfiguration `json:"receivers"`

	// The admission webhook, by which the API server asks which context an object is given when it
	// is written.
	Webhook WebhookConfiguration `json:"webhook"`

	// How traces are built.
	Engine EngineConfiguration `json:"engine"`

	// How the spans of other components are joined to the traces of changes.
	Joining JoiningConfiguration `json:"joining"`

	// Which finished traces are kept and sent. What is decided depends on the ID of the trace, so
	// every server decides the same.
	Sampling SamplingConfiguration `json:"sampling"`

	// How long finished traces are kept on disk. What comes first decides, age or size.
	Retention RetentionConfiguration `json:"retention"`

	// Where spans are sent.
	OTLP OTLPConfiguration `json:"otlp"`

	// How several servers share a cluster.
	Replicas ReplicasConfiguration `json:"replicas"`
}
