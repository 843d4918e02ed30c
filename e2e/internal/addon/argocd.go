// SPDX-License-Identifier: Apache-2.0

package addon

import (
	"fmt"
	"testing"

	"github.com/kube-lifeline/lifeline/e2e/internal/harness"
)

// Application is an Argo CD Application of everything in the folder app on a branch of a Git repository. Its
// objects go with it.
func Application(name, url, branch, namespace string) string {
	return fmt.Sprintf(`apiVersion: argoproj.io/v1alpha1
kind: Application
metadata:
  name: %s
  namespace: argocd
  finalizers: [resources-finalizer.argocd.argoproj.io]
spec:
  project: default
  source: {repoURL: %q, path: app, targetRevision: %s}
  destination: {server: "https://kubernetes.default.svc", namespace: %s}
`, name, url, branch, namespace)
}

// Sync is a patch that asks for the sync of a commit, as Argo CD's server does for its users.
func Sync(user, hash string) string {
	return fmt.Sprintf(
		`{"operation": {"initiatedBy": {"username": %q}, "sync": {"revision": %q, "prune": true}}}`, user, hash)
}

// Automated is a patch that lets Argo CD sync each commit and correct each drift.
const Automated = `{"spec": {"syncPolicy": {"automated": {"prune": true, "selfHeal": true}}}}`

// Compared waits until Argo CD has compared the cluster with a commit.
func Compared(t testing.TB, b *harness.Bench, name, hash, status string) {
	t.Helper()
	harness.Eventually(t, "the application "+status, func() bool {
		return applicationField(t, b, name, "{.status.sync.revision} {.status.sync.status}") == hash+" "+status
	})
}

// Synced waits for the end of the sync of a commit.
func Synced(t testing.TB, b *harness.Bench, name, hash, phase string) {
	t.Helper()
	harness.Eventually(t, "the sync "+phase, func() bool {
		return applicationField(t, b, name,
			"{.operation}{.status.operationState.syncResult.revision} {.status.operationState.phase}") == hash+" "+phase
	})
}

// applicationField returns a field of the Application.
func applicationField(t testing.TB, b *harness.Bench, name, path string) string {
	t.Helper()
	return b.MustKubectl(t, "", "-n", "argocd", "get", "application/"+name, "-o", "jsonpath="+path)
}
