// SPDX-License-Identifier: Apache-2.0

package accuracy

import (
	"fmt"

	"github.com/kube-lifeline/lifeline/e2e/internal/addon"
	"github.com/kube-lifeline/lifeline/lab"
)

// release is a Helm release with the name shop.
type release struct {
	*stage

	chart string
	// driver is where Helm stores the revisions: secret or configmap.
	driver string
}

// release returns a release of the chart that is not yet installed.
func (s *stage) release(driver string) release {
	s.t.Helper()
	return release{stage: s, chart: addon.Chart(s.t), driver: driver}
}

// helm runs a command of helm for the release, and waits until its effects are over.
func (r release) helm(user, command string, args ...string) {
	r.t.Helper()
	if err := r.run(user, command, args...); err != nil {
		r.t.Fatal(err)
	}
	r.settle()
}

func (r release) run(user, command string, args ...string) error {
	args = append([]string{command, "shop"}, args...)
	_, err := r.RunHelmWith(r.t.Context(), user, []string{"HELM_DRIVER=" + r.driver},
		append(args, "--namespace="+r.ns)...)
	return err
}

// commit pushes files to the folder app on the scenario's branch of the Git repository, and returns the hash.
func (s *stage) commit(files map[string]string) string {
	s.t.Helper()
	in := map[string]string{}
	for name, text := range files {
		in["app/"+name] = text
	}
	hash, err := s.Commit(s.t.Context(), lab.Commit{Message: s.ns, Branch: s.ns, Files: in})
	if err != nil {
		s.t.Fatal(err)
	}
	return hash
}

// first is the first commit of a scenario.
func first() map[string]string {
	return map[string]string{"web.yaml": web(1, 1), "settings.yaml": settings}
}

// gitRepository is the manifest of the scenario's source of Flux.
func (s *stage) gitRepository() string {
	return fmt.Sprintf(`apiVersion: source.toolkit.fluxcd.io/v1
kind: GitRepository
metadata: {name: app}
spec: {interval: 2s, url: %q, ref: {branch: %s}}
`, s.GitURL(), s.ns)
}

// kustomization is the manifest of the application of Flux.
const kustomization = `apiVersion: kustomize.toolkit.fluxcd.io/v1
kind: Kustomization
metadata: {name: app}
spec:
  interval: 10s
  path: ./app
  prune: true
  wait: true
  targetNamespace: NS
  sourceRef: {kind: GitRepository, name: app}
`

// applied waits until Flux has applied a commit.
func (s *stage) applied(hash string) {
	s.t.Helper()
	s.await("jsonpath={.status.lastAppliedRevision}="+s.ns+"@sha1:"+hash, "kustomization/app")
	s.await("condition=Ready", "kustomization/app")
	s.settle()
}

// inArgo is as for the scenario's Application of Argo CD, which has the name of the namespace.
func (s *stage) inArgo(user, verb string, args ...string) {
	s.t.Helper()
	s.as(user, append([]string{verb, "application/" + s.ns, "--namespace=argocd"}, args...)...)
}

// sync syncs a commit as that user.
func (s *stage) sync(user, hash string) {
	s.t.Helper()
	addon.Compared(s.t, s.Bench, s.ns, hash, "OutOfSync")
	s.inArgo(user, "patch", "--type=merge", "-p", addon.Sync(user, hash))
	addon.Synced(s.t, s.Bench, s.ns, hash, "Succeeded")
	s.settle()
}

