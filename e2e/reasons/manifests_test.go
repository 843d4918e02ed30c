// SPDX-License-Identifier: Apache-2.0

package reasons

import "strings"

// pod is the manifest of Pod web. container are more fields of its container, spec more fields of its
// spec; both are in flow style.
func pod(image, container, spec string) string {
	if container != "" {
		container = ", " + container
	}
	if spec != "" {
		spec = ", " + spec
	}
	return `apiVersion: v1
kind: Pod
metadata: {name: web}
spec: {terminationGracePeriodSeconds: 1, containers: [{name: app, image: "` + image + `"` + container + `}]` + spec + `}
`
}

// deployment is the manifest of a Deployment of that Pod. more are further fields of its spec.
func deployment(image, container, spec, more string) string {
	body := pod(image, container, spec)
	_, body, _ = strings.Cut(body, "spec: ")
	return `apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  selector: {matchLabels: {app: web}}
` + more + `  template:
    metadata: {labels: {app: web}}
    spec: ` + body
}

// job is the manifest of Job work, whose container fails. more are further fields of its spec.
func job(container, more string) string {
	return `apiVersion: batch/v1
kind: Job
metadata: {name: work}
spec:
` + more + `  template:
    spec: {restartPolicy: Never, containers: [{name: app, image: "IMAGE", ` + container + `}]}
`
}

// claim is the manifest of claim data of that class.
func claim(class string) string {
	return `apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: data}
spec: {accessModes: [ReadWriteOnce], storageClassName: "` + class + `", resources: {requests: {storage: 1Gi}}}
`
}

// statefulSet is the manifest of StatefulSet web of that Pod. spec are more fields of the Pod's spec.
func statefulSet(image, spec string) string {
	text := deployment(image, "", spec, "  serviceName: web\n")
	return strings.Replace(text, "kind: Deployment", "kind: StatefulSet", 1)
}

// claiming is the manifest of StatefulSet web with a claim template of that storage class.
func claiming(class string) string {
	return statefulSet("IMAGE", "") + `  volumeClaimTemplates:
  - metadata: {name: data}
    spec: {accessModes: [ReadWriteOnce], storageClassName: "` + class + `", resources: {requests: {storage: 1Gi}}}
`
}

// unprovisioned is a storage class whose provisioner does not run.
const unprovisioned = `apiVersion: storage.k8s.io/v1
kind: StorageClass
metadata: {name: NS}
provisioner: none.example.com
`

// daemonSet is the manifest of DaemonSet web of that Pod. spec are more fields of the Pod's spec.
func daemonSet(image, spec string) string {
	return strings.Replace(deployment(image, "", spec, ""), "kind: Deployment", "kind: DaemonSet", 1)
}

// cronJob is the manifest of CronJob work. Its Job begins each minute and does not end. more are
// further fields of its spec.
func cronJob(more string) string {
	return `apiVersion: batch/v1
kind: CronJob
metadata: {name: work}
spec:
  schedule: "* * * * *"
` + more + `  jobTemplate:
    spec: {template: {spec: {restartPolicy: Never, containers: [{name: app, image: "IMAGE"}]}}}
`
}

// volume is the manifest of a volume for claim data. spec are more fields of its spec.
func volume(spec string) string {
	if spec != "" {
		spec = ", " + spec
	}
	return `apiVersion: v1
kind: PersistentVolume
metadata: {name: NS}
spec: {accessModes: [ReadWriteOnce], capacity: {storage: 1Gi}, claimRef: {name: data, namespace: NS},
  hostPath: {path: /none}` + spec + `}
`
}

// labelled is Pod web with the label of the Pods of Deployment web.
func labelled(pod string) string {
	return strings.Replace(pod, "{name: web}", "{name: web, labels: {app: web}}", 1)
}

// longName is valid for a StatefulSet. With the revision, it is too long for a label.
var longName = strings.Repeat("long-", 11) + "web"

const (
	// bound is the manifest of a claim of the volume.
	bound = `apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: data}
spec: {accessModes: [ReadWriteOnce], storageClassName: "", volumeName: NS, resources: {requests: {storage: 1Gi}}}
`
	service = `apiVersion: v1
kind: Service
metadata: {name: web}
spec: {selector: {app: web}, ports: [{port: 80}]}
`
	budget = `apiVersion: policy/v1
kind: PodDisruptionBudget
metadata: {name: web}
spec: {minAvailable: 1, selector: {matchLabels: {app: web}}}
`
	autoscaler = `apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata: {name: web}
spec:
  scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: web}
  maxReplicas: 3
  metrics: [{type: Resource, resource: {name: cpu, target: {type: Utilization, averageUtilization: 50}}}]
`
)

