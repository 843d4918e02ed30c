// SPDX-License-Identifier: Apache-2.0

package accuracy

import (
	"fmt"
	"strings"
	"time"
)

// node is the manifest of a fake node of the scenario.
func node(name string, cpus int) string {
	return fmt.Sprintf(`apiVersion: v1
kind: Node
metadata: {name: NS-%s, labels: {of: NS}}
spec: {taints: [{key: of, value: NS, effect: NoSchedule}]}
status:
  allocatable: {cpu: %d, memory: 8Gi, pods: 100}
  capacity: {cpu: %d, memory: 8Gi, pods: 100}
  addresses: [{type: InternalIP, address: 127.0.0.1}]
---
`, name, cpus, cpus)
}

// nodes makes fake nodes.
func (s *stage) nodes(names ...string) {
	s.t.Helper()
	for _, name := range names {
		s.apply(userA, node(name, 4))
		s.await("condition=Ready", "node/"+s.ns+"-"+name)
	}
	s.settle()
}

// tolerant is the toleration of the taint that keeps the Pods of other scenarios away.
const tolerant = "tolerations: [{key: of, operator: Exists}]"

// here binds the Pods of a manifest to the nodes of the scenario.
func here(manifest string) string {
	return strings.Replace(manifest, "containers:", "nodeSelector: {of: NS}, "+tolerant+", containers:", 1)
}

const scaler = `apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata: {name: web}
spec:
  scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: web}
  minReplicas: 3
  maxReplicas: 5
  metrics: [{type: Resource, resource: {name: cpu, target: {type: Utilization, averageUtilization: 50}}}]
`

// shelf is a StorageClass with two volumes.
const shelf = `apiVersion: storage.k8s.io/v1
kind: StorageClass
metadata: {name: NS-shelf}
provisioner: kubernetes.io/no-provisioner
---
apiVersion: v1
kind: PersistentVolume
metadata: {name: NS-0}
spec:
  capacity: {storage: 1Gi}
  accessModes: [ReadWriteOnce]
  storageClassName: NS-shelf
  hostPath: {path: /tmp/NS-0}
---
apiVersion: v1
kind: PersistentVolume
metadata: {name: NS-1}
spec:
  capacity: {storage: 1Gi}
  accessModes: [ReadWriteOnce]
  storageClassName: NS-shelf
  hostPath: {path: /tmp/NS-1}
`

const claims = `volumeClaimTemplates:
  - metadata: {name: data}
    spec:
      accessModes: [ReadWriteOnce]
      storageClassName: NS-shelf
      resources: {requests: {storage: 1Gi}}`

const classes = `apiVersion: scheduling.k8s.io/v1
kind: PriorityClass
metadata: {name: NS-high}
value: 1000
`

// hungry is the manifest of a Pod that fills a node. more are further fields of its spec.
func hungry(name, more string) string {
	return fmt.Sprintf(`apiVersion: v1
kind: Pod
metadata: {name: %s, annotations: {lab.lifeline.dev/stop: 100ms}}
spec:
  nodeSelector: {of: NS}
  %s
  terminationGracePeriodSeconds: 1
  containers: [{name: app, image: registry.example/app, resources: {requests: {cpu: "3"}}}]
  %s
`, name, tolerant, more)
}

// reader is a Deployment that reads the ConfigMap settings.
func reader() string {
	return strings.Replace(web(1, 1), "{name: app,", "{name: app, envFrom: [{configMapRef: {name: settings}}],", 1)
}

