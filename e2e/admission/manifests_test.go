// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"fmt"
	"strings"
)

// web is Deployment web, which replaces its Pods one at a time, so that how often
// its ReplicaSets are written does not depend on who is faster. More are further
// lines of its spec, and annotations of its metadata.
func web(replicas int, image string, more ...string) string {
	return workload("apps/v1", "Deployment", "web", image, append([]string{
		fmt.Sprintf("  replicas: %d", replicas),
		"  strategy: {rollingUpdate: {maxSurge: 1, maxUnavailable: 0}}",
	}, more...)...)
}

// workload is a kind with a selector and a template of Pods.
func workload(version, kind, name, image string, spec ...string) string {
	return fmt.Sprintf(`apiVersion: %s
kind: %s
metadata:
  name: %s
  labels: {app: %s}
spec:
%s
  selector: {matchLabels: {app: %s}}
  template:
    metadata: {labels: {app: %s}}
    spec:
      terminationGracePeriodSeconds: 1
      containers: [{name: main, image: "registry.example/%s"}]
`, version, kind, name, name, strings.Join(spec, "\n"), name, name, image)
}

// database is StatefulSet db.
func database(replicas int, image string) string {
	return workload("apps/v1", "StatefulSet", "db", image, fmt.Sprintf("  replicas: %d", replicas), "  serviceName: db")
}

// agent is DaemonSet agent.
func agent(image string) string {
	return workload("apps/v1", "DaemonSet", "agent", image, "  minReadySeconds: 0")
}

// set is ReplicaSet alone, which no Deployment owns.
func set(replicas int) string {
	return workload("apps/v1", "ReplicaSet", "alone", "web:1", fmt.Sprintf("  replicas: %d", replicas))
}

// task is a Job.
func task(name string, spec ...string) string {
	return fmt.Sprintf(`apiVersion: batch/v1
kind: Job
metadata: {%s}
spec:
%s
  template:
    spec:
      restartPolicy: Never
      terminationGracePeriodSeconds: 1
      containers: [{name: main, image: "registry.example/task:1"}]
`, name, strings.Join(append([]string{"  backoffLimit: 1"}, spec...), "\n"))
}

// cron is CronJob nightly, which runs once a year by itself.
func cron(schedule string, suspended bool) string {
	return fmt.Sprintf(`apiVersion: batch/v1
kind: CronJob
metadata: {name: nightly}
spec:
  schedule: %q
  suspend: %t
  jobTemplate:
    spec:
      template:
        spec:
          restartPolicy: Never
          containers: [{name: main, image: "registry.example/task:1"}]
`, schedule, suspended)
}

// scaler is an HPA of Deployment web.
func scaler(least, most int) string {
	return fmt.Sprintf(`apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata: {name: web}
spec:
  minReplicas: %d
  maxReplicas: %d
  scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: web}
  metrics: [{type: Resource, resource: {name: cpu, target: {type: Utilization, averageUtilization: 50}}}]
`, least, most)
}

// service is Service web.
func service(port int) string {
	return fmt.Sprintf(`apiVersion: v1
kind: Service
metadata: {name: web}
spec:
  selector: {app: web}
  ports: [{port: %d}]
`, port)
}

// unready is a further line of a Service.
const unready = "  publishNotReadyAddresses: true\n"

// settingsMap is ConfigMap settings.
func settingsMap(value string) string {
	return fmt.Sprintf("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: settings}\ndata: {value: %q}\n", value)
}

// volume is a PersistentVolumeClaim without a provisioner.
const volume = `apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: data}
spec:
  accessModes: [ReadWriteOnce]
  storageClassName: none
  resources: {requests: {storage: 1Gi}}
`