const (
	// lostNode is a Node without a kubelet. Its annotation lets the controller attach volumes to it.
	lostNode = `apiVersion: v1
kind: Node
metadata: {name: NS, annotations: {volumes.kubernetes.io/controller-managed-attach-detach: "true"}}
spec: {taints: [{key: example.com/keep, effect: NoSchedule}]}
`
	// disk is a claim with a volume of a driver without a program. The test attaches it instead.
	disk = `apiVersion: storage.k8s.io/v1
kind: CSIDriver
metadata: {name: NS.example.com}
spec: {attachRequired: true, podInfoOnMount: false}
---
apiVersion: v1
kind: PersistentVolume
metadata: {name: NS}
spec: {accessModes: [ReadWriteOnce], capacity: {storage: 1Gi}, claimRef: {name: data, namespace: NS},
  csi: {driver: NS.example.com, volumeHandle: disk}}
---
` + bound
)

// mounting is the manifest of a Pod with the claim. spec are more fields of its spec.
func mounting(name, spec string) string {
	text := pod("IMAGE", "volumeMounts: [{name: v, mountPath: /v}]",
		"volumes: [{name: v, persistentVolumeClaim: {claimName: data}}]"+spec)
	return strings.Replace(text, "{name: web}", "{name: "+name+"}", 1)
}

// ingress is the manifest of Ingress web for that Service. spec are more fields of its spec.
func ingress(spec, service string) string {
	return `apiVersion: networking.k8s.io/v1
kind: Ingress
metadata: {name: web}
spec: {` + spec + `defaultBackend: {service: {name: ` + service + `, port: {number: 80}}}}
`
}

const (
	crashes = `env: [{name: LIFETIME, value: 100ms}, {name: EXIT_CODE, value: "3"}]`
	probed  = `{httpGet: {port: 1, path: /}, periodSeconds: 1, failureThreshold: `
)

// policy refuses all Pods of the namespace.
const policy = `apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: NS}
spec:
  matchConstraints:
    namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: NS}}
    resourceRules: [{apiGroups: [""], apiVersions: [v1], operations: [CREATE], resources: [pods]}]
  validations: [{expression: "false", message: no Pods here}]
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {name: NS}
spec: {policyName: NS, validationActions: [Deny]}
`

// webhook asks a Service that is not there about all Pods of the namespace.
const webhook = `apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingWebhookConfiguration
metadata: {name: NS}
webhooks:
  - name: NS.example.com
    sideEffects: None
    admissionReviewVersions: [v1]
    timeoutSeconds: 1
    clientConfig: {service: {namespace: NS, name: none}}
    namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: NS}}
    rules: [{apiGroups: [""], apiVersions: [v1], operations: [CREATE], resources: [pods]}]
`

// yearly is a CronJob without a start in the time of the test, and missed the Event of a start that it
// missed. UID is that of the CronJob.
const (
	yearly = `apiVersion: batch/v1
kind: CronJob
metadata: {name: work}
spec:
  schedule: "0 0 1 1 *"
  jobTemplate:
    spec: {template: {spec: {restartPolicy: Never, containers: [{name: app, image: "IMAGE"}]}}}
`
	missed = `apiVersion: events.k8s.io/v1
kind: Event
metadata: {name: work}
eventTime: "2026-01-02T03:04:05.000000Z"
type: Warning
reason: MissSchedule
action: MissSchedule
note: "Missed scheduled time to start a job: Fri, 02 Jan 2026 03:04:00 UTC"
reportingController: cronjob-controller
reportingInstance: cronjob-controller
regarding: {apiVersion: batch/v1, kind: CronJob, name: work, namespace: NS, uid: UID}
`
)

const emptyMap = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: web}\n"

// keptSecret has a finalizer, and no server may watch it.
const keptSecret = `apiVersion: v1
kind: Secret
metadata: {name: kept, finalizers: [example.com/keep]}
`

// release is a revision as Helm stores it, without its content.
const release = `apiVersion: v1
kind: ConfigMap
metadata:
  name: sh.helm.release.v1.web.v1
  labels: {owner: helm, name: web, version: "1", status: failed}
data: {release: ""}
`
