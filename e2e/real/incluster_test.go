// SPDX-License-Identifier: Apache-2.0

package real

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/kube-lifeline/lifeline/e2e/internal/harness"
	"github.com/kube-lifeline/lifeline/lab/testimage"
)

// created is the outline of the creation of Deployment app.
const created = `
reconcile Deployment app converged
  reconcile ReplicaSet app-A converged (owner)
    reconcile Pod app-A-* converged (owner)
      [pull image, readiness, sandbox, schedule, start container]
`

// TestInCluster applies deploy/. The server has only the rights of its manifests, and is reached by
// a port-forward. After its Pod is deleted, the new Pod continues with the stored traces.
func TestInCluster(t *testing.T) {
	harness.Slow(t)
	image, err := bench.PushImage(t.Context(), "lifeline:dev", testimage.Spec{Program: bench.Lifeline})
	if err != nil {
		t.Fatal(err)
	}
	cases := map[string]struct {
		reason, overlay string
		replicas        int
		kept            bool
	}{
		"volume":   {"each server has a volume", "base", 1, true},
		"emptydir": {"an emptyDir is deleted with its Pod", "emptydir", 1, false},
		"standby":  {"the servers share a Lease, and each has a volume", "standby", 2, true},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if tc.kept {
				for i := range tc.replicas {
					volume(t, fmt.Sprintf("lifeline-%s-%d", name, i))
				}
			}
			install(t, image, tc.overlay, "")
			server := forward(t)
			ns := bench.Namespace(t)
			// A new image, so that the node has to pull it.
			app, err := bench.PushImage(t.Context(), ns+":1", testimage.Spec{Seed: uint64(time.Now().UnixNano())})
			if err != nil {
				t.Fatal(err)
			}
			r := change(t, server, ns, "create", "deployment", "app", "--image="+app)
			bench.Oracle(t, ns).Expect(t, r, created)

			bench.MustKubectl(t, "", "-n", "lifeline", "delete", "pod", "lifeline-0", "--timeout=4m")
			away := r.Traces[0].ID
			server = forward(t)
			again := ask(t, server, "trace", away, "-o", "json")
			switch {
			case tc.kept && again.Code != 0:
				t.Fatalf("%s: the trace is lost: %s", tc.reason, again.Stderr)
			case tc.kept:
				if diff := gocmp.Diff(r.Traces, harness.Parse(t, again).Traces); diff != "" {
					t.Errorf("%s: the trace has changed: -before +after\n%s", tc.reason, diff)
				}
			case again.Code != 1:
				t.Errorf("%s: lifeline trace: exit code %d, want 1\n%s", tc.reason, again.Code, again.Stdout)
			}
			change(t, server, ns, "scale", "deployment/app", "--replicas=2")
			seesPage(t)
			for i := range tc.replicas {
				log := bench.MustKubectl(t, "", "-n", "lifeline", "logs", fmt.Sprintf("lifeline-%d", i))
				for line := range strings.Lines(log) {
					if !strings.Contains(line, `"level":"INFO"`) {
						t.Errorf("%s: the server logged a warning or error: %s", tc.reason, line)
					}
				}
			}
		})
	}
}

// seesPage opens the page of the server in the cluster, without a browser.
func seesPage(t *testing.T) {
	t.Helper()
	p := bench.Begin(t, harness.Call{Args: []string{"ui", "--no-browser"}})
	p.AwaitStdout(t, "\n")
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, strings.TrimSpace(p.Stdout()), http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(resp.Body)
	_ = resp.Body.Close()
	if err != nil || resp.StatusCode != http.StatusOK || !strings.Contains(string(text), "<title>Lifeline</title>") {
		t.Errorf("the page: %s, %v\n%.200s", resp.Status, err, text)
	}
	p.Signal(t, syscall.SIGINT)
	if r := p.Wait(t); r.Code != 0 {
		t.Errorf("lifeline ui: exit code %d, want 0\n%s", r.Code, r.Stderr)
	}
}

