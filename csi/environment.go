// SPDX-License-Identifier: Apache-2.0

package csi

import (
	"context"
	"errors"
	"fmt"
	"os"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracegrpc"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
)

// ServiceName is the service of the spans, unless the environment names another: the driver does the
// work.
const ServiceName = "csi-driver"

// ProviderFromEnvironment returns a tracer provider that sends spans by OTLP over gRPC. The standard
// variables of OpenTelemetry configure it, such as OTEL_EXPORTER_OTLP_ENDPOINT. node is the name of
// the Node; empty if unknown. A damaged attribute of the resource is left out, and
// OpenTelemetry's error handler gets its error. The caller shuts the provider down.
func ProviderFromEnvironment(ctx context.Context, node string) (*sdktrace.TracerProvider, error) {
	host, _ := os.Hostname()
	attributes := []attribute.KeyValue{
		attribute.String("service.name", ServiceName), attribute.String("host.name", host),
	}
	if node != "" {
		attributes = append(attributes, attribute.String("k8s.node.name", node))
	}
	service, err := resource.New(ctx, resource.WithTelemetrySDK(), resource.WithAttributes(attributes...),
		resource.WithFromEnv())
	if err != nil && !errors.Is(err, resource.ErrPartialResource) { // the SDK reports a partial one itself
		return nil, fmt.Errorf("cannot read the resource of the spans from OTEL_RESOURCE_ATTRIBUTES: %w", err)
	}
	exporter, err := otlptracegrpc.New(ctx)
	if err != nil {
		return nil, fmt.Errorf("cannot create the OTLP exporter of the spans: %w", err)
	}
	return sdktrace.NewTracerProvider(sdktrace.WithBatcher(exporter), sdktrace.WithResource(service)), nil
}
