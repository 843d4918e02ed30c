// SPDX-License-Identifier: Apache-2.0

package scheduler

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime/debug"
	"strconv"
	"strings"
	"time"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracegrpc"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
)

// serviceName is the service of the spans, unless the environment names another. It is the
// component of Lifeline's own phase `schedule`.
const serviceName = "kube-scheduler"

// Defaults of the batches. A Pod has some thirty spans of 250 bytes.
const (
	defaultQueue   = 1 << 16
	defaultSize    = 1 << 12
	defaultDelay   = 5 * time.Second
	defaultTimeout = 30 * time.Second
)

// ExporterFromEnvironment returns an exporter that sends spans by OTLP. It returns nil without
// OTEL_EXPORTER_OTLP_ENDPOINT or OTEL_EXPORTER_OTLP_TRACES_ENDPOINT, or with OTEL_SDK_DISABLED=true.
// OTEL_EXPORTER_OTLP_PROTOCOL is grpc or http/protobuf; the default is grpc. The other variables of
// OpenTelemetry apply, too: OTEL_EXPORTER_OTLP_*, OTEL_TRACES_SAMPLER, OTEL_RESOURCE_ATTRIBUTES,
// OTEL_SERVICE_NAME and OTEL_BSP_*. The caller calls Shutdown.
func ExporterFromEnvironment(ctx context.Context) (*Exporter, error) {
	if firstOf("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_EXPORTER_OTLP_ENDPOINT") == "" ||
		strings.EqualFold(os.Getenv("OTEL_SDK_DISABLED"), "true") {
		return nil, nil //nolint:nilnil // no endpoint: no exporter, as documented
	}
	client, err := newClient()
	if err != nil {
		return nil, err
	}
	sampler, err := samplerFromEnvironment()
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
	if err != nil && !errors.Is(err, resource.ErrPartialResource) {
		return nil, fmt.Errorf("cannot read the resource of the spans from OTEL_RESOURCE_ATTRIBUTES: %w", err)
	}
	if err != nil {
		otel.Handle(err) // the resource has the other attributes
	}
	return NewExporter(ctx, client, service, sampler)
}

// kubernetesVersion returns the version of Kubernetes in this program, such as v1.37.2. It is empty if
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

func newClient() (otlptrace.Client, error) {
	switch protocol := firstOf("OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", "OTEL_EXPORTER_OTLP_PROTOCOL"); protocol {
	case "", "grpc":
		return otlptracegrpc.NewClient(), nil
	case "http/protobuf":
		return otlptracehttp.NewClient(), nil
	default:
		return nil, fmt.Errorf(
			"cannot send spans by %q: set OTEL_EXPORTER_OTLP_PROTOCOL to grpc or http/protobuf",
			protocol,
		)
	}
}

// samplerFromEnvironment returns the sampler of OTEL_TRACES_SAMPLER, or nil for the default.
func samplerFromEnvironment() (sdktrace.Sampler, error) {
	name := strings.ToLower(strings.TrimSpace(os.Getenv("OTEL_TRACES_SAMPLER")))
	var root sdktrace.Sampler
	switch strings.TrimPrefix(name, "parentbased_") {
	case "":
		return nil, nil //nolint:nilnil // the default, as documented
	case "always_on":
		root = sdktrace.AlwaysSample()
	case "always_off":
		root = sdktrace.NeverSample()
	case "traceidratio":
		ratio := 1.0
		if text := strings.TrimSpace(os.Getenv("OTEL_TRACES_SAMPLER_ARG")); text != "" {
			var err error
			if ratio, err = strconv.ParseFloat(text, 64); err != nil || ratio < 0 || ratio > 1 {
				return nil, fmt.Errorf("OTEL_TRACES_SAMPLER_ARG is %q: set it to a number from 0 to 1", text)
			}
		}
		root = sdktrace.TraceIDRatioBased(ratio)
	default:
		return nil, fmt.Errorf("OTEL_TRACES_SAMPLER is %q: set it to always_on, always_off or traceidratio, "+
			"or to one of them with the prefix parentbased_", name)
	}
	if strings.HasPrefix(name, "parentbased_") {
		root = sdktrace.ParentBased(root)
	}
	return root, nil
}

// batching is the size and the time of batches.
type batching struct {
	// queue limits the spans that wait, and size those of one request.
	queue, size    int
	delay, timeout time.Duration
}

func batchingFromEnvironment() (b batching, err error) {
	var delay, timeout int
	for name, setting := range map[string]struct {
		value    *int
		standard int
	}{
		"OTEL_BSP_MAX_QUEUE_SIZE":        {&b.queue, defaultQueue},
		"OTEL_BSP_MAX_EXPORT_BATCH_SIZE": {&b.size, defaultSize},
		"OTEL_BSP_SCHEDULE_DELAY":        {&delay, int(defaultDelay.Milliseconds())},
		"OTEL_BSP_EXPORT_TIMEOUT":        {&timeout, int(defaultTimeout.Milliseconds())},
	} {
		*setting.value = setting.standard
		if text := os.Getenv(name); text != "" {
			if *setting.value, err = strconv.Atoi(text); err != nil || *setting.value <= 0 {
				return batching{}, fmt.Errorf("%s is %q: set it to a number above 0", name, text)
			}
		}
	}
	b.delay, b.timeout = time.Duration(delay)*time.Millisecond, time.Duration(timeout)*time.Millisecond
	return b, nil
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
