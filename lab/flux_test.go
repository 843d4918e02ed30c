// SPDX-License-Identifier: Apache-2.0

package lab

import (
	"encoding/json"
	"fmt"
	"testing"
)

// TestFlux lets Flux apply a commit, undo a person's change, and prune.
func TestFlux(t *testing.T) {
	slow(t)
	c := start(t, Options{AddOns: []AddOn{Flux}})
	commit := func(files map[string]string) string {
		t.Helper()
		hash, err := c.Commit(t.Context(), Commit{Message: "test", Files: files})
		if err != nil {
			t.Fatal(err)
		}
		return hash
	}
	applied := func(hash string) {
		t.Helper()
		kubectl(t, c, "", "wait", "kustomization/app", "--timeout=2m",
			"--for=jsonpath={.status.lastAppliedRevision}=main@sha1:"+hash)
	}
	web := func(image string) string {
		t.Helper()
		data, err := json.Marshal(deployment("web", 1, image, nil)) // JSON is YAML
		if err != nil {
			t.Fatal(err)
		}
		return string(data)
	}
	configMap := "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: web, namespace: default}\ndata: {k: v}\n"
	first := commit(map[string]string{"app/web.yaml": web("nginx:1"), "app/config.yaml": configMap})
	kubectl(t, c, fmt.Sprintf(`
apiVersion: source.toolkit.fluxcd.io/v1
kind: GitRepository
metadata: {name: app}
spec: {interval: 2s, url: %q, ref: {branch: main}}
---
apiVersion: kustomize.toolkit.fluxcd.io/v1
kind: Kustomization
metadata: {name: app}
spec:
  {interval: 3s, path: ./app, prune: true, wait: true, targetNamespace: default,
    sourceRef: {kind: GitRepository, name: app}}
`, c.GitURL()), "apply", "-f", "-")
	applied(first)
	kubectl(t, c, "", "rollout", "status", "deployment/web", "--timeout=4m")

	kubectl(t, c, "", "scale", "deployment/web", "--replicas=3")
	kubectl(t, c, "", "wait", "deployment/web", "--for=jsonpath={.spec.replicas}=1", "--timeout=2m")

	second := commit(map[string]string{"app/web.yaml": web("nginx:2"), "app/config.yaml": ""})
	applied(second)
	kubectl(t, c, "", "wait", "configmap/web", "--for=delete", "--timeout=2m")
	got := kubectl(t, c, "", "get", "deployment/web", "-o=jsonpath={.spec.template.spec.containers[0].image}")
	if got != "nginx:2" {
		t.Errorf("image: %s, want that of the last commit, nginx:2", got)
	}

	if err := c.Restart(t.Context(), KustomizeController); err != nil {
		t.Error(err)
	}
}
