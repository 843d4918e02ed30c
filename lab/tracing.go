// SPDX-License-Identifier: Apache-2.0

package lab

import "strconv"

// EveryTrace is the SamplingRatePerMillion at which a component records every
// trace that it begins.
const EveryTrace = 1_000_000

// Tracing configures the spans of a component. At every rate, a component records a trace if its
// caller recorded it, and not otherwise. The rate is for traces that begin at the component. The
// API server begins one for each caller that it does not trust.
type Tracing struct {
	// Endpoint is host:port of an OTLP gRPC receiver without TLS.
	Endpoint string
	// SamplingRatePerMillion is how many of a million traces that the
	// component begins are recorded.
	SamplingRatePerMillion int32
}

// Traced returns the components that can send spans, in the order in which
// they start.
func Traced() []Component { return []Component{Etcd, APIServer, Containerd, Kubelet} }

// Of is what Options.Tracing is for components that are all traced like this;
// without any, for all that Traced lists.
func (t Tracing) Of(these ...Component) map[Component]Tracing {
	if len(these) == 0 {
		these = Traced()
	}
	tracing := map[Component]Tracing{}
	for _, component := range these {
		tracing[component] = t
	}
	return tracing
}

// Env returns the environment variables of OpenTelemetry's SDK for the same.
func (t Tracing) Env() []string {
	return []string{
		"OTEL_SDK_DISABLED=false",
		"OTEL_EXPORTER_OTLP_ENDPOINT=http://" + t.Endpoint,
		"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT=http://" + t.Endpoint,
		"OTEL_EXPORTER_OTLP_PROTOCOL=grpc",
		"OTEL_EXPORTER_OTLP_TRACES_PROTOCOL=grpc",
		"OTEL_TRACES_SAMPLER=parentbased_traceidratio",
		"OTEL_TRACES_SAMPLER_ARG=" + strconv.FormatFloat(float64(t.SamplingRatePerMillion)/EveryTrace, 'f', -1, 64),
	}
}
