// SPDX-License-Identifier: Apache-2.0

package components

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/kube-lifeline/lifeline/e2e/internal/harness"
	"github.com/kube-lifeline/lifeline/lab/testimage"
)

// deployment is Deployment web with two replicas of an image.
func deployment(namespace, image string) string {
	return fmt.Sprintf(`
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: %s}
spec:
  replicas: 2
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      terminationGracePeriodSeconds: 1
      containers: [{name: web, image: %q}]
`, namespace, image)
}

// image returns one that the node has to pull.
func image(t *testing.T) string {
	t.Helper()
	seed := rand.Uint64()
	ref, err := bench.PushImage(t.Context(), fmt.Sprintf("web:%x", seed), testimage.Spec{
		Seed: seed, Padding: 1 << 20, Env: []string{"PORT=" + testimage.DefaultPort},
	})
	if err != nil {
		t.Fatal(err)
	}
	return ref
}

// settled waits until the rollout of Deployment web is complete.
func settled(t *testing.T, namespace string) {
	t.Helper()
	bench.MustKubectl(t, "", "-n", namespace, "rollout", "status", "deployment/web", "--timeout=4m")
}

// mayEdit lets ann edit what is in a namespace, and see the nodes.
func mayEdit(t *testing.T, namespace string) {
	t.Helper()
	bench.MustKubectl(t, "", "-n", namespace, "create", "rolebinding", ann, "--clusterrole=edit", "--user="+ann)
}

func TestApply(t *testing.T) {
	for name, tt := range map[string]struct {
		reason string
		user   string
		run    bool
	}{
		"apply-run":        {reason: "the API server trusts the contexts of lifeline run", user: "admin", run: true},
		"apply-run-user":   {reason: "and here it does not, and links", user: ann, run: true},
		"apply-plain":      {reason: "the client sends no context", user: "admin"},
		"apply-plain-user": {reason: "trusted or not is the same then", user: ann},
	} {
		t.Run(name, func(t *testing.T) {
			ns, ref := bench.Namespace(t), image(t)
			mayEdit(t, ns)
			manifest := deployment(ns, ref)
			r := begin(t, ns)
			if tt.run {
				res := bench.Do(t, harness.Call{
					Args: []string{
						"run",
						"--record",
						r.observations,
						"--",
						"kubectl",
						"apply",
						"-f",
						harness.File(t, manifest),
					},
					Kubeconfig: bench.KubeconfigFor(tt.user),
				})
				if res.Code != 0 {
					t.Fatalf("%s: exit code %d\n%s", tt.reason, res.Code, res.Stderr)
				}
			} else {
				end := r.observe(t)
				if out, err := bench.RunKubectlAs(
					t.Context(),
					tt.user,
					strings.NewReader(manifest),
					"apply",
					"-f",
					"-",
				); err != nil {
					t.Fatalf("%s: %v\n%s", tt.reason, err, out)
				}
				settled(t, ns)
				end()
			}
			r.end(t)
			r.save(t, name, name == "apply-run")
			r.read(t).checkCreation(t, tt.user == "admin", tt.run)
		})
	}
}
