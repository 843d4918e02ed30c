// SPDX-License-Identifier: Apache-2.0

package lab

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestHelm installs a chart as a user.
func TestHelm(t *testing.T) {
	slow(t)
	c := start(t, Options{AddOns: []AddOn{Helm}, Nodes: NodesNone, Users: []User{{Name: "ann"}}})
	kubectl(t, c, "", "create", "rolebinding", "ann", "--clusterrole=admin", "--user=ann")
	chart := t.TempDir()
	for name, text := range map[string]string{
		"Chart.yaml": "apiVersion: v2\nname: web\nversion: 0.1.0\n",
		"templates/config.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: {{ .Release.Name }}}\n" +
			"data: {k: {{ .Values.k }}}\n",
	} {
		path := filepath.Join(chart, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := c.RunHelmAs(t.Context(), "ann", "install", "web", chart, "--set=k=v"); err != nil {
		t.Fatal(err)
	}
	if got := kubectl(t, c, "", "get", "configmap/web", "-o=jsonpath={.data.k}"); got != "v" {
		t.Errorf("the chart's ConfigMap holds %q, want v", got)
	}
	_, err := c.RunHelmAs(t.Context(), "ann", "install", "web", chart)
	if err == nil || !strings.Contains(err.Error(), "helm install web") {
		t.Errorf("a second install: %v, want the error of helm", err)
	}
}

func TestNoHelm(t *testing.T) {
	_, err := new(Cluster).RunHelmAs(t.Context(), "ann", "version")
	if err == nil || !strings.Contains(err.Error(), "without the add-on helm") {
		t.Errorf("RunHelmAs() without the add-on: %v, want an error that names it", err)
	}
}
