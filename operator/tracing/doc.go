// SPDX-License-Identifier: Apache-2.0

// Package tracing sets up OpenTelemetry for an operator from Kubernetes' TracingConfiguration.
// Tracing can be switched while the operator runs.
//
// There are four states:
//
//   - off: no spans, no connections, no propagation;
//   - on without a configuration: existing contexts are passed on, without spans or connections;
//   - on with a rate of 0 or none: spans only below a sampled parent;
//   - on with a rate above 0: also spans for that share of new traces. The choice depends on the
//     trace ID, so every component makes the same one.
//
// An unreachable collector costs spans, which are counted, but no time. The queue before it is
// bounded, and no span waits for it.
//
// # Where spans go
//
// Spans are sent by OTLP over gRPC to the configuration's endpoint, in plain text like those of
// Kubernetes' components. The standard variables OTEL_EXPORTER_OTLP_* apply where the configuration
// sets nothing:
//
//   - An endpoint in the configuration overrides the variables. Without one,
//     OTEL_EXPORTER_OTLP_TRACES_ENDPOINT or OTEL_EXPORTER_OTLP_ENDPOINT applies, with
//     OpenTelemetry's meaning: https:// is TLS. Without any of these, the endpoint is
//     localhost:4317 in plain text.
//   - The variables for headers, compression, timeout and certificates always apply; a certificate
//     makes the connection TLS.
//   - The protocol is always gRPC, regardless of OTEL_EXPORTER_OTLP_PROTOCOL.
//
// OTEL_TRACES_SAMPLER is ignored, because the configuration decides. OTEL_BSP_* set the queue's
// size and times. OTEL_RESOURCE_ATTRIBUTES adds to the attributes in Options.
//
// Package operator decides which work becomes a span and which context an object carries.
package tracing
