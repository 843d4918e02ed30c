// SPDX-License-Identifier: Apache-2.0

package addon

import (
	"encoding/base64"
	"fmt"
	"os"
	"testing"

	"github.com/kube-lifeline/lifeline/e2e/internal/harness"
)

const clusterManifest = `apiVersion: infrastructure.cluster.x-k8s.io/v1
kind: LabCluster
metadata: {name: demo}
spec: {controlPlaneEndpoint: {host: 127.0.0.1, port: %d}}
---
apiVersion: controlplane.cluster.x-k8s.io/v1
kind: LabControlPlane
metadata: {name: demo}
spec: {version: v1.36.3}
---
apiVersion: cluster.x-k8s.io/v1beta2
kind: Cluster
metadata: {name: demo}
spec:
  clusterNetwork: {pods: {cidrBlocks: [10.0.0.0/16]}}
  infrastructureRef: {apiGroup: infrastructure.cluster.x-k8s.io, kind: LabCluster, name: demo}
  controlPlaneRef: {apiGroup: controlplane.cluster.x-k8s.io, kind: LabControlPlane, name: demo}
`

const workloadKubeconfig = `apiVersion: v1
kind: Secret
metadata: {name: demo-kubeconfig, labels: {cluster.x-k8s.io/cluster-name: demo}}
type: cluster.x-k8s.io/secret
data: {value: %s}
`

// Credentials is the Secret with the kubeconfig of the workload cluster, which is the lab's cluster itself.
func Credentials(t testing.TB, b *harness.Bench) string {
	t.Helper()
	kubeconfig, err := os.ReadFile(b.Kubeconfig())
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf(workloadKubeconfig, base64.StdEncoding.EncodeToString(kubeconfig))
}

// Cluster is a Cluster with those credentials.
func Cluster(t testing.TB, b *harness.Bench) string {
	t.Helper()
	var port int
	if _, err := fmt.Sscanf(b.ServerURL(), "https://127.0.0.1:%d", &port); err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf(clusterManifest, port)
}

// Workers is a MachineDeployment of one Machine, with its templates.
const Workers = `apiVersion: infrastructure.cluster.x-k8s.io/v1
kind: LabMachineTemplate
metadata: {name: workers}
spec: {template: {spec: {cpus: 4}}}
---
apiVersion: bootstrap.cluster.x-k8s.io/v1
kind: LabConfigTemplate
metadata: {name: workers}
spec: {template: {spec: {}}}
---
apiVersion: cluster.x-k8s.io/v1beta2
kind: MachineDeployment
metadata:
  name: workers
  labels: {cluster.x-k8s.io/cluster-name: demo}
  annotations: {machineset.cluster.x-k8s.io/skip-preflight-checks: All}
spec:
  clusterName: demo
  replicas: 1
  rollout: {strategy: {type: RollingUpdate, rollingUpdate: {maxSurge: 1, maxUnavailable: 0}}}
  selector: {matchLabels: {cluster.x-k8s.io/cluster-name: demo, cluster.x-k8s.io/deployment-name: workers}}
  template:
    metadata: {labels: {cluster.x-k8s.io/cluster-name: demo, cluster.x-k8s.io/deployment-name: workers}}
    spec:
      clusterName: demo
      version: v1.36.3
      deletion: {nodeDeletionTimeoutSeconds: 10}
      bootstrap: {configRef: {apiGroup: bootstrap.cluster.x-k8s.io, kind: LabConfigTemplate, name: workers}}
      infrastructureRef: {apiGroup: infrastructure.cluster.x-k8s.io, kind: LabMachineTemplate, name: workers}
`

// Available waits until the MachineDeployment has so many available Machines, and no others.
func Available(t testing.TB, b *harness.Bench, namespace string, n int) {
	t.Helper()
	harness.Eventually(t, fmt.Sprintf("%d available machines", n), func() bool {
		counts := b.MustKubectl(t, "", "-n", namespace, "get", "machinedeployment/workers", "-o",
			"jsonpath={.status.replicas} {.status.upToDateReplicas} {.status.availableReplicas}")
		return counts == fmt.Sprintf("%[1]d %[1]d %[1]d", n)
	})
}
