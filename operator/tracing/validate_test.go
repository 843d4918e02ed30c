// SPDX-License-Identifier: Apache-2.0

package tracing_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/util/validation/field"
	tracingapi "k8s.io/component-base/tracing/api/v1"

	"github.com/kube-lifeline/lifeline/operator/tracing"
)

func TestValidateRate(t *testing.T) {
	cases := map[string]struct {
		reason string
		rate   int32
		bad    bool
	}{
		"below":   {reason: "a rate is never negative", rate: -1, bad: true},
		"lowest":  {reason: "0 follows the parent", rate: 0},
		"highest": {reason: "every trace", rate: all},
		"above":   {reason: "more than every trace", rate: all + 1, bad: true},
		"largest": {reason: "more than every trace", rate: 1<<31 - 1, bad: true},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got := tracing.Validate(
				&tracingapi.TracingConfiguration{SamplingRatePerMillion: &tc.rate},
				field.NewPath("spec", "tracing"),
			)
			check(t, tc.reason, got, tc.bad, "spec.tracing.samplingRatePerMillion", tc.rate)
		})
	}
}

func TestValidateEndpoint(t *testing.T) {
	cases := map[string]struct {
		reason string
		bad    bool
	}{
		"localhost:4317":                 {reason: "Kubernetes' default"},
		"127.0.0.1:4317":                 {reason: "an address"},
		"[::1]:4317":                     {reason: "an IPv6 address"},
		"collector.observability:4317":   {reason: "a Service"},
		"collector":                      {reason: "gRPC takes port 443"},
		"dns:///collector:4317":          {reason: "gRPC's own form"},
		"dns://10.0.0.10/collector:4317": {reason: "with a DNS server"},
		"unix:///run/otel.sock":          {reason: "a socket"},
		"unix:/run/otel.sock":            {reason: "a socket, in the form of Kubernetes"},
		"unix-abstract:///otel":          {reason: "an abstract socket"},

		"":                         {reason: "an empty value", bad: true},
		"http://collector:4317":    {reason: "gRPC has no such scheme", bad: true},
		"https://collector:4317":   {reason: "gRPC has no such scheme", bad: true},
		"passthrough:///x:1":       {reason: "Kubernetes refuses it", bad: true},
		"collector:4317/v1/traces": {reason: "OTLP over gRPC has no path", bad: true},
		"collector/v1/traces":      {reason: "OTLP over gRPC has no path", bad: true},
		"collector:otlp":           {reason: "the port is not a number", bad: true},
		"collector:":               {reason: "the port is missing after the colon", bad: true},
		"collector:0":              {reason: "an invalid port", bad: true},
		"collector:70000":          {reason: "an invalid port", bad: true},
		"collector :4317":          {reason: "an invalid host", bad: true},
		"a:b:4317":                 {reason: "one colon too many", bad: true},
		"[::1:4317":                {reason: "a bracket is missing", bad: true},
		"dns://collector:4317":     {reason: "an authority without a host", bad: true},
		"dns:///collector:otlp":    {reason: "the port is not a number", bad: true},
		"dns:///":                  {reason: "an invalid host", bad: true},
		"unix://run/otel.sock":     {reason: "run is parsed as an authority", bad: true},
		"unix://":                  {reason: "the socket is missing", bad: true},
		"collector:4317\n":         {reason: "a control character", bad: true},
		"%zz":                      {reason: "not a URL", bad: true},
	}
	for endpoint, tc := range cases {
		t.Run(endpoint, func(t *testing.T) {
			got := tracing.Validate(&tracingapi.TracingConfiguration{Endpoint: &endpoint}, nil)
			check(t, tc.reason, got, tc.bad, "endpoint", endpoint)
		})
	}
}

// check checks for one error about the value at path if bad is set, and otherwise for none.
func check(t *testing.T, reason string, got field.ErrorList, bad bool, path string, value any) {
	t.Helper()
	if !bad {
		if len(got) > 0 {
			t.Errorf("%s: %v", reason, got.ToAggregate())
		}
		return
	}
	if len(got) != 1 {
		t.Fatalf("%s: errors %v, want 1", reason, got)
	}
	if diff := cmp.Diff(
		field.Error{Type: field.ErrorTypeInvalid, Field: path, BadValue: value, Detail: got[0].Detail},
		*got[0],
		cmp.FilterPath(func(p cmp.Path) bool { return p.Last().String() == ".Origin" }, cmp.Ignore()),
	); diff != "" {
		t.Errorf("%s (-want +got):\n%s", reason, diff)
	}
	if got[0].Detail == "" {
		t.Errorf("%s: the error has no detail", reason)
	}
}

func TestValidateFindsAllAndTakesNone(t *testing.T) {
	rate, endpoint := int32(-1), ""
	if got := tracing.Validate(
		&tracingapi.TracingConfiguration{SamplingRatePerMillion: &rate, Endpoint: &endpoint},
		nil,
	); len(got) != 2 {
		t.Errorf("got errors %v, want 2", got)
	}
	if got := tracing.Validate(nil, nil); len(got) != 0 {
		t.Errorf("a nil configuration has errors %v", got)
	}
}
