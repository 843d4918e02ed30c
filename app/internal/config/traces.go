// SPDX-License-Identifier: Apache-2.0

package config

import (
	"maps"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// WatchConfiguration is the section `watch`.
type WatchConfiguration struct {
	// The namespaces to watch; empty means all namespaces and cluster-scoped resources.
	Namespaces []string `json:"namespaces"`

	// The resources that are not watched, each as `resource`, `resource.group` or `*.group` (every
	// resource of that API group), such as `configmaps`, `leases.example.com`, `*.example.com`.
	// Some resources are watched only if a relation names them: `bindings`, `componentstatuses`,
	// `endpoints`, `csistoragecapacities.storage.k8s.io` and `ipaddresses.networking.k8s.io`. So are
	// these groups: `coordination.k8s.io` (Leases), `internal.apiserver.k8s.io`, `metrics.k8s.io`,
	// `custom.metrics.k8s.io`, `external.metrics.k8s.io` and `packages.operators.coreos.com`. They
	// change all the time on their own, or are records about other objects. `lifeline.dev`, the group of
	// `kubectl get changes`, is never watched.
	Exclude []string `json:"exclude"`

	// Whether the metadata of Secrets is watched. Then a revision of a Helm release, stored in a
	// Secret, is one change, and the Secret of a cert-manager Certificate is part of its issuance.
	// The server reads no content, but RBAC cannot limit a right to metadata: its account may read
	// every Secret.
	SecretMetadata bool `json:"secretMetadata"`
}

// EngineConfiguration is the section `engine`.
type EngineConfiguration struct {
	// How long a trace must be without changes before it counts as finished. With any of the
	// `receivers` it is at least `6s`, because components send their data up to five seconds late.
	// Less than `patience`.
	Settle metav1.Duration `json:"settle"`

	// How long a change may be without progress. After that its trace ends as unfinished.
	Patience metav1.Duration `json:"patience"`

	// How long after its convergence the incidents of the Pods of a change are collected, at most
	// `24h`: restarts, evictions and the like. `0s` collects none.
	Aftermath metav1.Duration `json:"aftermath"`
}

// SamplingConfiguration is the section `sampling`.
type SamplingConfiguration struct {
	// How many traces of a million are kept: `1000000` keeps all, `0` keeps none, except those of
	// the next two fields. If a trace continues a context from outside, the sampled flag of that
	// context decides instead.
	RatePerMillion int `json:"ratePerMillion"`

	// Whether a trace that ends as failed is kept at any rate.
	KeepFailed bool `json:"keepFailed"`

	// A trace of at least this duration is kept at any rate. `0s` means that slow traces have no
	// such exception.
	KeepSlowerThan metav1.Duration `json:"keepSlowerThan"`
}

// RetentionConfiguration is the section `retention`.
type RetentionConfiguration struct {
	// How long a finished trace is kept.
	Age metav1.Duration `json:"age"`

	// How much disk space the archive of finished traces may use, at least `64Mi`. Above that the
	// oldest are removed, those with an outcome in `outcomes` last.
	Size resource.Quantity `json:"size"`

	// How long the durations of finished changes are kept, for
	// [comparisons over time](guides/archive.md#what-stays-of-a-removed-trace). They are small, stay
	// when their traces go, and use at most a quarter of `size`.
	Rollups metav1.Duration `json:"rollups"`

	// Other ages for traces with these outcomes.
	Outcomes RetentionOutcomesConfiguration `json:"outcomes"`
}

// RetentionOutcomesConfiguration is the section `retention.outcomes`. Its fields are all outcomes.
type RetentionOutcomesConfiguration struct {
	// How long a converged trace is kept; `0s` means `retention.age`.
	Converged metav1.Duration `json:"converged"`

	// How long a superseded trace is kept; `0s` means `retention.age`.
	Superseded metav1.Duration `json:"superseded"`

	// How long the trace of a deletion is kept; `0s` means `retention.age`.
	Deleted metav1.Duration `json:"deleted"`

	// How long a failed trace, or that of a refused request, is kept; `0s` means `retention.age`.
	Failed metav1.Duration `json:"failed"`

	// How long an unfinished trace is kept; `0s` means `retention.age`.
	Unfinished metav1.Duration `json:"unfinished"`
}

// Ages returns the ages by outcome, without those that are `retention.age`.
func (c *RetentionConfiguration) Ages() map[string]time.Duration {
	out := map[string]time.Duration{
		"converged": c.Outcomes.Converged.Duration, "superseded": c.Outcomes.Superseded.Duration,
		"deleted": c.Outcomes.Deleted.Duration, "failed": c.Outcomes.Failed.Duration,
		"unfinished": c.Outcomes.Unfinished.Duration,
	}
	maps.DeleteFunc(out, func(_ string, age time.Duration) bool { return age == 0 })
	return out
}

// Longest returns the greatest age of a finished trace with any outcome.
func (c *RetentionConfiguration) Longest() time.Duration {
	longest := c.Age.Duration
	for _, age := range c.Ages() {
		longest = max(longest, age)
	}
	return longest
}

// OTLPConfiguration is the section `otlp`.
type OTLPConfiguration struct {
	// Where spans are sent: a URL with http, https, grpc or grpcs, or `host:port`. Port 4317 means
	// gRPC, any other HTTP, unless the scheme or `OTEL_EXPORTER_OTLP_PROTOCOL` decides otherwise.
	// Set credentials in `OTEL_EXPORTER_OTLP_HEADERS`. Empty means the environment
	// (`OTEL_EXPORTER_OTLP_ENDPOINT` and the other standard variables), where the port has no effect
	// on the protocol; without these nothing is sent.
	Endpoint string `json:"endpoint"`

	// The text of messages in sent spans. `strict` sends [known
	// sentences](security.md#what-a-trace-holds-of-messages) only: a backend may have other readers than
	// the cluster. `mask` and `keep` send messages as they are stored. `clean` means `strict`.
	Messages string `json:"messages"`

	// The queue on disk for spans while the backend is unreachable.
	Outbox OutboxConfiguration `json:"outbox"`
}

// OutboxConfiguration is the section `otlp.outbox`.
type OutboxConfiguration struct {
	// How long a span waits before it is dropped (and counted as lost).
	MaxAge metav1.Duration `json:"maxAge"`

	// How many spans may wait. Above that the oldest are dropped (and counted as lost).
	MaxSpans int `json:"maxSpans"`
}
