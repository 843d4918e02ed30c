// SPDX-License-Identifier: Apache-2.0

package tracing

import (
	"errors"
	"flag"
	"strconv"

	"go.opentelemetry.io/otel/attribute"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	tracingapi "k8s.io/component-base/tracing/api/v1"
)

// Options configures New. The zero value means off.
type Options struct {
	// ServiceName is the operator's name in every trace (service.name). If empty, OTEL_SERVICE_NAME
	// applies, or else the program's name.
	ServiceName string
	// Enabled switches tracing on.
	Enabled bool
	// Configuration sets the destination and the number of spans. Nil means propagation without
	// spans. It is validated even if Enabled is false.
	Configuration *tracingapi.TracingConfiguration
	// Attributes are added to the resource of every span.
	Attributes []attribute.KeyValue
	// Exporter replaces OTLP; the configuration's endpoint is then ignored. Tracing.Shutdown shuts
	// it down, but switching tracing off does not. It should return when its context ends: Shutdown
	// then waits at most a second.
	Exporter sdktrace.SpanExporter
	// SpanProcessor replaces the queue and the exporter. Its lifetime is like Exporter's. The
	// goroutine that ends a span calls OnEnd, which should not block. At most one of the two may be
	// set.
	SpanProcessor sdktrace.SpanProcessor
}

// BindFlags adds two flags that set Options while fs is parsed:
//
//   - --tracing-config-file, named like kube-apiserver's flag, loads the file with Load and
//     switches tracing on;
//   - --tracing switches tracing on or off, and overrides the other flag in any order. Without a
//     file it means propagation only.
func (o *Options) BindFlags(fs *flag.FlagSet) {
	said := false
	fs.BoolFunc(
		"tracing",
		"pass trace contexts on, and make spans with --tracing-config-file; =false switches tracing off",
		func(value string) error {
			enabled, err := strconv.ParseBool(value)
			if err != nil {
				return errors.New("must be true or false")
			}
			o.Enabled, said = enabled, true
			return nil
		},
	)
	fs.Func(
		"tracing-config-file",
		"`file` with Kubernetes' TracingConfiguration: the destination and the sampling rate of spans",
		func(path string) error {
			configuration, err := Load(path)
			if err != nil {
				return err
			}
			o.Configuration = configuration
			if !said {
				o.Enabled = true
			}
			return nil
		},
	)
}
