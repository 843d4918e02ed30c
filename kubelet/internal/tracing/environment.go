// SPDX-License-Identifier: Apache-2.0

// Package tracing has what the proxies of this module share about spans.
package tracing

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracegrpc"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/noop"
)

// ProviderFromEnvironment returns a tracer provider that sends spans by OTLP over gRPC. The standard
// variables of OpenTelemetry configure it, such as OTEL_EXPORTER_OTLP_ENDPOINT. service is the service of the
// spans, unless the environment names another. node is the name of the Node; empty if unknown. A damaged
// attribute of the resource is left out, and OpenTelemetry's error handler gets its error. The caller shuts the
// provider down.
func ProviderFromEnvironment(ctx context.Context, service, node string) (*sdktrace.TracerProvider, error) {
	host, _ := os.Hostname()
	attributes := []attribute.KeyValue{attribute.String("service.name", service), attribute.String("host.name", host)}
	if node != "" {
		attributes = append(attributes, attribute.String("k8s.node.name", node))
	}
	of, err := resource.New(ctx, resource.WithTelemetrySDK(), resource.WithAttributes(attributes...),
		resource.WithFromEnv())
	if err != nil && !errors.Is(err, resource.ErrPartialResource) { // the SDK reports a partial one itself
		return nil, fmt.Errorf("cannot read the resource of the spans from OTEL_RESOURCE_ATTRIBUTES: %w", err)
	}
	exporter, err := otlptracegrpc.New(ctx)
	if err != nil {
		return nil, fmt.Errorf("cannot create the OTLP exporter of the spans: %w", err)
	}
	return sdktrace.NewTracerProvider(sdktrace.WithBatcher(exporter), sdktrace.WithResource(of)), nil
}

// Start returns the provider of ProviderFromEnvironment, and a function that sends its last spans. With a wrong
// environment it returns one without spans. Each error goes to log: none stops a call of the kubelet.
func Start(ctx context.Context, service, node string, log io.Writer) (trace.TracerProvider, func()) {
	sender, err := ProviderFromEnvironment(ctx, service, node)
	if err != nil {
		fmt.Fprintln(log, "calls have no spans:", err)
		return noop.NewTracerProvider(), func() {}
	}
	return sender, func() { shutDown(sender, log) }
}

// shutDown sends the last spans.
func shutDown(sender interface{ Shutdown(context.Context) error }, log io.Writer) {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	if err := sender.Shutdown(ctx); err != nil {
		fmt.Fprintln(log, "cannot send the last spans:", err)
	}
}
