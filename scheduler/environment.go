// SPDX-License-Identifier: Apache-2.0

package scheduler

import (
	"context"
	"fmt"
	"os"
	"runtime/debug"
	"strings"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracegrpc"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
)

// serviceName is the service of the spans, unless the environment names another. It is the
// component of Lifeline's own phase `schedule`.
const serviceName = "kube-scheduler"

// queueSize is the number of spans that wait for their delivery. A Pod has some thirty.
const queueSize = 1 << 16

// ProviderFromEnvironment returns a tracer provider that sends spans by OTLP. It returns nil without
// OTEL_EXPORTER_OTLP_ENDPOINT or OTEL_EXPORTER_OTLP_TRACES_ENDPOINT, or with OTEL_SDK_DISABLED=true.
// OTEL_EXPORTER_OTLP_PROTOCOL is grpc or http/protobuf; the default is grpc. OpenTelemetry's SDK
// reads the other variables, such as OTEL_TRACES_SAMPLER and OTEL_RESOURCE_ATTRIBUTES. The caller
// shuts the provider down.
func ProviderFromEnvironment(ctx context.Context) (*sdktrace.TracerProvider, error) {
	if firstOf("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_EXPORTER_OTLP_ENDPOINT") == "" ||
		strings.EqualFold(os.Getenv("OTEL_SDK_DISABLED"), "true") {
		return nil, nil //nolint:nilnil // no endpoint: no provider, as documented
	}
	exporter, err := newExporter(ctx)
	if err != nil {
		return nil, err
	}
	host, _ := os.Hostname()
	attributes := []attribute.KeyValue{
		attribute.String("service.name", serviceName), attribute.String("host.name", host),
	}
	if version := kubernetesVersion(); version != "" {
		attributes = append(attributes, attribute.String("service.version", version))
	}
	service, err := resource.New(ctx,
		resource.WithTelemetrySDK(), resource.WithAttributes(attributes...), resource.WithFromEnv())
	if err != nil {
		return nil, fmt.Errorf("cannot read the resource of the spans from OTEL_RESOURCE_ATTRIBUTES: %w", err)
	}
	var batching []sdktrace.BatchSpanProcessorOption
	if os.Getenv("OTEL_BSP_MAX_QUEUE_SIZE") == "" {
		batching = append(batching, sdktrace.WithMaxQueueSize(queueSize))
	}
	return sdktrace.NewTracerProvider(
		sdktrace.WithBatcher(exporter, batching...), sdktrace.WithResource(service)), nil
}

// kubernetesVersion returns the version of Kubernetes in this program, such as v1.36.3. It is empty if
// the program has no build information. `lifeline doctor` compares it with that of the cluster.
func kubernetesVersion() string {
	info, known := debug.ReadBuildInfo()
	if !known {
		return ""
	}
	for _, module := range info.Deps {
		if module.Path == "k8s.io/kubernetes" {
			return module.Version
		}
	}
	return ""
}

func newExporter(ctx context.Context) (exporter sdktrace.SpanExporter, err error) {
	switch protocol := firstOf("OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", "OTEL_EXPORTER_OTLP_PROTOCOL"); protocol {
	case "", "grpc":
		exporter, err = otlptracegrpc.New(ctx)
	case "http/protobuf":
		exporter, err = otlptracehttp.New(ctx)
	default:
		return nil, fmt.Errorf(
			"cannot send spans by %q: set OTEL_EXPORTER_OTLP_PROTOCOL to grpc or http/protobuf",
			protocol,
		)
	}
	if err != nil {
		return nil, fmt.Errorf("cannot create the OTLP exporter of the spans: %w", err)
	}
	return exporter, nil
}

// firstOf returns the value of the first variable that is set.
func firstOf(variables ...string) string {
	for _, v := range variables {
		if value := os.Getenv(v); value != "" {
			return value
		}
	}
	return ""
}
