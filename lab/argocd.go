// SPDX-License-Identifier: Apache-2.0

package lab

import (
	"context"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/kube-lifeline/lifeline/lab/internal/gitserver"
)

var argoCD = addOnSpec{
	components: []Component{ArgoController},
	check:      gitserver.Check,
	namespace:  "argocd",
	prepare: func(ctx context.Context, c *Cluster) error {
		apply := []string{"apply", "--server-side", "--filename=-"}
		if _, err := c.RunKubectl(ctx, strings.NewReader(argoSettings), apply...); err != nil {
			return err
		}
		return c.startGit(ctx)
	},
}

// argoController is one process with the application controller, the repository
// server and a Redis. It compares an Application with its repository every 5 s.
var argoController = addOnComponent{
	ports: 4,
	ready: "/healthz",
	args: func(c *Cluster, ports []int) ([]string, error) {
		return []string{
			"--namespace=argocd",
			"--kubeconfig=" + c.etc(string(ArgoController)+".kubeconfig"),
			"--health-port=" + strconv.Itoa(ports[0]),
			"--repo-port=" + strconv.Itoa(ports[1]),
			"--repo-health-port=" + strconv.Itoa(ports[2]),
			"--redis-addr=" + loopback(ports[3]),
			"--resync=5",
		}, nil
	},
	env: func(c *Cluster) []string {
		return []string{
			"ARGOCD_FAKE_IN_CLUSTER=true", // https://kubernetes.default.svc is the lab's API server
			"ARGOCD_GPG_ENABLED=false",
			"ARGOCD_RECONCILIATION_TIMEOUT=5s", // also that of the cached branches of a repository
			"ARGOCD_ASK_PASS_SOCK=" + filepath.Join(c.dir, "data", string(ArgoController), "ask"),
		}
	},
}

// argoSettings are the objects with Argo CD's settings, and the project of all Applications. The
// key is for sessions, which are not used.
const argoSettings = `apiVersion: v1
kind: ConfigMap
metadata: {name: argocd-cm, namespace: argocd, labels: {app.kubernetes.io/part-of: argocd}}
---
apiVersion: v1
kind: Secret
metadata: {name: argocd-secret, namespace: argocd, labels: {app.kubernetes.io/part-of: argocd}}
stringData: {server.secretkey: unused}
---
apiVersion: argoproj.io/v1alpha1
kind: AppProject
metadata: {name: default, namespace: argocd}
spec:
  sourceRepos: ["*"]
  destinations: [{namespace: "*", server: "*"}]
  clusterResourceWhitelist: [{group: "*", kind: "*"}]
`
