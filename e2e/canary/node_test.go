// SPDX-License-Identifier: Apache-2.0

package canary

import (
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"testing"

	"github.com/kube-lifeline/lifeline/e2e/internal/harness"
	"github.com/kube-lifeline/lifeline/lab"
	"github.com/kube-lifeline/lifeline/lab/testimage"
)

// nodes is a real node where this runs as root, and a fake one elsewhere.
func nodes() lab.NodeMode {
	if os.Getuid() == 0 {
		return lab.NodesReal
	}
	fmt.Fprintln(os.Stderr, "SKIP: the messages of a real kubelet and containerd need root; all others are searched")
	return lab.NodesKWOK
}

// containers are Pods' containers that fail on a real node, each with another message
// of the kubelet or containerd that quotes the value.
var containers = map[string]string{
	"command": `command: [CANARY]`,
	"args": `args: [CANARY], env: [{name: START_DELAY, value: CANARY}], terminationMessagePolicy: ` +
		`FallbackToLogsOnError`,
	"start": `lifecycle: {postStart: {exec: {command: [/CANARY, CANARY]}}}`,
	"live":  `livenessProbe: {periodSeconds: 1, exec: {command: [/CANARY, CANARY]}}`,
	"ready": `readinessProbe: {periodSeconds: 1, httpGet: {path: "/CANARY?token=CANARY", port: 1, httpHeaders: ` +
		`[{name: Authorization, value: CANARY}]}}`,
	"config": `env: [{name: A, valueFrom: {secretKeyRef: {name: none, key: password}}}, {name: PASSWORD, value: ` +
		`CANARY}]`,
}

// onNode has the kubelet and containerd fail over the value, if they are real.
func onNode(t *testing.T, namespace string) {
	t.Helper()
	if os.Getuid() != 0 {
		return
	}
	image, err := bench.PushImage(
		t.Context(),
		fmt.Sprintf("canary:%x", rand.Uint64()),
		testimage.Spec{Env: []string{"PORT=" + testimage.DefaultPort}},
	)
	if err != nil {
		t.Fatal(err)
	}
	var manifest strings.Builder
	for name, container := range containers {
		fmt.Fprintf(
			&manifest,
			"---\napiVersion: v1\nkind: Pod\nmetadata: {name: %s, namespace: %s}\nspec:\n  "+
				"terminationGracePeriodSeconds: 0\n  containers: [{name: web, image: %q, %s}]\n",
			name,
			namespace,
			image,
			strings.ReplaceAll(container, "CANARY", value),
		)
	}
	bench.MustKubectl(t, manifest.String(), "apply", "-f", "-")
	missing := ""
	t.Cleanup(func() {
		if missing != "" {
			t.Error("this container has not failed as it should:", missing)
		}
	})
	harness.Eventually(t, "each container failing", func() bool {
		events := bench.MustKubectl(t, "", "-n", namespace, "get", "events,pods", "-o", "json")
		for name, said := range map[string]string{
			"command": "StartError",
			"args":    `"exitCode": 64`,
			"start":   "FailedPostStartHook",
			"live":    "Liveness probe",
			"ready":   "Readiness probe",
			"config":  `secret \"none\" not found`,
		} {
			if !strings.Contains(events, said) {
				missing = name
				return false
			}
		}
		missing = ""
		return true
	})
	for range 2 {
		// It fails: the program does not exist.
		out, err := bench.RunKubectl(t.Context(), nil, "-n", namespace, "exec", "ready", "--", "/"+value, value)
		if err == nil {
			t.Errorf("kubectl exec succeeded: %s", out)
		}
	}
}
