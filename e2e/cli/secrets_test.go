// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"encoding/base64"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/kube-lifeline/lifeline/e2e/internal/harness"
)

// private is the value of every field of a manifest that may be confidential.
const private = "hush-7f3a9c"

func TestNothingPrivateLeaves(t *testing.T) {
	collector, err := harness.NewCollector()
	if err != nil {
		t.Fatal(err)
	}
	defer collector.Stop()
	ns := bench.Namespace(t)
	manifest := harness.File(t, fmt.Sprintf(`
apiVersion: v1
kind: Secret
metadata: {name: key, namespace: %[1]s}
data: {token: %[3]s}
stringData: {password: %[2]s-plain}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: settings, namespace: %[1]s, annotations: {note: %[2]s-annotation}}
data: {file: %[2]s-config}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: %[1]s}
spec:
  replicas: 1
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}, annotations: {note: %[2]s-note}}
    spec:
      terminationGracePeriodSeconds: 1
      initContainers:
        - {name: init, image: "app:1", args: [%[2]s-init], env: [{name: A, value: %[2]s-init}]}
      containers:
        - name: app
          image: "app:1"
          command: [run, %[2]s-command]
          args: [--token, %[2]s-argument]
          env:
            - {name: PASSWORD, value: %[2]s-environment}
            - {name: TOKEN, valueFrom: {secretKeyRef: {name: key, key: token}}}
          lifecycle: {preStop: {exec: {command: [stop, %[2]s-hook]}}}
          livenessProbe: {exec: {command: [probe, %[2]s-probe]}}
`, ns, private, base64.StdEncoding.EncodeToString([]byte(private+"-encoded"))))
	dir := t.TempDir()
	file, beside := filepath.Join(dir, "run"), filepath.Join(dir, "record")
	rec := observer(t, ns, "record", beside)
	r := bench.Run(
		t,
		0,
		[]string{"--record", file, "--otlp", "grpc://" + collector.Endpoint},
		"kubectl",
		"apply",
		"-f",
		manifest,
	)
	leave(t, rec)
	tree := bench.Exec(t, "replay", file)

	texts := map[string]string{
		"the JSON":   r.Stdout,
		"stderr":     r.Stderr,
		"the tree":   tree.Stdout,
		"OTLP spans": fmt.Sprintf("%+v", dereferenced(collector.Spans(func(*harness.Span) bool { return true }))),
	}
	for name, path := range map[string]string{"the run's recording": file, "the observer's recording": beside} {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		texts[name] = string(text)
	}
	for where, text := range texts {
		if !strings.Contains(text, "web") {
			t.Errorf("%s does not tell of the Deployment, so it shows nothing:\n%s", where, text)
		}
		for _, secret := range []string{private, base64.StdEncoding.EncodeToString([]byte(private))[:12]} {
			if i := strings.Index(text, secret); i >= 0 {
				t.Errorf("%s holds %s", where, text[max(0, i-200):min(len(text), i+100)])
			}
		}
	}
}

func dereferenced(spans []*harness.Span) []harness.Span {
	out := make([]harness.Span, len(spans))
	for i, s := range spans {
		out[i] = *s
	}
	return out
}