// install applies an overlay of deploy/ with changes for this cluster: the image, and an address of
// the API server for Pods, because the cluster lacks kube-proxy. more has further patches, followed
// by images, in YAML.
func install(t *testing.T, image, overlay, more string) {
	t.Helper()
	dir := t.TempDir()
	root, err := filepath.Abs(filepath.Join("..", "..", "deploy", overlay))
	if err != nil {
		t.Fatal(err)
	}
	if root, err = filepath.Rel(dir, root); err != nil {
		t.Fatal(err)
	}
	node := bench.MustKubectl(t, "", "get", "node", "-o", "jsonpath={.items[0].status.addresses[0].address}")
	text := fmt.Sprintf(`
apiVersion: kustomize.config.k8s.io/v1beta1
kind: Kustomization
resources: [%q]
patches:
  - target: {kind: "StatefulSet|Deployment", name: "lifeline(-discovery)?"}
    patch: |
      - {op: add, path: /spec/template/spec/hostAliases, value: [{ip: %q, hostnames: [kubernetes.default.svc]}]}
      - op: add
        path: /spec/template/spec/containers/0/env/-
        value: {name: KUBERNETES_SERVICE_HOST, value: kubernetes.default.svc}
      - {op: add, path: /spec/template/spec/containers/0/env/-, value: {name: KUBERNETES_SERVICE_PORT, value: %q}}
%s
  - {name: ghcr.io/kube-lifeline/lifeline, newName: %q, newTag: dev}
`, root, node, relay(t, node, strings.TrimPrefix(bench.ServerURL(), "https://")), cmp.Or(more, "images:"),
		strings.TrimSuffix(image, ":dev"))
	if err := os.WriteFile(filepath.Join(dir, "kustomization.yaml"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { kubectlAtEnd(t, "delete", "-k", dir, "--timeout=4m") })
	bench.MustKubectl(t, "", "apply", "-k", dir)
	bench.MustKubectl(t, "", "-n", "lifeline", "rollout", "status", "statefulset/lifeline", "--timeout=4m")
}

// volume creates a PersistentVolume of a temporary folder, until the test ends.
func volume(t *testing.T, name string) {
	t.Helper()
	dir := t.TempDir()
	t.Cleanup(func() { kubectlAtEnd(t, "delete", "pv", name, "--timeout=4m") })
	bench.MustKubectl(t, fmt.Sprintf(`
apiVersion: v1
kind: PersistentVolume
metadata: {name: %s}
spec:
  capacity: {storage: 10Gi}
  accessModes: [ReadWriteOnce]
  local: {path: %q}
  nodeAffinity: {required: {nodeSelectorTerms: [{matchExpressions: [{key: kubernetes.io/os, operator: Exists}]}]}}
`, name, dir), "apply", "-f", "-")
}

// change runs kubectl create or scale, and returns the server's trace of it after it has converged.
func change(t *testing.T, server, ns string, args ...string) harness.Result {
	t.Helper()
	bench.MustKubectl(t, "", append([]string{"-n", ns}, args...)...)
	var newest struct {
		Traces []struct {
			ID      string `json:"traceId"`
			Verb    string `json:"verb"`
			Outcome string `json:"outcome"`
		} `json:"traces"`
	}
	verb := map[string]string{"create": "create", "scale": "update"}[args[0]]
	harness.Eventually(t, "a converged trace of kubectl "+strings.Join(args, " "), func() bool {
		r := ask(t, server, "ls", "-n", ns, "deployment/app", "--limit=1", "-o", "json")
		if r.Code != 0 {
			t.Fatalf("lifeline ls: exit code %d\n%s", r.Code, r.Stderr)
		}
		if err := json.Unmarshal([]byte(r.Stdout), &newest); err != nil {
			t.Fatal(err)
		}
		return len(newest.Traces) == 1 && newest.Traces[0].Verb == verb && newest.Traces[0].Outcome == "converged"
	})
	r := ask(t, server, "trace", newest.Traces[0].ID, "-o", "json")
	if r.Code != 0 {
		t.Fatalf("lifeline trace: exit code %d\n%s", r.Code, r.Stderr)
	}
	return harness.Parse(t, r)
}

// ask runs a lifeline command with that server, as a ServiceAccount that may see everything.
func ask(t *testing.T, server string, args ...string) harness.Result {
	t.Helper()
	bench.MustKubectl(t, reader, "apply", "-f", "-")
	file := filepath.Join(t.TempDir(), "token")
	token := bench.MustKubectl(t, "", "-n", "default", "create", "token", "reader", "--audience=lifeline")
	if err := os.WriteFile(file, []byte(token), 0o600); err != nil {
		t.Fatal(err)
	}
	return bench.Do(t, harness.Call{
		Args: args, Env: []string{"LIFELINE_SERVER=" + server, "LIFELINE_TOKEN_FILE=" + file},
	})
}

const reader = `apiVersion: v1
kind: ServiceAccount
metadata: {name: reader, namespace: default}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: reader}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: cluster-admin}
subjects: [{kind: ServiceAccount, name: reader, namespace: default}]
`
