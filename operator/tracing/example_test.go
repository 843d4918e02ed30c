// SPDX-License-Identifier: Apache-2.0

package tracing_test

import (
	"context"
	"flag"
	"fmt"
	"time"

	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"k8s.io/apimachinery/pkg/util/validation/field"
	tracingapi "k8s.io/component-base/tracing/api/v1"
	"k8s.io/utils/ptr"

	"github.com/kube-lifeline/lifeline/operator"
	"github.com/kube-lifeline/lifeline/operator/tracing"
)

// An operator's main function: flags configure tracing, and the deferred Shutdown sends the last
// spans.
func Example() {
	options := tracing.Options{ServiceName: "head-operator", Enabled: true}
	fs := flag.NewFlagSet("head-operator", flag.ExitOnError)
	options.BindFlags(fs)
	_ = fs.Parse([]string{"--tracing=true"}) // os.Args[1:]

	provider, err := tracing.New(options)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() {
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		defer cancel()
		_ = provider.Shutdown(ctx)
	}()
	fmt.Println(provider.Mode() == operator.Propagate) // without a configuration, contexts are passed on
	// Output: true
}

// Tracing can be switched while the operator runs. A user's exporter replaces OTLP.
func ExampleTracing_Set() {
	ctx := context.Background()
	spans := tracetest.NewInMemoryExporter()
	provider, err := tracing.New(tracing.Options{Exporter: spans}) // off
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = provider.Shutdown(ctx) }()
	tracer := provider.Tracer("example")

	_, span := tracer.Start(ctx, "not recorded")
	span.End()

	every := &tracingapi.TracingConfiguration{SamplingRatePerMillion: ptr.To[int32](1_000_000)}
	if err := provider.Set(ctx, true, every); err != nil {
		fmt.Println(err)
	}
	_, span = tracer.Start(ctx, "create ChildA")
	span.End()
	if err := provider.Set(ctx, false, nil); err != nil { // flushes
		fmt.Println(err)
	}
	for _, s := range spans.GetSpans() {
		fmt.Println(s.Name)
	}

	every.SamplingRatePerMillion = ptr.To[int32](2_000_000)
	fmt.Println(provider.Set(ctx, true, every))
	// Output:
	// create ChildA
	// cannot set up tracing: samplingRatePerMillion: Invalid value: 2000000: sampling rate per million must be less than or equal to one million
}

// A configuration in a larger one is validated below its path.
func ExampleValidate() {
	c := &tracingapi.TracingConfiguration{Endpoint: ptr.To("collector:4317/v1/traces")}
	fmt.Println(tracing.Validate(c, field.NewPath("spec", "tracing")).ToAggregate())
	// Output:
	// spec.tracing.endpoint: Invalid value: "collector:4317/v1/traces": must be host:port, with nothing behind it
}
