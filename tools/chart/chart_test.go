// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"helm.sh/helm/v4/pkg/chart/common"
	"helm.sh/helm/v4/pkg/chart/common/util"
	"helm.sh/helm/v4/pkg/chart/v2/lint"
	"helm.sh/helm/v4/pkg/chart/v2/lint/support"
	"helm.sh/helm/v4/pkg/engine"
	"sigs.k8s.io/yaml"
)

const root = "../.."

// TestGenerated: the manifests in deploy/ and app/, the golden renders and the table of values are those
// of the chart. `make manifests` writes them; their changes need review.
func TestGenerated(t *testing.T) {
	files, err := everything(root)
	if err != nil {
		t.Fatal(err)
	}
	for path, want := range files {
		got, err := os.ReadFile(filepath.Join(root, path))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, string(got)); diff != "" {
			t.Errorf("%s is stale: make manifests; -want +got:\n%s", path, diff)
		}
	}
}

// TestLint is `helm lint --strict` with each file of values.
func TestLint(t *testing.T) {
	s, err := load(root)
	if err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob(filepath.Join(root, values, "*.yaml"))
	if err != nil || len(files) < 9 {
		t.Fatalf("%d files of values, %v", len(files), err)
	}
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".yaml")
		v, err := s.values([]string{name})
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range lint.RunAll(filepath.Join(root, folder), v, "lifeline").Messages {
			if m.Severity >= support.WarningSev {
				t.Errorf("%s: %v", name, m)
			}
		}
	}
}

// TestRefused: the schema and the templates refuse values with a clear message.
func TestRefused(t *testing.T) {
	cases := map[string]struct{ reason, values, want string }{
		"unknown": {"a value with a typing error", "replica: 2", "replica"},
		"size":    {"retention is computed from it", "storage: {size: 10G}", "/storage/size"},
		"memory": {
			"GOMEMLIMIT is computed from it", "resources: {limits: {memory: 1e9}}", "/resources/limits/memory",
		},
		"mode":           {"", "collector: {mode: node}", "/collector/mode"},
		"namespaces":     {"a ClusterRole is too much", "config: {watch: {namespaces: [shop]}}", "rbac.create=false"},
		"mode alone":     {"one server cannot stand by", "config: {replicas: {mode: standby}}", "set replicas=2"},
		"registration":   {"nothing would answer", "webhook: {register: true}", "webhook.enabled=true"},
		"gateway":        {"its configuration names two", "collector: {mode: gateway}", "set replicas=2"},
		"own Secret":     {"it would be replaced", "api: {secretName: x-lifeline-api}", "give yours another name"},
		"port with text": {"", "networkPolicy: {dnsPort: dns}", "/networkPolicy/dnsPort"},
	}
	s, err := load(root)
	if err != nil {
		t.Fatal(err)
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			var v map[string]any
			if err := yaml.Unmarshal([]byte(tc.values), &v); err != nil {
				t.Fatal(err)
			}
			top, err := util.ToRenderValues(s.chart, v, common.ReleaseOptions{Name: "x", Namespace: "y"}, nil)
			if err == nil {
				_, err = engine.Render(s.chart, top)
			}
			if err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("%s: %v, want an error with %q", tc.reason, err, tc.want)
			}
		})
	}
}

// TestSizes: retention.size is four fifths of the volume, GOMEMLIMIT nine tenths of the limit.
func TestSizes(t *testing.T) {
	s, err := load(root)
	if err != nil {
		t.Fatal(err)
	}
	for size, want := range map[string][2]string{
		"storage: {size: 10Gi}":                  {"size: 8Gi", "921MiB"},
		"storage: {size: 12Gi}":                  {"size: 9830Mi", "921MiB"},
		"storage: {size: 1Ti}":                   {"size: 838860Mi", "921MiB"},
		"resources: {limits: {memory: 512Mi}}":   {"size: 8Gi", "460MiB"},
		"config: {retention: {size: 1Gi}}":       {"size: 1Gi", "921MiB"},
		"resources: {limits: {memory: 2000Mi}}":  {"size: 8Gi", "1800MiB"},
		"storage: {size: 500Mi, emptyDir: true}": {"size: 400Mi", "921MiB"},
	} {
		var v map[string]any
		if err := yaml.Unmarshal([]byte(size), &v); err != nil {
			t.Fatal(err)
		}
		top, err := util.ToRenderValues(s.chart, v, common.ReleaseOptions{Name: "lifeline", Namespace: "lifeline"}, nil)
		if err != nil {
			t.Fatal(err)
		}
		files, err := engine.Render(s.chart, top)
		if err != nil {
			t.Fatal(err)
		}
		text := files["lifeline/templates/configmap.yaml"]
		if !strings.Contains(text, "retention:\n      "+want[0]+"\n") {
			t.Errorf("%s: want %s:\n%s", size, want[0], text)
		}
		if text := files["lifeline/templates/statefulset.yaml"]; !strings.Contains(text, "value: "+want[1]+"\n") {
			t.Errorf("%s: want %s:\n%s", size, want[1], text)
		}
	}
}