// relations are changes whose effects lie in objects that they do not own.
var relations = []scenario{
	{
		name: "An autoscaler is created and raises the number",
		scenery: func(s *stage) {
			s.apply(userA, web(1, 1))
			s.rolled("deployment/web")
		},
		play: func(s *stage) {
			s.apply(userB, scaler)
			s.await("jsonpath={.status.readyReplicas}=3", "deployment/web")
		},
		want: []string{
			"user-b create HorizontalPodAutoscaler web converged: create Pod ×2, update Deployment, update ReplicaSet",
		},
	},
	{
		name: "Somebody else lowers the bounds of an autoscaler",
		scenery: func(s *stage) {
			s.apply(userA, web(1, 3))
			s.rolled("deployment/web")
			s.apply(userA, scaler)
			s.await("condition=AbleToScale", "hpa/web")
			s.settle()
		},
		play: func(s *stage) {
			s.as(userB, "patch", "hpa/web", "-p", `{"spec":{"minReplicas":1,"maxReplicas":2}}`)
			s.await("jsonpath={.status.replicas}=2", "deployment/web")
		},
		want: []string{
			"user-b update HorizontalPodAutoscaler web converged: delete Pod, update Deployment, update ReplicaSet",
		},
	},
	{
		name: "An autoscaler raises the number that a person has lowered",
		scenery: func(s *stage) {
			s.apply(userA, web(1, 3))
			s.rolled("deployment/web")
			s.apply(userA, scaler)
			s.await("condition=AbleToScale", "hpa/web")
			s.settle() // the controller looks again 15 s after its first look
		},
		play: func(s *stage) {
			s.as(userB, "scale", "deployment/web", "--replicas=1")
			s.await("jsonpath={.spec.replicas}=3", "deployment/web")
			s.rolled("deployment/web")
		},
		want: []string{
			"user-b update Deployment web converged|superseded: delete Pod ×2, update ReplicaSet",
			"horizontal-pod-autoscaler update Deployment web converged: create Pod ×2, update ReplicaSet",
		},
	},
	{
		name:    "A StatefulSet with volumes",
		scenery: func(s *stage) { s.apply(userA, shelf) },
		play: func(s *stage) {
			s.apply(userB, db(1, 2, "100ms", claims))
			s.rolled("statefulset/db")
		},
		want: []string{
			"user-b create StatefulSet db converged: " +
				"create ControllerRevision, create PersistentVolumeClaim ×2, create Pod ×2",
		},
	},
	{
		name: "A node is drained",
		scenery: func(s *stage) {
			s.nodes("a")
			s.apply(userA, here(web(1, 2)))
			s.rolled("deployment/web")
			s.nodes("b")
		},
		play: func(s *stage) {
			s.as(userB, "drain", s.ns+"-a", "--ignore-daemonsets")
			s.rolled("deployment/web")
		},
		want: []string{
			"user-b update Node NS-a converged: delete Pod ×2",
			"replicaset-controller create Pod web-A-* converged",
			"replicaset-controller create Pod web-A-* converged",
		},
	},
	{
		name: "A disruption budget delays a drain",
		scenery: func(s *stage) {
			s.nodes("a")
			s.apply(userA, here(web(1, 2)))
			s.rolled("deployment/web")
			s.as(userA, "create", "poddisruptionbudget", "web", "--selector=app=web", "--min-available=2")
			s.nodes("b")
		},
		play: func(s *stage) {
			drained := make(chan error)
			go func() {
				_, err := bench.RunKubectlAs(s.t.Context(), userB, nil, "drain", s.ns+"-a", "--ignore-daemonsets")
				drained <- err
			}()
			time.Sleep(7 * time.Second) // kubectl tries again every 5 s
			s.as(userC, "patch", "poddisruptionbudget/web", "-p", `{"spec":{"minAvailable":1}}`)
			if err := <-drained; err != nil {
				s.t.Fatal(err)
			}
			s.rolled("deployment/web")
		},
		want: []string{
			"user-b update Node NS-a converged: delete Pod ×2",
			"user-c update PodDisruptionBudget web converged",
			"replicaset-controller create Pod web-A-* converged",
			"replicaset-controller create Pod web-A-* converged",
		},
	},
	{
		name: "A node is tainted",
		scenery: func(s *stage) {
			s.nodes("a")
			s.apply(userA, here(web(1, 1)))
			s.rolled("deployment/web")
			s.nodes("b")
		},
		play: func(s *stage) {
			s.as(userB, "taint", "node", s.ns+"-a", "broken=yes:NoExecute")
			s.settle()
		},
		want: []string{
			"user-b update Node NS-a converged: delete Pod",
			"replicaset-controller create Pod web-A-* converged",
		},
	},
	{
		name: "A Pod of high priority preempts another",
		scenery: func(s *stage) {
			s.nodes("a")
			s.apply(userA, classes)
			s.apply(userA, hungry("small", ""))
			s.await("condition=Ready", "pod/small")
		},
		play: func(s *stage) {
			s.apply(userB, hungry("large", "priorityClassName: NS-high"))
			s.await("condition=Ready", "pod/large")
		},
		want: []string{"user-b create Pod large converged: delete Pod"},
	},
	{
		// The restart has a link to the edit.
		name: "A ConfigMap is edited and its reader restarted",
		scenery: func(s *stage) {
			s.apply(userA, settings)
			s.apply(userA, reader())
			s.rolled("deployment/web")
		},
		play: func(s *stage) {
			s.as(userA, "patch", "configmap/settings", "-p", `{"data":{"level":"2"}}`)
			s.as(userB, "rollout", "restart", "deployment/web")
			s.rolled("deployment/web")
		},
		want: []string{
			"user-a update ConfigMap settings converged",
			"user-b update Deployment web converged" + rollout,
		},
	},
}
