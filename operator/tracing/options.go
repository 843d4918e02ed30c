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

// Options say what New sets up. The zero value is off.
type Options struct {
	// ServiceName is the operator's name in every trace (service.name). If empty
	// it is taken from OTEL_SERVICE_NAME, else from the program's name.
	ServiceName string
	// Enabled switches tracing on.
	Enabled bool
	// Configuration says where spans go and how many. Nil hands contexts on and
	// makes no span. It is checked even if Enabled is false.
	Configuration *tracingapi.TracingConfiguration
	// Attributes are added to the resource of every span.
	Attributes []attribute.KeyValue
	// Exporter is used in place of OTLP; the configuration's endpoint then has no
	// meaning. It is shut down by Tracing.Shutdown, not by switching tracing off,
	// and should return when its context ends: Shutdown waits a second, no more.
	Exporter sdktrace.SpanExporter
	// SpanProcessor is used in place of the queue and the exporter, with the same
	// life as Exporter. Its OnEnd is called by who ends a span and should not
	// block. At most one of the two may be set.
	SpanProcessor sdktrace.SpanProcessor
}

// BindFlags adds two flags that set Options while fs is parsed:
//
//   - --tracing-config-file, named as kube-apiserver's, reads the file by Load
//     and switches tracing on;
//   - --tracing switches tracing on or off and has the last word, wherever it
//     stands. Without a file it hands contexts on.
func (o *Options) BindFlags(fs *flag.FlagSet) {
	said := false
	fs.BoolFunc(
		"tracing",
		"hand trace contexts on, and make spans if --tracing-config-file is given; =false switches tracing off",
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
		"`file` with Kubernetes' TracingConfiguration: where spans are sent and how many",
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
