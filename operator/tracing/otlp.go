// SPDX-License-Identifier: Apache-2.0

package tracing

import (
	"context"
	"fmt"
	"os"

	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracegrpc"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
)

// otlp returns an exporter for endpoint. If endpoint is empty, the variables apply, or else
// localhost:4317. It connects at the first export.
func otlp(endpoint string) (sdktrace.SpanExporter, error) {
	var options []otlptracegrpc.Option
	switch {
	case endpoint != "":
		options = append(options, otlptracegrpc.WithEndpoint(endpoint), otlptracegrpc.WithInsecure())
	case os.Getenv("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT") == "" && os.Getenv("OTEL_EXPORTER_OTLP_ENDPOINT") == "":
		options = append(options, otlptracegrpc.WithInsecure())
	}
	exporter, err := otlptracegrpc.New(context.Background(), options...)
	if err != nil {
		return nil, fmt.Errorf("cannot create an OTLP exporter for endpoint %q: %w", endpoint, err)
	}
	return exporter, nil
}
