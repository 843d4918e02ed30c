// SPDX-License-Identifier: Apache-2.0

package addon

import (
	"os"
	"path/filepath"
	"testing"
)

// chart is a Helm chart by file: a Deployment, a Service, a ConfigMap, and a Job as a hook.
var chart = map[string]string{
	"Chart.yaml":  "apiVersion: v2\nname: shop\nversion: 0.1.0\n",
	"values.yaml": "version: 1\nbroken: false\n",
	"templates/web.yaml": `apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  selector: {matchLabels: {app: web}}
  template:
    metadata:
      labels: {app: web}
      annotations:
        lab.lifeline.dev/stop: 100ms
        {{- if .Values.broken }}
        lab.lifeline.dev/pull-error: no such image
        {{- end }}
    spec: {containers: [{name: app, image: "registry.example/web:{{ .Values.version }}"}]}
`,
	"templates/service.yaml": `apiVersion: v1
kind: Service
metadata: {name: web}
spec: {selector: {app: web}, ports: [{port: 80}]}
`,
	"templates/settings.yaml": `apiVersion: v1
kind: ConfigMap
metadata: {name: settings}
data: {level: "{{ .Values.version }}"}
`,
	"templates/migrate.yaml": `apiVersion: batch/v1
kind: Job
metadata:
  name: migrate
  annotations: {helm.sh/hook: "pre-install,pre-upgrade", helm.sh/hook-delete-policy: before-hook-creation}
spec:
  template:
    metadata: {annotations: {lab.lifeline.dev/stop: 100ms, lab.lifeline.dev/exit: "0"}}
    spec: {restartPolicy: Never, containers: [{name: app, image: "registry.example/migrate:1"}]}
`,
}

// Chart writes a Helm chart and returns its folder. It has the values version, and broken for a missing image.
func Chart(t testing.TB) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range chart {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}
