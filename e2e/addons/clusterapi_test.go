// SPDX-License-Identifier: Apache-2.0

package addons

import (
	"encoding/base64"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/kube-lifeline/lifeline/e2e/internal/harness"
	"github.com/kube-lifeline/lifeline/lab"
)

// cluster is a Cluster whose workload cluster is the lab's cluster itself.
const cluster = `apiVersion: infrastructure.cluster.x-k8s.io/v1
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

// credentials is the Secret with the kubeconfig of the workload cluster.
const credentials = `apiVersion: v1
kind: Secret
metadata: {name: demo-kubeconfig, labels: {cluster.x-k8s.io/cluster-name: demo}}
type: cluster.x-k8s.io/secret
data: {value: %s}
`

// workers is a MachineDeployment with its templates.
const workers = `apiVersion: infrastructure.cluster.x-k8s.io/v1
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
      bootstrap: {configRef: {apiGroup: bootstrap.cluster.x-k8s.io, kind: LabConfigTemplate, name: workers}}
      infrastructureRef: {apiGroup: infrastructure.cluster.x-k8s.io, kind: LabMachineTemplate, name: workers}
`

// available waits until the MachineDeployment has so many available Machines, and no others.
func (s *stage) available(n int) {
	s.t.Helper()
	harness.Eventually(s.t, fmt.Sprintf("%d available machines", n), func() bool {
		counts := s.MustKubectl(s.t, "", "-n", shop, "get", "machinedeployment/workers", "-o",
			"jsonpath={.status.replicas} {.status.upToDateReplicas} {.status.availableReplicas}")
		return counts == fmt.Sprintf("%[1]d %[1]d %[1]d", n)
	})
	s.settle()
}

// TestClusterAPI records a cluster: created, scaled, with a lost machine, upgraded and deleted. The
// controllers of the core are real. The provider is a part of this test.
func TestClusterAPI(t *testing.T) {
	opts := lab.Options{AddOns: []lab.AddOn{lab.ClusterAPI}, Users: []lab.User{{Name: provider}}}
	traces := record(t, "cluster-api.kwok", opts, func(s *stage) {
		s.MustKubectl(t, labKinds(), "apply", "--server-side", "-f", "-")
		s.MustKubectl(t, labKinds(), "wait", "--for=condition=Established", "--timeout=1m", "-f", "-")
		defer s.provide()()
		kubeconfig, err := os.ReadFile(s.Kubeconfig())
		if err != nil {
			t.Fatal(err)
		}
		var port int
		if _, err := fmt.Sscanf(s.ServerURL(), "https://127.0.0.1:%d", &port); err != nil {
			t.Fatal(err)
		}
		s.apply(userA, fmt.Sprintf(credentials, base64.StdEncoding.EncodeToString(kubeconfig)))
		s.apply(userA, fmt.Sprintf(cluster, port))
		s.await("condition=ControlPlaneInitialized", "cluster/demo")
		s.settle()
		s.apply(userA, workers)
		s.available(1)

		s.as(userB, "patch", "machinedeployment/workers", "--type=merge", "-p", `{"spec": {"replicas": 2}}`)
		s.available(2)
		machines := s.MustKubectl(t, "", "-n", shop, "get", "machines", "-o", "jsonpath={.items[*].metadata.name}")
		s.as(userC, "delete", "machine/"+strings.Fields(machines)[0])
		s.available(2)
		s.as(userA, "patch", "machinedeployment/workers", "--type=merge", "-p",
			`{"spec": {"template": {"spec": {"version": "v1.36.4"}}}}`)
		s.available(2)
		s.as(userB, "delete", "cluster/demo")
		s.settle()
	})
	expect(t, traces, map[string]int{
		// A creation, a scaling and an upgrade.
		"MachineDeployment workers <":                      3,
		"MachineSet workers-* < MachineDeployment workers": 6,
		"Machine workers-* < MachineSet workers-*":         8,
		"LabMachine workers-* < MachineSet workers-*":      4,
		"Machine workers-* <":                              2, // the deletion by a person, and the replacement
		"MachineDeployment workers < Cluster demo":         1,
	})
}
