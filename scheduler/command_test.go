// SPDX-License-Identifier: Apache-2.0

package scheduler_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/pflag"
	"k8s.io/kubernetes/cmd/kube-scheduler/app"

	"github.com/kube-lifeline/lifeline/scheduler"
)

// TestFlags compares the flags with those of the original.
func TestFlags(t *testing.T) {
	flags := func(set *pflag.FlagSet) map[string]string {
		out := map[string]string{}
		set.VisitAll(func(f *pflag.Flag) { out[f.Name] = f.DefValue + " " + f.Usage })
		return out
	}
	got, want := scheduler.NewCommand(), app.NewSchedulerCommand()
	if diff := cmp.Diff(flags(want.Flags()), flags(got.Flags())); diff != "" {
		t.Errorf("flags: -want +got\n%s", diff)
	}
	if len(flags(got.Flags())) < 50 {
		t.Errorf("%d flags", len(flags(got.Flags())))
	}
}

func TestExporterFromEnvironment(t *testing.T) {
	const endpoint = "OTEL_EXPORTER_OTLP_ENDPOINT"
	for name, test := range map[string]struct {
		reason  string
		set     map[string]string
		want    bool
		refused bool
	}{
		"nothing":  {reason: "the original scheduler"},
		"endpoint": {set: map[string]string{endpoint: "http://127.0.0.1:4317"}, want: true},
		"for traces": {
			set: map[string]string{"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": "http://127.0.0.1:4317"}, want: true,
		},
		"disabled": {set: map[string]string{endpoint: "http://127.0.0.1:4317", "OTEL_SDK_DISABLED": "TRUE"}},
		"http": {
			set: map[string]string{
				endpoint: "http://127.0.0.1:4318", "OTEL_EXPORTER_OTLP_PROTOCOL": "http/protobuf",
			},
			want: true,
		},
		"unknown protocol": {
			reason: "rather an error than no spans", refused: true,
			set: map[string]string{endpoint: "http://127.0.0.1:4318", "OTEL_EXPORTER_OTLP_PROTOCOL": "http/json"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			for k, v := range test.set {
				t.Setenv(k, v)
			}
			exporter, err := scheduler.ExporterFromEnvironment(t.Context())
			if (err != nil) != test.refused || (exporter != nil) != test.want {
				t.Errorf("exporter %v, error %v: want %v %s", exporter, err, test.want, test.reason)
			}
			if exporter != nil {
				_ = exporter.Shutdown(t.Context())
			}
		})
	}
}
