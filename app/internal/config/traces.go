// SPDX-License-Identifier: Apache-2.0

package config

import (
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// WatchConfiguration is the section `watch`.
type WatchConfiguration struct {
	// The namespaces that are watched; empty means all, and what has no namespace, too.
	Namespaces []string `json:"namespaces"`

	// The resources that are not watched, each as `resource`, `resource.group` or `*.group` (every
	// resource of that API group), such as `configmaps`, `leases.example.com`, `*.example.com`.
	// Secrets are never watched, nor is what changes all the time without being a change of
	// anybody's: Leases, Endpoints, metrics.
	Exclude []string `json:"exclude"`
}

// EngineConfiguration is the section `engine`.
type EngineConfiguration struct {
	// How long it must be quiet before a trace counts as finished.
	Settle metav1.Duration `json:"settle"`

	// How long a change may take. A trace that has not settled by then ends with what is known of
	// it.
	Patience metav1.Duration `json:"patience"`
}

// SamplingConfiguration is the section `sampling`.
type SamplingConfiguration struct {
	// How many traces of a million are kept: `1000000` keeps all, `0` none but those that the next
	// two fields keep.
	RatePerMillion int `json:"ratePerMillion"`

	// Whether a trace in which something failed is kept whatever the rate is.
	KeepFailed bool `json:"keepFailed"`

	// A trace that took longer than this is kept whatever the rate is. `0s` means that slow traces
	// are kept by the rate alone.
	KeepSlowerThan metav1.Duration `json:"keepSlowerThan"`
}

// RetentionConfiguration is the section `retention`.
type RetentionConfiguration struct {
	// How long a finished trace is kept.
	Age metav1.Duration `json:"age"`

	// How much disk the traces may take before the oldest are removed, at least `64Mi`.
	Size resource.Quantity `json:"size"`
}

// OTLPConfiguration is the section `otlp`.
type OTLPConfiguration struct {
	// Where spans are sent: a URL with http, https, grpc or grpcs, or `host:port`. Port 4317 is
	// gRPC, any other HTTP, unless the scheme or `OTEL_EXPORTER_OTLP_PROTOCOL` says otherwise.
	// Credentials belong into `OTEL_EXPORTER_OTLP_HEADERS`. Empty means that the environment
	// decides (`OTEL_EXPORTER_OTLP_ENDPOINT` and the other standard variables); if that is silent,
	// too, nothing is sent.
	Endpoint string `json:"endpoint"`

	// What waits on disk while the backend cannot be reached.
	Outbox OutboxConfiguration `json:"outbox"`
}

// OutboxConfiguration is the section `otlp.outbox`.
type OutboxConfiguration struct {
	// How long a span waits before it is given up (and counted as lost).
	MaxAge metav1.Duration `json:"maxAge"`

	// How many spans may wait. When there are more, the oldest are given up (and counted as lost).
	MaxSpans int `json:"maxSpans"`
}
