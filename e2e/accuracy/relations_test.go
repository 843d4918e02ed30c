// SPDX-License-Identifier: Apache-2.0

package accuracy

import (
	"fmt"
	"strings"
	"time"

	"github.com/kube-lifeline/lifeline/e2e/internal/harness"
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

// dead is the label of a node whose kubelet has stopped.
const dead = "lab.lifeline.dev/dead"

// limitRange is a LimitRange with a maximum of the CPUs of a container.
func limitRange(cpus int) string {
	return fmt.Sprintf(`apiVersion: v1
kind: LimitRange
metadata: {name: sizes}
spec: {limits: [{type: Container, max: {cpu: %d}}]}
`, cpus)
}

// impatient is here for Pods that tolerate a lost node for a second.
func impatient(manifest string) string {
	return strings.Replace(here(manifest), "operator: Exists}]", "operator: Exists}, "+
		"{key: node.kubernetes.io/unreachable, operator: Exists, effect: NoExecute, tolerationSeconds: 1}]", 1)
}

// pods waits until the Deployment web has n Pods, also those that terminate.
func (s *stage) pods(n int) {
	s.t.Helper()
	harness.Within(s.t, 3*time.Minute, fmt.Sprintf("%d Pods", n), func() bool {
		return len(s.get("pods", "app=web")) == n
	})
	s.settle()
}

// untainted waits until a node has only the taint of the scenario.
func (s *stage) untainted(node string) {
	s.t.Helper()
	harness.Within(s.t, time.Minute, "node "+node+" without taints of Kubernetes", func() bool {
		return s.MustKubectl(s.t, "", "get", "node", node, "-o", "jsonpath={.spec.taints[*].key}") == "of"
	})
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
		name: "Two people fight over the number, and two over a label",
		scenery: func(s *stage) {
			s.apply(userA, web(1, 1))
			s.rolled("deployment/web")
		},
		play: func(s *stage) {
			for range 2 {
				s.as(userB, "patch", "deployment/web", "-p", `{"spec":{"replicas":3}}`)
				s.rolled("deployment/web")
				s.as(userC, "patch", "deployment/web", "-p", `{"spec":{"replicas":2}}`)
				s.pods(2)
			}
			s.as(userB, "label", "deployment/web", "tier=gold")
			s.as(userC, "label", "deployment/web", "tier=silver", "--overwrite")
			s.as(userB, "label", "deployment/web", "tier=gold", "--overwrite")
		},
		want: []string{
			"user-b update Deployment web converged: create Pod ×2, update ReplicaSet",
			"user-c update Deployment web converged: delete Pod, update ReplicaSet",
			"user-b update Deployment web against user-c #1 converged: create Pod, update ReplicaSet",
			"user-c update Deployment web against user-b #2 converged: delete Pod, update ReplicaSet",
			"user-b update Deployment web converged",
			"user-c update Deployment web converged",
			"user-b update Deployment web against user-c #1 converged",
		},
	},
	{
		name: "A script sets the number back that an autoscaler has raised",
		scenery: func(s *stage) {
			s.apply(userA, web(1, 3))
			s.rolled("deployment/web")
			s.apply(userA, scaler)
			s.await("condition=AbleToScale", "hpa/web")
			s.settle()
		},
		play: func(s *stage) {
			for range 2 {
				s.as(userB, "patch", "deployment/web", "-p", `{"spec":{"replicas":1}}`)
				s.await("jsonpath={.spec.replicas}=3", "deployment/web")
				s.rolled("deployment/web")
			}
		},
		want: []string{
			"user-b update Deployment web converged|superseded: delete Pod ×2, update ReplicaSet",
			"horizontal-pod-autoscaler update Deployment web converged: create Pod ×2, update ReplicaSet",
			"user-b update Deployment web against horizontal-pod-autoscaler #1 converged|superseded: " +
				"delete Pod ×2, update ReplicaSet",
			"horizontal-pod-autoscaler update Deployment web against user-b #2 converged: " +
				"create Pod ×2, update ReplicaSet",
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
				_, err := s.RunKubectlAs(s.t.Context(), userB, nil, "drain", s.ns+"-a", "--ignore-daemonsets")
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
		name: "A node is lost and comes back",
		scenery: func(s *stage) {
			s.nodes("a")
			s.apply(userA, impatient(web(1, 1)))
			s.rolled("deployment/web")
			s.nodes("b")
			s.as(userA, "label", "node", s.ns+"-a", dead+"=true")
		},
		play: func(s *stage) {
			s.pods(2) // the controller waits 50 s for a heartbeat
			s.as(userB, "label", "node", s.ns+"-a", dead+"-")
			s.untainted(s.ns + "-a")
			s.pods(1)
		},
		want: []string{
			"node-controller update Node NS-a converged: delete Pod",
			"replicaset-controller create Pod web-A-* converged",
			"user-b update Node NS-a converged",
		},
	},
	{
		name: "A lost node is deleted",
		scenery: func(s *stage) {
			s.nodes("a")
			s.apply(userA, impatient(web(1, 1)))
			s.rolled("deployment/web")
			s.nodes("b")
			s.as(userA, "label", "node", s.ns+"-a", dead+"=true")
		},
		play: func(s *stage) {
			s.pods(2)
			s.as(userB, "delete", "node", s.ns+"-a")
			s.pods(1) // the collector waits 40 s for the node to come back
		},
		want: []string{
			"node-controller update Node NS-a superseded: delete Pod",
			"replicaset-controller create Pod web-A-* converged",
			"user-b delete Node NS-a deleted",
		},
	},
	{
		name: "A node is deleted with its Pods",
		scenery: func(s *stage) {
			s.nodes("a")
			s.apply(userA, here(web(1, 1)))
			s.rolled("deployment/web")
			s.nodes("b")
		},
		play: func(s *stage) {
			before := s.get("pods", "app=web")
			s.as(userB, "delete", "node", s.ns+"-a")
			s.await("delete", "pod/"+before[0])
			s.rolled("deployment/web")
		},
		want: []string{
			"user-b delete Node NS-a deleted: delete Pod",
			"replicaset-controller create Pod web-A-* converged",
		},
	},
	{
		name: "A node joins",
		scenery: func(s *stage) {
			s.nodes("a")
			s.apply(userA, strings.Replace(agent(1), "nodeSelector: {kubernetes.io/hostname: node-0}",
				"nodeSelector: {of: NS}\n      "+tolerant, 1))
			s.rolled("daemonset/agent")
		},
		play: func(s *stage) {
			s.apply(userB, node("b", 4))
			s.await("jsonpath={.status.numberReady}=2", "daemonset/agent")
		},
		want: []string{"user-b create Node NS-b converged: create Pod"},
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
		name: "A quota is raised that refused a Pod",
		scenery: func(s *stage) {
			s.as(userA, "create", "quota", "few", "--hard=pods=1")
		},
		play: func(s *stage) {
			s.apply(userB, web(1, 2))
			s.await("jsonpath={.status.conditions[?(@.type=='ReplicaFailure')].status}=True", "deployment/web")
			s.as(userC, "patch", "quota/few", "-p", `{"spec":{"hard":{"pods":"2"}}}`)
			s.rolled("deployment/web") // the controller tries again after up to a minute
		},
		want: []string{
			"user-b create Deployment web converged: create Pod ×2, create ReplicaSet",
			"user-c update ResourceQuota few converged",
		},
		links: []string{"Pod web-A-* quota ResourceQuota few"},
	},
	{
		// The refusal does not name the LimitRange.
		name: "A LimitRange is relaxed that refused a Pod",
		scenery: func(s *stage) {
			s.apply(userA, limitRange(1))
		},
		play: func(s *stage) {
			s.apply(userB, strings.Replace(web(1, 1), `web:1"`, `web:1", resources: {limits: {cpu: "2"}}`, 1))
			s.await("jsonpath={.status.conditions[?(@.type=='ReplicaFailure')].status}=True", "deployment/web")
			s.apply(userC, limitRange(4))
			s.rolled("deployment/web") // the controller tries again after up to a minute
		},
		want: []string{
			"user-b create Deployment web converged: create Pod, create ReplicaSet",
			"user-c update LimitRange sizes converged",
		},
		links: []string{"Pod web-A-* limit-range LimitRange sizes"},
	},
	{
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
		links: []string{"Deployment web config ConfigMap settings"},
	},
}
