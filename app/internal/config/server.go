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

	// The directory for data on disk, with one subdirectory for each cluster, named by the
	// cluster's UID. Empty means `$XDG_STATE_HOME/lifeline`, or `~/.local/state/lifeline`.
	DataDir string `json:"dataDir"`

	// The HTTP API for reading traces.
	API APIConfiguration `json:"api"`

	// Metrics, health and profiles of the server. This listener serves no traces.
	Telemetry TelemetryConfiguration `json:"telemetry"`

	// The log on stderr.
	Log LogConfiguration `json:"log"`

	// The resources to watch in the cluster.
	Watch WatchConfiguration `json:"watch"`

	// The data to receive from the components of the cluster, in addition to the watches.
	Receivers ReceiversConfiguration `json:"receivers"`

	// The admission webhook. The API server calls it for each write, and it puts a context on the
	// object.
	Webhook WebhookConfiguration `json:"webhook"`

	// How traces are built.
	Engine EngineConfiguration `json:"engine"`

	// Relations between objects that Kubernetes does not show by owners, such as a PersistentVolumeClaim
	// that an operator creates for a Database. At most 16. See [relations](#relations).
	Relations []RelationConfiguration `json:"relations"`

	// When objects of a kind have their desired state, for kinds whose status other rules misread. At most
	// 128 kinds. See [health](health.md).
	Health []HealthConfiguration `json:"health"`

	// Fields whose old and new values are shown in traces, apart from those that are always shown: images,
	// replicas, resources, labels and the like of Kubernetes' own kinds. Values of other fields are never
	// kept. At most 64 sections. See [what changed](trace-model.md#what-a-change-changed).
	ShowValues []ValuesConfiguration `json:"showValues"`

	// The keys of the labels that questions may use, as in `labels["app.kubernetes.io/name"]`. At most 16.
	// Labels of Secrets and ConfigMaps are not kept. See [questions](api.md).
	Labels []string `json:"labels"`

	// The text of messages in conditions, container states, Events and refusals, on one line and at most
	// 1024 bytes. `mask` shows text and masks [values](security.md#what-a-trace-holds-of-messages).
	// `strict` shows known sentences only; `clean` means the same. `keep` shows everything but the values in
	// refusals: then traces and notices have the output of applications, arguments and the values of variables
	// that a message quotes.
	Messages string `json:"messages"`

	// The same for single kinds and groups. The setting of a kind goes before that of its group. At most 64.
	MessagesOf []MessagesConfiguration `json:"messagesOf"`

	// How the spans of other components are joined to the traces of changes.
	Joining JoiningConfiguration `json:"joining"`

	// Which finished traces are kept and sent. The decision depends on the trace's ID, so every
	// server makes the same one. The others are neither stored nor sent.
	Sampling SamplingConfiguration `json:"sampling"`

	// How long finished traces are kept on disk: until they reach `age`, or all of them exceed
	// `size`. Pinned traces stay. See [the archive](guides/archive.md).
	Retention RetentionConfiguration `json:"retention"`

	// Where spans are sent.
	OTLP OTLPConfiguration `json:"otlp"`

	// Notices about problems: to a webhook, Slack, PagerDuty or Alertmanager. See
	// [notices](guides/notices.md).
	Notices NoticesConfiguration `json:"notices"`

	// How the server looks for phases that got slower. See [compare](guides/compare.md).
	Regressions RegressionsConfiguration `json:"regressions"`

	// How several servers share a cluster.
	Replicas ReplicasConfiguration `json:"replicas"`
}
