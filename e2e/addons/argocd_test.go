// SPDX-License-Identifier: Apache-2.0

package addons

import (
	"fmt"
	"strings"
	"testing"

	"github.com/kube-lifeline/lifeline/e2e/internal/addon"
	"github.com/kube-lifeline/lifeline/e2e/internal/harness"
	"github.com/kube-lifeline/lifeline/lab"
)

// web is a manifest of a Deployment.
func web(image string, replicas int) string {
	return fmt.Sprintf(`apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replicas: %d
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: app, image: %q}]}
`, replicas, image)
}

// The other objects of the application.
const (
	settings = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: web}\ndata: {level: %q}\n"
	service  = "apiVersion: v1\nkind: Service\nmetadata: {name: web}\n" +
		"spec: {selector: {app: web}, ports: [{port: 80}]}\n"
)

// commit pushes files to the folder app and returns the hash.
func (s *stage) commit(message string, files map[string]string) string {
	s.t.Helper()
	in := map[string]string{}
	for name, text := range files {
		in["app/"+name] = text
	}
	hash, err := s.Commit(s.t.Context(), lab.Commit{Message: message, Files: in})
	if err != nil {
		s.t.Fatal(err)
	}
	return hash
}

// compared waits until Argo CD has compared the cluster with a commit.
func (s *stage) compared(hash, status string) {
	s.t.Helper()
	addon.Compared(s.t, s.Bench, "shop", hash, status)
	s.settle()
}

// sync asks for a sync as that user.
func (s *stage) sync(user, hash string) {
	s.t.Helper()
	s.as(user, "patch", "application/shop", "-n", "argocd", "--type=merge", "-p",
		addon.Sync(user, hash))
}

// synced waits for the end of the sync of a commit.
func (s *stage) synced(hash, phase string) {
	s.t.Helper()
	addon.Synced(s.t, s.Bench, "shop", hash, phase)
	s.settle()
}

// TestArgoCD records an application: synced, refreshed, not applicable, corrected and deleted.
func TestArgoCD(t *testing.T) {
	opts := lab.Options{AddOns: []lab.AddOn{lab.ArgoCD}}
	traces := record(t, "argo-cd.kwok", opts, func(s *stage) {
		first := s.commit("first", map[string]string{
			"web.yaml": web("registry/web:1", 2), "settings.yaml": fmt.Sprintf(settings, "1"), "service.yaml": service,
		})
		s.given(userA, addon.Application("shop", s.GitURL(), "main", shop), "apply", "-n", "argocd", "-f", "-")
		s.compared(first, "OutOfSync")
		s.sync(userA, first)
		s.synced(first, "Succeeded")

		s.as(userB, "annotate", "-n", "argocd", "application/shop", "argocd.argoproj.io/refresh=normal")
		harness.Eventually(t, "a refresh", func() bool {
			return s.MustKubectl(t, "", "-n", "argocd", "get", "application/shop", "-o",
				"jsonpath={.metadata.annotations.argocd\\.argoproj\\.io/refresh}") == ""
		})
		s.settle()

		second := s.commit("second", map[string]string{
			"web.yaml": web("registry/web:2", 2), "settings.yaml": fmt.Sprintf(settings, "2"),
		})
		s.compared(second, "OutOfSync")
		s.sync(userB, second)
		s.synced(second, "Succeeded")

		broken := s.commit("broken", map[string]string{"service.yaml": strings.Replace(service, "80", "99999", 1)})
		s.compared(broken, "OutOfSync")
		s.sync(userB, broken)
		s.synced(broken, "Failed")
		fixed := s.commit("fixed", map[string]string{"service.yaml": ""})
		s.compared(fixed, "OutOfSync")
		s.sync(userA, fixed)
		s.synced(fixed, "Succeeded")

		s.as(userA, "patch", "-n", "argocd", "application/shop", "--type=merge", "-p", addon.Automated)
		s.settle()
		s.as(userC, "patch", "configmap/web", "-p", `{"data": {"level": "9"}}`)
		s.await("jsonpath={.data.level}=2", "configmap/web")
		s.settle()
		third := s.commit("third", map[string]string{"web.yaml": web("registry/web:3", 1)})
		s.synced(third, "Succeeded")

		s.as(userA, "delete", "-n", "argocd", "application/shop")
		s.settle()
	})
	// On a loaded machine, Argo CD compares before it has seen the effects of its sync. It then syncs again
	// as after a drift, and writes nothing.
	corrections, repeated := 0, 0
	for _, tr := range traces {
		if tr.Spans[0].Attributes["lifeline.drift"] != "Application shop" {
			continue
		}
		reconciled := map[string]bool{}
		for _, sp := range tr.Spans {
			if strings.HasPrefix(sp.Name, "reconcile ") {
				reconciled[strings.TrimPrefix(sp.Name, "reconcile ")] = true
			}
		}
		switch {
		case reconciled["ConfigMap"]:
			corrections++
		case len(reconciled) == 1:
			repeated++
		}
	}
	expect(t, traces, map[string]int{
		// Created, synced four times by people, once in vain; changed, synced against a drift and after a
		// commit, and deleted. A requested refresh changes nothing.
		"Application shop <":                9 + repeated,
		"Deployment web < Application shop": 4,
		"ConfigMap web < Application shop":  4,
		"ConfigMap web <":                   1, // the drift
	})
	if corrections != 1 {
		t.Errorf("%d traces correct the drift of the ConfigMap, want 1", corrections)
	}
}
