// SPDX-License-Identifier: Apache-2.0

package addons

import (
	"testing"

	"github.com/kube-lifeline/lifeline/lab"
)

// agent is the manifest of a DaemonSet for every node.
const agent = `apiVersion: apps/v1
kind: DaemonSet
metadata: {name: agent}
spec:
  selector: {matchLabels: {app: agent}}
  template:
    metadata: {labels: {app: agent}, annotations: {lab.lifeline.dev/stop: 100ms}}
    spec: {containers: [{name: app, image: "registry.example/agent:1"}]}
`

// second is the manifest of a second fake node. KWOK leaves out nodes without a label.
const second = `apiVersion: v1
kind: Node
metadata: {name: node-b, labels: {kubernetes.io/hostname: node-b}}
status:
  allocatable: {cpu: 4, memory: 8Gi, pods: 100}
  capacity: {cpu: 4, memory: 8Gi, pods: 100}
  addresses: [{type: InternalIP, address: 127.0.0.1}]
`

// TestDaemonSet records a DaemonSet: created, with a new image, on a node that joins and goes, and deleted.
func TestDaemonSet(t *testing.T) {
	traces := record(t, "daemon-set.kwok", lab.Options{}, func(s *stage) {
		rolled := func() {
			s.MustKubectl(t, "", "-n", shop, "rollout", "status", "daemonset/agent", "--timeout=4m")
			s.settle()
		}
		s.apply(userA, agent)
		rolled()
		s.as(userB, "set", "image", "daemonset/agent", "app=registry.example/agent:2")
		rolled()

		s.apply(userA, second)
		s.await("jsonpath={.status.numberReady}=2", "daemonset/agent")
		s.settle()
		podOn := func(node string) string {
			return "pod/" + s.MustKubectl(t, "", "-n", shop, "get", "pods", "--field-selector=spec.nodeName="+node,
				"-o", "jsonpath={.items[*].metadata.name}")
		}
		pod := podOn("node-b")
		s.as(userB, "delete", "node/node-b")
		s.await("delete", pod) // the collector waits 40 s for the node to come back
		s.settle()

		pod = podOn("node-0")
		s.as(userC, "delete", "daemonset/agent")
		s.await("delete", pod)
		s.settle()
	})
	expect(t, traces, map[string]int{
		"DaemonSet agent <":             3, // a creation, a new image and a deletion
		"Pod agent-* < DaemonSet agent": 4, // the first Pod is created, replaced and deleted
		"Node node-b <":                 2, // joins and goes
		"Pod agent-* < Node node-b":     2,
		"Pod agent-* <":                 0,
	})
}
