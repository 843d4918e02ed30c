// SPDX-License-Identifier: Apache-2.0

// Package tracing sets up OpenTelemetry for an operator from Kubernetes' own
// TracingConfiguration, and can be switched while the operator runs.
//
// There are four states:
//
//   - off: nothing is generated, nothing dialled, nothing handed on;
//   - on without a configuration: contexts that exist are handed on, no span is
//     made, nothing is dialled;
//   - on with a rate of 0 or none: spans below a sampled parent only;
//   - on with a rate above 0: in addition that share of new traces, chosen by
//     trace ID, so that every component that sees a trace decides alike.
//
// A collector that is down costs spans, which are counted, and never time: the
// queue before it is bounded, and no span waits for it.
//
// # Where spans go
//
// Spans are sent by OTLP over gRPC to the configuration's endpoint, in plain
// text, as Kubernetes' components send theirs. The standard variables
// OTEL_EXPORTER_OTLP_* count where the configuration leaves room for them:
//
//   - An endpoint in the configuration goes before the variables. Without one,
//     OTEL_EXPORTER_OTLP_TRACES_ENDPOINT or OTEL_EXPORTER_OTLP_ENDPOINT names it,
//     with the meaning that OpenTelemetry gives them: then https:// is TLS.
//     Without any of these it is localhost:4317 in plain text.
//   - The variables for headers, compression, timeout and certificates always
//     count; a certificate makes the connection TLS.
//   - The protocol is gRPC, whatever OTEL_EXPORTER_OTLP_PROTOCOL says.
//
// OTEL_TRACES_SAMPLER is ignored: the configuration decides. OTEL_BSP_* set the
// queue's size and times. OTEL_RESOURCE_ATTRIBUTES adds to what Options names.
//
// What becomes a span, and which context goes onto an object, is left to
// package operator.
package tracing