// delivery are changes by tools of continuous delivery.
var delivery = []scenario{
	{
		// The server sees the revisions only in ConfigMaps.
		name: "Helm installs, upgrades, fails, rolls back and uninstalls",
		play: func(s *stage) {
			r := s.release("configmap")
			r.helm(userA, "install", r.chart)
			r.helm(userB, "upgrade", r.chart, "--set=version=2")
			broken := []string{r.chart, "--set=version=3,broken=true", "--wait", "--timeout=10s"}
			if err := r.run(userC, "upgrade", broken...); err == nil {
				s.t.Fatal("the upgrade to a missing image succeeded")
			}
			s.settle()
			r.helm(userA, "rollback", "2")
			r.helm(userB, "uninstall")
		},
		want: []string{
			"user-a create ConfigMap sh.helm.release.v1.shop.v1 converged: create ConfigMap, create Deployment, " +
				"create EndpointSlice, create Job, create Pod ×2, create ReplicaSet, create Service",
			"user-b create ConfigMap sh.helm.release.v1.shop.v2 converged: create Job, create Pod ×2, " +
				"create ReplicaSet, delete Job, delete Pod ×2, update ConfigMap, update Deployment, update ReplicaSet",
			"user-c create ConfigMap sh.helm.release.v1.shop.v3 failed: create Job, create Pod ×2, " +
				"create ReplicaSet, delete Job, delete Pod, update ConfigMap, update Deployment",
			"user-a create ConfigMap sh.helm.release.v1.shop.v4 converged: delete Pod, update ConfigMap, " +
				"update Deployment, update ReplicaSet",
			"user-b delete ConfigMap sh.helm.release.v1.shop.v4 deleted: delete ConfigMap ×4, delete Deployment, " +
				"delete EndpointSlice, delete Pod, delete ReplicaSet ×3, delete Service",
		},
	},
	{
		// No server sees the revisions: each object is a separate change.
		name: "Helm stores its revisions in Secrets",
		play: func(s *stage) {
			r := s.release("secret")
			r.helm(userA, "install", r.chart)
			r.helm(userB, "upgrade", r.chart, "--set=version=2")
		},
		want: []string{
			"user-a create Job migrate converged: create Pod",
			"user-a create ConfigMap settings converged",
			"user-a create Service web converged: create EndpointSlice",
			"user-a create Deployment web converged: create Pod, create ReplicaSet",
			"user-b delete Job migrate deleted: delete Pod",
			"user-b create Job migrate converged: create Pod",
			"user-b update ConfigMap settings converged",
			"user-b update Deployment web converged" + rollout,
		},
	},
	{
		name: "Flux applies commits, corrects a drift and prunes",
		play: func(s *stage) {
			hash := s.commit(first())
			s.apply(userA, s.gitRepository())
			s.await("condition=Ready", "gitrepository/app")
			s.settle()
			s.apply(userB, kustomization)
			s.applied(hash)
			s.applied(s.commit(map[string]string{"web.yaml": web(2, 1)}))
			s.as(userC, "scale", "deployment/web", "--replicas=3")
			s.await("jsonpath={.spec.replicas}=1", "deployment/web")
			s.rolled("deployment/web")
			s.applied(s.commit(map[string]string{"settings.yaml": ""}))
			s.as(userB, "delete", "kustomization/app")
		},
		want: []string{
			"user-a create GitRepository app converged",
			"user-b create Kustomization app converged: create ConfigMap, create Deployment, create Pod, create " +
				"ReplicaSet",
			"source-controller update GitRepository app converged: create Pod, create ReplicaSet, delete Pod, " +
				"update Deployment, update Kustomization, update ReplicaSet",
			"user-c update Deployment web converged|superseded: create Pod ×2, update ReplicaSet",
			"kustomize-controller update Deployment web converged: delete Pod ×2, update ReplicaSet",
			"source-controller update GitRepository app converged: delete ConfigMap, update Kustomization",
			"user-b delete Kustomization app deleted: delete Deployment, delete Pod, delete ReplicaSet ×2",
		},
	},
	{
		name:    "Argo CD syncs for two people and corrects a drift",
		scenery: func(s *stage) { s.commit(first()) },
		play: func(s *stage) {
			app := addon.Application(s.ns, s.GitURL(), s.ns, s.ns)
			s.given(userA, app, "apply", "-f", "-", "--namespace=argocd")
			s.sync(userA, s.commit(map[string]string{"web.yaml": web(1, 2)}))
			s.sync(userB, s.commit(map[string]string{"web.yaml": web(2, 1)}))
			s.inArgo(userA, "patch", "--type=merge", "-p", addon.Automated)
			s.settle()
			s.as(userC, "patch", "configmap/settings", "-p", `{"data":{"level":"9"}}`)
			s.await("jsonpath={.data.level}=1", "configmap/settings")
			s.settle()
			s.inArgo(userB, "delete")
		},
		want: []string{
			"user-a create Application NS converged",
			"user-a update Application NS converged: create ConfigMap, create Deployment, create Pod ×2, create " +
				"ReplicaSet",
			"user-b update Application NS converged: create Pod, create ReplicaSet, delete Pod ×2, " +
				"update Deployment, update ReplicaSet",
			"user-a update Application NS converged",
			"user-c update ConfigMap settings converged",
			"argocd-application-controller update Application NS converged: update ConfigMap",
			"user-b delete Application NS deleted: delete ConfigMap, delete Deployment, delete Pod, delete " +
				"ReplicaSet ×2",
		},
	},
}
