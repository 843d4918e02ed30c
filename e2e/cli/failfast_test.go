// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/kube-lifeline/lifeline/e2e/internal/harness"
)

// missing is a Deployment whose image does not exist.
const missing = `apiVersion: apps/v1
kind: Deployment
metadata: {name: fail-fast}
spec:
  selector: {matchLabels: {app: fail-fast}}
  template:
    metadata:
      labels: {app: fail-fast}
      annotations: {lab.lifeline.dev/pull-error: not found}
    spec: {containers: [{name: app, image: "registry.example/none:1", imagePullPolicy: Always}]}
`

// TestFailFast: a run ends as soon as nothing in sight can change what is stuck. The Deployment itself
// would fail after its progress deadline of ten minutes.
func TestFailFast(t *testing.T) {
	ns := bench.Namespace(t)
	summary, junit := filepath.Join(t.TempDir(), "summary.md"), filepath.Join(t.TempDir(), "junit.xml")
	r := bench.Do(t, harness.Call{
		Args: []string{
			"run", "--fail-fast", "--timeout", "5m", "--summary", summary, "--junit", junit,
			"--", "kubectl", "-n", ns, "apply", "-f", "-",
		},
		Stdin: missing,
	})
	const want = "cannot pull image registry.example/none:1 of container app: not found"
	if r.Code != 4 || !strings.Contains(r.Stderr, want) ||
		!strings.Contains(r.Stderr, "nothing in sight can change it") {
		t.Errorf("got exit code %d, want 4 and %q\n%s", r.Code, want, r.Stderr)
	}
	for file, want := range map[string]string{
		summary: "| Deployment.apps " + ns + "/fail-fast |  | stuck |",
		junit:   `<testcase name="Deployment.apps ` + ns + `/fail-fast"`,
	} {
		if text, err := os.ReadFile(file); err != nil || !strings.Contains(string(text), want) {
			t.Errorf("%s: %v, want %q\n%s", file, err, want, text)
		}
	}
	why := bench.Exec(t, "why", "deployment/fail-fast", "--direct", "-n", ns)
	if why.Code != 3 || !strings.Contains(why.Stdout, want) {
		t.Errorf("why: got exit code %d, want 3 and %q\n%s%s", why.Code, want, why.Stdout, why.Stderr)
	}
}

// stuckSet is a StatefulSet whose first Pod has an image that does not exist.
const stuckSet = `apiVersion: apps/v1
kind: StatefulSet
metadata: {name: queue}
spec:
  serviceName: queue
  selector: {matchLabels: {app: queue}}
  template:
    metadata:
      labels: {app: queue}
      annotations: {lab.lifeline.dev/pull-error: not found}
    spec: {containers: [{name: app, image: "registry.example/none:1", imagePullPolicy: Always}]}
`

// TestFailFastBehind: a broken Pod of an earlier change stops a StatefulSet. Its controller does not replace
// the Pod, so nothing in sight can change that.
func TestFailFastBehind(t *testing.T) {
	ns := bench.Namespace(t)
	bench.MustKubectl(t, stuckSet, "-n", ns, "apply", "-f", "-")
	harness.Eventually(t, "the failed pull", func() bool {
		return strings.Contains(bench.MustKubectl(t, "", "-n", ns, "get", "pods",
			"-o", "jsonpath={.items[*].status.containerStatuses[*].state.waiting.reason}"), "ImagePull")
	})
	r := bench.Do(t, harness.Call{Args: []string{
		"run",
		"--fail-fast",
		"--timeout",
		"5m",
		"--",
		"kubectl",
		"-n",
		ns,
		"scale",
		"statefulset/queue",
		"--replicas=2",
	}})
	const want = "StatefulSet queue waits for Pod queue-0, which cannot pull image registry.example/none:1"
	if r.Code != 4 || !strings.Contains(r.Stderr, want) ||
		!strings.Contains(r.Stderr, "nothing in sight can change it") {
		t.Errorf("got exit code %d, want 4 and %q\n%s", r.Code, want, r.Stderr)
	}
}
