// SPDX-License-Identifier: Apache-2.0

package tracing_test

import (
	"flag"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	tracingapi "k8s.io/component-base/tracing/api/v1"
	"k8s.io/utils/ptr"

	"github.com/kube-lifeline/lifeline/operator/tracing"
)

func file(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "tracing.yaml")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestLoad(t *testing.T) {
	whole := &tracingapi.TracingConfiguration{
		Endpoint:               ptr.To("collector:4317"),
		SamplingRatePerMillion: ptr.To[int32](100),
	}
	cases := map[string]struct {
		reason string
		text   string
		want   *tracingapi.TracingConfiguration
		err    string // part of the error, in addition to the file
	}{
		"fields alone": {
			reason: "fields only, as in kubelet's section",
			text:   "endpoint: collector:4317\nsamplingRatePerMillion: 100\n",
			want:   whole,
		},
		"kube-apiserver's": {
			reason: "kube-apiserver's file",
			want:   whole,
			text: "apiVersion: apiserver.config.k8s.io/v1\nkind: TracingConfiguration\nendpoint: " +
				"collector:4317\nsamplingRatePerMillion: 100\n",
		},
		"v1beta1": {
			reason: "the version of older clusters",
			text:   "apiVersion: apiserver.config.k8s.io/v1beta1\nkind: TracingConfiguration\n",
			want:   &tracingapi.TracingConfiguration{},
		},
		"json": {
			reason: "JSON is YAML",
			text:   `{"endpoint":"collector:4317","samplingRatePerMillion":100}`,
			want:   whole,
		},
		"comments": {
			reason: "Kubernetes recommends an empty configuration",
			text:   "# endpoint: x\n",
			want:   &tracingapi.TracingConfiguration{},
		},
		"unknown": {reason: "unknown fields are errors", text: "endpont: x:1\n", err: `unknown field "endpont"`},
		"letter case": {
			reason: "field names are case-sensitive",
			text:   "Endpoint: x:1\n",
			err:    `unknown field "Endpoint"`,
		},
		"twice": {
			reason: "a repeated field is ambiguous",
			text:   "endpoint: x:1\nendpoint: y:1\n",
			err:    `"endpoint"`,
		},
		"no number": {
			reason: "the type is checked",
			text:   "samplingRatePerMillion: many\n",
			err:    "samplingRatePerMillion",
		},
		"no int32": {
			reason: "the value exceeds the field's type",
			text:   "samplingRatePerMillion: 5000000000\n",
			err:    "samplingRatePerMillion",
		},
		"rate": {
			reason: "values are checked",
			text:   "samplingRatePerMillion: 1000001\n",
			err:    "samplingRatePerMillion: Invalid value: 1000001",
		},
		"endpoint": {
			reason: "values are checked",
			text:   "endpoint: https://x\n",
			err:    `endpoint: Invalid value: "https://x"`,
		},
		"other kind": {
			reason: "the file has another kind",
			text:   "apiVersion: apiserver.config.k8s.io/v1\nkind: AdmissionConfiguration\n",
			err:    "kind:",
		},
		"other group": {
			reason: "the file has another kind",
			text:   "apiVersion: v1\nkind: ConfigMap\n",
			err:    "apiVersion:",
		},
		"kind alone": {reason: "the apiVersion is missing", text: "kind: TracingConfiguration\n", err: "apiVersion:"},
		"a list":     {reason: "a list is not a configuration", text: "- endpoint: x\n", err: "array"},
		"broken":     {reason: "invalid YAML", text: "endpoint: [", err: "yaml"},
		"kubelet file": {
			reason: "a whole kubelet file instead of its section",
			text:   "tracing:\n  endpoint: x:1\n",
			err:    `unknown field "tracing"`,
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			path := file(t, tc.text)
			got, err := tracing.Load(path)
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
			switch {
			case tc.err == "" && err != nil:
				t.Errorf("%s: %v", tc.reason, err)
			case tc.err != "" && (err == nil || !strings.Contains(err.Error(), tc.err) ||
				!strings.Contains(err.Error(), path)):
				t.Errorf("%s: error %v does not name the file and %s", tc.reason, err, tc.err)
			}
		})
	}
	if _, err := tracing.Load("/nowhere/tracing.yaml"); err == nil ||
		!strings.Contains(err.Error(), "/nowhere/tracing.yaml") {
		t.Errorf("error %v does not name the missing file", err)
	}
}

func TestFlags(t *testing.T) {
	good, bad := file(t, "samplingRatePerMillion: 5\n"), file(t, "samplingRatePerMillion: -5\n")
	configuration := &tracingapi.TracingConfiguration{SamplingRatePerMillion: ptr.To[int32](5)}
	cases := map[string]struct {
		reason string
		args   []string
		before bool
		want   tracing.Options
		err    string
	}{
		"none":          {reason: "off by default"},
		"none, default": {reason: "the program's default is kept", before: true, want: tracing.Options{Enabled: true}},
		"on": {
			reason: "propagation only",
			args:   []string{"--tracing"},
			want:   tracing.Options{Enabled: true},
		},
		"file": {
			reason: "a file switches tracing on",
			args:   []string{"--tracing-config-file", good},
			want:   tracing.Options{Enabled: true, Configuration: configuration},
		},
		"off, file": {
			reason: "--tracing overrides the file",
			args:   []string{"--tracing=false", "--tracing-config-file", good},
			want:   tracing.Options{Configuration: configuration},
		},
		"file, off": {
			reason: "--tracing overrides the file in any order",
			args:   []string{"--tracing-config-file", good, "--tracing=false"},
			want:   tracing.Options{Configuration: configuration},
		},
		"bad file": {
			reason: "the error names the flag, the file and the field",
			args:   []string{"--tracing-config-file", bad},
			err:    "samplingRatePerMillion",
		},
		"bad bool": {reason: "the error names the flag", args: []string{"--tracing=maybe"}, err: "tracing"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got := tracing.Options{Enabled: tc.before}
			fs := flag.NewFlagSet("operator", flag.ContinueOnError)
			fs.SetOutput(io.Discard)
			got.BindFlags(fs)
			err := fs.Parse(tc.args)
			if tc.err != "" {
				if err == nil || !strings.Contains(err.Error(), tc.err) {
					t.Errorf("%s: error %v does not name %s", tc.reason, err, tc.err)
				}
				return
			}
			if err != nil {
				t.Fatalf("%s: %v", tc.reason, err)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}
