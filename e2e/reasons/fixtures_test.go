// SPDX-License-Identifier: Apache-2.0

package reasons

import (
	"net/http"
	"strings"

	"github.com/kube-lifeline/lifeline/e2e/internal/harness"
)

// fine, stuck and failed are the exit codes of lifeline why. A held object, and one with a refused request, is fine.
const (
	fine   = 0
	stuck  = 3
	failed = 4
)

// fixtures are in the order of the families of package reason.
var fixtures = []fixture{
	{"too much CPU", "unschedulable_cpu", "Insufficient cpu", "deploy/web",
		deployment("IMAGE", "resources: {requests: {cpu: 9k}}", "", ""), nil, stuck},
	{"too much memory", "unschedulable_memory", "Insufficient memory", "pod/web",
		pod("IMAGE", "resources: {requests: {memory: 900Ti}}", ""), nil, stuck},
	{"a resource that no node has", "unschedulable_resource", "Insufficient example.com/gpu", "pod/web",
		pod("IMAGE", `resources: {limits: {example.com/gpu: "1"}}`, ""), nil, stuck},
	{"a node selector", "unschedulable_node_selector", "node affinity/selector", "pod/web",
		pod("IMAGE", "", "nodeSelector: {disk: fast}"), nil, stuck},
	{"an affinity to a Pod that is not there", "unschedulable_affinity", "pod affinity rules", "pod/web",
		pod("IMAGE", "", `affinity: {podAffinity: {requiredDuringSchedulingIgnoredDuringExecution: `+
			`[{topologyKey: kubernetes.io/hostname, labelSelector: {matchLabels: {app: none}}}]}}`), nil, stuck},
	{"a topology spread without its label", "unschedulable_topology_spread", "topology spread", "pod/web",
		pod("IMAGE", "", `topologySpreadConstraints: [{maxSkew: 1, topologyKey: example.com/rack, `+
			`whenUnsatisfiable: DoNotSchedule}]`), nil, stuck},
	{
		"a host port in use",
		"unschedulable_port",
		"free ports",
		"pod/web",
		strings.Replace(
			pod("IMAGE", "ports: [{containerPort: 80, hostPort: 18080}]", ""),
			"name: web",
			"name: first",
			1,
		) +
			"---\n" + pod("IMAGE", "ports: [{containerPort: 80, hostPort: 18080}]", ""),
		nil,
		stuck,
	},
	{"a claim that is not there", "claim_missing", `persistentvolumeclaim "data" not found`, "pod/web",
		pod("IMAGE", "", "volumes: [{name: v, persistentVolumeClaim: {claimName: data}}]"), nil, stuck},
	{"a volume that another Pod has for itself", "unschedulable", "ReadWriteOncePod access mode", "pod/second", "",
		func(p *play) {
			p.apply(strings.ReplaceAll(volume("")+"---\n"+bound, "ReadWriteOnce", "ReadWriteOncePod"))
			p.apply(mounting("web", ""))
			p.kubectl("wait", "--for=condition=PodScheduled", "pod/web", "--timeout=60s")
			p.apply(mounting("second", ""))
		}, stuck},
	{"a scheduling gate", "scheduling_gated", "scheduling gates example.com/wait", "pod/web",
		pod("IMAGE", "", "schedulingGates: [{name: example.com/wait}]"), nil, stuck},

	{"a volume of another node", "unschedulable_volume_zone", "node affinity", "pod/web", "", func(p *play) {
		p.apply(volume("nodeAffinity: {required: {nodeSelectorTerms: [{matchExpressions: " +
			"[{key: kubernetes.io/hostname, operator: In, values: [none]}]}]}}"))
		p.apply(bound + "---\n" + pod("IMAGE", "", "volumes: [{name: v, persistentVolumeClaim: {claimName: data}}]"))
	}, stuck},
	{"a Pod of higher priority", "preempted", "is preempted by Pod urgent on node", "pod/web", "", func(p *play) {
		p.apply("apiVersion: scheduling.k8s.io/v1\nkind: PriorityClass\nmetadata: {name: NS}\nvalue: 1000\n")
		web := pod("IMAGE", "ports: [{containerPort: 80, hostPort: 18081}], env: [{name: TERM_DELAY, value: 10m}]", "")
		p.apply(strings.Replace(web, "Seconds: 1,", "Seconds: 600,", 1))
		p.kubectl("wait", "--for=condition=Ready", "pod/web", "--timeout=120s")
		urgent := pod("IMAGE", "ports: [{containerPort: 80, hostPort: 18081}]", "priorityClassName: NS")
		p.apply(strings.Replace(urgent, "name: web", "name: urgent", 1))
	}, stuck},

	{"a quota", "quota_exceeded", "exceeded quota: few", "deploy/web",
		"apiVersion: v1\nkind: ResourceQuota\nmetadata: {name: few}\nspec: {hard: {pods: \"0\"}}\n---\n" +
			deployment("IMAGE", "", "", ""), nil, stuck},
	{
		"a limit range",
		"limit_range",
		"usage per Container",
		"deploy/web",
		"apiVersion: v1\nkind: LimitRange\nmetadata: {name: small}\nspec: {limits: [{type: Container, max: {cpu: " +
			"10m}}]}\n---\n" +
			deployment("IMAGE", "resources: {limits: {cpu: 20m}}", "", ""),
		nil,
		stuck,
	},
	{"Pod Security", "pod_security", "violates PodSecurity", "deploy/web", "", func(p *play) {
		p.kubectl("label", "namespace", "NS", "pod-security.kubernetes.io/enforce=restricted")
		p.apply(deployment("IMAGE", "", "hostNetwork: true", ""))
	}, stuck},
	{"no service account", "service_account_missing", "service account", "deploy/web",
		deployment("IMAGE", "", "serviceAccountName: none", ""), nil, stuck},
	{"an admission policy", "refused_by_policy", "denied request", "deploy/web", "", func(p *play) {
		p.apply(policy)
		p.awaitRefusal()
		p.apply(deployment("IMAGE", "", "", ""))
	}, stuck},
	{"a webhook without a backend", "webhook_unavailable", "failed calling webhook", "deploy/web", "", func(p *play) {
		p.apply(webhook)
		p.awaitRefusal()
		p.apply(deployment("IMAGE", "", "", ""))
	}, stuck},

	{
		"a webhook that refuses",
		"refused_by_webhook",
		`admission webhook "NS.example.com" denied the request`,
		"deploy/web",
		"",
		func(p *play) {
			p.applyFilled(p.refusingWebhook())
			p.awaitRefusal()
			p.apply(deployment("IMAGE", "", "", ""))
		},
		stuck,
	},
	{"a name too long for the labels of its Pods", "invalid", "is invalid", "sts/" + longName,
		strings.Replace(statefulSet("IMAGE", ""), "name: web", "name: "+longName, 1), nil, stuck},
	{"an invalid change", "invalid", "spec.selector", "deploy/web",
		deployment("IMAGE", "", "", ""), func(p *play) {
			p.kubectl("rollout", "status", "deploy/web", "--timeout=120s")
			p.settle()
			p.refused("", "patch", "deploy/web", "-p", `{"spec":{"selector":{"matchLabels":{"app":"other"}}}}`)
		}, fine},
	{"a change without the right", "forbidden", "cannot delete resource", "serviceaccount/web",
		"apiVersion: v1\nkind: ServiceAccount\nmetadata: {name: web}\n", func(p *play) {
			p.settle()
			p.refused("", "delete", "serviceaccount/web", "--as=jane")
		}, fine},
	{"a change of an old version", "conflict", "the object has been modified", "serviceaccount/web",
		"apiVersion: v1\nkind: ServiceAccount\nmetadata: {name: web}\n", func(p *play) {
			p.settle()
			p.refused(
				"apiVersion: v1\nkind: ServiceAccount\nmetadata: {name: web, resourceVersion: \"1\", labels: {a: b}}\n",
				"replace",
				"-f",
				"-",
			)
		}, fine},
	{"a change that is too large", "refused", "of ConfigMap web was refused: RequestEntityTooLarge", "configmap/web",
		emptyMap, func(p *play) {
			p.settle()
			p.refused(emptyMap+"data: {a: "+strings.Repeat("a", 4<<20)+"}\n", "replace", "-f", "-")
		}, fine},
	{"an eviction against a budget", "disruption_budget", "PodDisruptionBudget web needs", "pod/web",
		budget + "---\n" + labelled(pod("IMAGE", "", "")), func(p *play) {
			p.kubectl("wait", "--for=condition=Ready", "pod/web", "--timeout=120s")
			p.settle()
			p.refused(`{"apiVersion":"policy/v1","kind":"Eviction","metadata":{"name":"web"}}`,
				"create", "--raw", "/api/v1/namespaces/NS/pods/web/eviction", "-f", "-")
		}, fine},
	{"a budget without room", "disruption_budget", "allows no eviction", "pdb/web",
		budget + "---\n" + labelled(pod("IMAGE", "", "")), nil, stuck},

	{"an image that does not exist", "image_not_found", "cannot pull image REGISTRY/none:1 of container app: not found",
		"deploy/web", deployment("REGISTRY/none:1", "", "", ""), nil, stuck},
	{"a registry that does not answer", "registry_unreachable", "connection refused", "pod/web",
		pod("127.0.0.1:1/web:1", "", ""), nil, stuck},
	{"a registry that wants credentials", "image_unauthorized", "cannot pull image", "pod/web", "", func(p *play) {
		p.apply(pod(p.registry(http.StatusUnauthorized)+"/web:1", "", ""))
	}, stuck},
	{"a registry that fails", "image_pull", "cannot pull image", "pod/web", "", func(p *play) {
		p.apply(pod(p.registry(http.StatusInternalServerError)+"/web:1", "", ""))
	}, stuck},
	{
		"an image without a valid name",
		"image_invalid",
		"cannot pull image",
		"pod/web",
		pod("web:1:2", "", ""),
		nil,
		stuck,
	},
	{"an image that may not be pulled", "image_never_pulled", "cannot pull image", "pod/web",
		pod("REGISTRY/none:2", "imagePullPolicy: Never", ""), nil, stuck},
	{"no ConfigMap for the environment", "config_map_missing", `configmap "none" not found`, "pod/web",
		pod("IMAGE", "envFrom: [{configMapRef: {name: none}}]", ""), nil, stuck},
	{"no Secret for the environment", "secret_missing", `secret "none" not found`, "pod/web",
		pod("IMAGE", "envFrom: [{secretRef: {name: none}}]", ""), nil, stuck},
	{"no such key in a ConfigMap", "key_missing", "couldn't find key none", "pod/web",
		"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: settings}\n---\n" +
			pod(
				"IMAGE",
				"env: [{name: A, valueFrom: {configMapKeyRef: {name: settings, key: none}}}]",
				"",
			), nil, stuck},
	{
		"no ConfigMap for a volume",
		"config_map_missing",
		`configmap "none" not found`,
		"pod/web",
		pod("IMAGE", "volumeMounts: [{name: v, mountPath: /v}]", "volumes: [{name: v, configMap: {name: none}}]"),
		nil,
		stuck,
	},
	{
		"no driver for a volume",
		"volume_driver_missing",
		"cannot mount a volume",
		"pod/web",
		pod(
			"IMAGE",
			"volumeMounts: [{name: v, mountPath: /v}]",
			"volumes: [{name: v, csi: {driver: none.example.com}}]",
		),
		nil,
		stuck,
	},
	{"a directory that is not there", "volume_not_mounted", "cannot mount a volume", "pod/web",
		pod("IMAGE", "volumeMounts: [{name: v, mountPath: /v}]",
			"volumes: [{name: v, hostPath: {path: /proc/none, type: Directory}}]"), nil, stuck},
	{"a user that may not run", "container_not_started", "cannot create container app", "pod/web",
		pod("IMAGE", "securityContext: {runAsNonRoot: true}", ""), nil, stuck},
	{"no such command", "invalid_command", "cannot start container app: no such file or directory", "deploy/web",
		deployment("IMAGE", "command: [/none]", "", ""), nil, stuck},
	{"an init container that fails", "init_failed", "init container first exited with code 3", "pod/web",
		pod("IMAGE", "", `initContainers: [{name: first, image: "IMAGE", `+crashes+`}]`), nil, stuck},
	{
		"a sysctl with a wrong value",
		"sandbox_failed",
		"cannot create its sandbox",
		"pod/web",
		pod("IMAGE", "", "securityContext: {sysctls: [{name: net.ipv4.ip_local_port_range, value: none}]}"),
		nil,
		stuck,
	},
	{"a volume that cannot be attached", "volume_not_attached", "cannot attach a volume: context deadline exceeded",
		"pod/web", "", func(p *play) {
			p.apply(disk + "---\n" + mounting("web", ""))
			p.attachment(`{"attached":false,"attachError":{"time":"2026-01-02T03:04:05Z","message":` +
				`"rpc error: code = DeadlineExceeded desc = context deadline exceeded"}}`)
		}, stuck},
	{"no such runtime", "runtime_class_missing", "cannot create its sandbox", "pod/web", "", func(p *play) {
		p.apply("apiVersion: node.k8s.io/v1\nkind: RuntimeClass\nmetadata: {name: NS}\nhandler: none\n")
		p.apply(pod("IMAGE", "", "runtimeClassName: NS"))
	}, stuck},

	{"a crash loop", "crash_loop", "container app exited with code 3", "deploy/web",
		deployment("IMAGE", crashes+", readinessProbe: "+probed+"1}", "", ""), nil, stuck},
	{"a Pod in a crash loop", "crash_loop", "container app exited with code 3", "pod/web",
		pod("IMAGE", crashes, ""), nil, failed},
	{"too little memory", "out_of_memory", "container app was killed: out of memory", "deploy/web",
		deployment("IMAGE", `resources: {limits: {memory: 24Mi}}, env: [{name: MEMORY, value: "200"}]`, "",
			"  minReadySeconds: 60\n"), nil, stuck}, // on a slow machine the container lives for seconds
	{"a liveness probe", "liveness_probe", "the liveness probe stops container app", "deploy/web",
		deployment("IMAGE", "livenessProbe: "+probed+"1}, readinessProbe: "+probed+"1}", "", ""), nil, stuck},
	{"a startup probe that gives up", "startup_probe", "the startup probe stops container app", "deploy/web",
		deployment("IMAGE", "startupProbe: "+probed+"1}", "", ""), nil, stuck},
	{"too much local storage", "evicted", "Evicted", "pod/web",
		// If the container ended without an error, the phase would be Succeeded.
		pod("IMAGE", `env: [{name: TERM_DELAY, value: 10m}], resources: {limits: {ephemeral-storage: "1"}}, `+
			`volumeMounts: [{name: v, mountPath: /v}]`,
			`volumes: [{name: v, emptyDir: {sizeLimit: "1"}}]`), nil, failed},
	{"a readiness probe", "readiness_probe", "Readiness probe failed", "deploy/web",
		deployment("IMAGE", "readinessProbe: "+probed+"1}", "", ""), nil, stuck},
	{"a startup probe", "startup_probe", "Startup probe failed", "deploy/web",
		deployment("IMAGE", "startupProbe: "+probed+"300}", "", ""), nil, stuck},
	{"a readiness gate", "readiness_gate", "readiness gate", "pod/web",
		pod("IMAGE", "", "readinessGates: [{conditionType: example.com/ready}]"), nil, stuck},
	{"a Pod that fails", "pod_failed", "container app exited with code 3", "pod/web",
		pod("IMAGE", crashes, "restartPolicy: Never"), nil, failed},
	{
		"a resize beyond the node's policy",
		"resize_infeasible",
		"cannot be resized",
		"pod/web",
		pod("IMAGE", "resources: {requests: {cpu: 10m, memory: 32Mi}, limits: {cpu: 10m, memory: 32Mi}}", ""),
		func(p *play) {
			p.kubectl("wait", "--for=condition=Ready", "pod/web", "--timeout=120s")
			p.kubectl("patch", "pod/web", "--subresource=resize", "-p", `{"spec":{"containers":[{"name":"app",`+
				`"resources":{"requests":{"cpu":"20m"},"limits":{"cpu":"20m"}}}]}}`)
		},
		failed,
	},
	{
		"an ephemeral container without its image",
		"ephemeral_container",
		"ephemeral container debugger: REGISTRY/none:3: not found",
		"pod/web",
		pod("IMAGE", "", ""),
		func(p *play) {
			p.kubectl("wait", "--for=condition=Ready", "pod/web", "--timeout=120s")
			p.kubectl("debug", "pod/web", "--image=REGISTRY/none:3", "--container=debugger")
		},
		stuck,
	},

	{"a progress deadline", "readiness_probe", "exceeded its progress deadline: Pod web", "deploy/web",
		deployment("IMAGE", "readinessProbe: "+probed+"1}", "", "  progressDeadlineSeconds: 45\n"), nil, failed},
	{
		"a paused rollout",
		"paused",
		"is paused",
		"deploy/web",
		deployment("IMAGE", "", "", "  paused: true\n"),
		nil,
		fine,
	},
	{"a StatefulSet's broken Pod before a new one", "stateful_set_ordinal", "waits for Pod web-0, which", "sts/web",
		statefulSet("REGISTRY/none:4", ""), func(p *play) {
			p.kubectl("wait", "--for=create", "pod/web-0", "--timeout=60s")
			p.kubectl("scale", "sts/web", "--replicas=2")
		}, stuck},
	{"a StatefulSet's broken Pod after a rollback", "stateful_set_ordinal", "waits for Pod web-0, which", "sts/web",
		statefulSet("IMAGE", ""), func(p *play) {
			p.kubectl("rollout", "status", "sts/web", "--timeout=120s")
			p.kubectl("set", "image", "sts/web", "app=REGISTRY/none:5")
			p.kubectl(
				"wait",
				"--for=jsonpath={.spec.containers[0].image}=REGISTRY/none:5",
				"pod/web-0",
				"--timeout=60s",
			)
			p.kubectl("rollout", "undo", "sts/web")
		}, stuck},
	{"a DaemonSet without a node", "daemon_set_nodes", "runs on no node", "ds/web",
		daemonSet("IMAGE", "nodeSelector: {disk: fast}"), nil, stuck},
	{"a DaemonSet's broken Pod", "daemon_set_nodes", "misses 1 of 1 nodes: Pod web-", "ds/web",
		daemonSet("REGISTRY/none:6", ""), func(p *play) {
			p.kubectl("wait", "--for=jsonpath={.status.currentNumberScheduled}=1", "ds/web", "--timeout=60s")
			p.kubectl("patch", "ds/web", "-p", `{"spec":{"minReadySeconds":1}}`)
		}, stuck},
	{"a suspended CronJob", "suspended", "is suspended", "cronjob/work", cronJob("  suspend: true\n"), nil, fine},
	{"a suspended Job", "suspended", "is suspended", "job/work", job("env: []", "  suspend: true\n"), nil, fine},
	{"a CronJob whose last Job still runs", "start_forbidden", "the last one still runs", "cronjob/work",
		cronJob("  concurrencyPolicy: Forbid\n"), func(p *play) {
			p.kubectl("wait", "--for=jsonpath={.status.active}", "cronjob/work", "--timeout=120s")
		}, fine},
	{"a CronJob that misses a start", "start_missed", "has missed a start: Missed scheduled time", "cronjob/work",
		yearly, func(p *play) { p.apply(strings.Replace(missed, "UID", p.uid("cronjob/work"), 1)) }, stuck},
	{"a CronJob whose Job is refused", "quota_exceeded", "cannot create its Jobs", "cronjob/work",
		"apiVersion: v1\nkind: ResourceQuota\nmetadata: {name: few}\nspec: {hard: {count/jobs.batch: \"0\"}}\n---\n" +
			cronJob(""), nil, stuck},
	{"an autoscaler without its target", "scale_target", "cannot scale", "hpa/web", autoscaler, nil, stuck},
	{"an autoscaler without its metric", "scale_metric", "cannot read a metric", "hpa/web",
		autoscaler + "---\n" + deployment("IMAGE", "", "", ""), nil, stuck},
	{"an autoscaler at its maximum", "scale_limited", "has reached its maximum of 1 replicas", "hpa/web",
		strings.Replace(autoscaler, "maxReplicas: 3", "maxReplicas: 1", 1) + "---\n" +
			deployment("IMAGE", `resources: {requests: {cpu: 1m}}, env: [{name: BUSY, value: 2m}]`, "", ""),
		nil, stuck},
	{"a back-off limit", "job_backoff_limit", "Job has reached the specified backoff limit", "job/work",
		job(crashes, "  backoffLimit: 0\n"), nil, failed},
	{"a Job that tries again", "job_retry", "Job work tries again after Pod work-", "job/work",
		job(crashes, "  backoffLimit: 6\n"), nil, stuck},
	{"a Job's deadline", "job_deadline", "Job was active longer than specified deadline", "job/work",
		job("env: []", "  activeDeadlineSeconds: 2\n"), nil, failed},
	{"a Job that fails by another controller", "job_failed", "Job work failed", "job/work",
		job("env: []", "  managedBy: example.com/jobs\n"), func(p *play) {
			condition := `"status":"True","reason":"Other","lastTransitionTime":"2026-01-02T03:04:05Z"}`
			p.kubectl("patch", "job/work", "--subresource=status", "--type=merge", "-p",
				`{"status":{"startTime":"2026-01-02T03:04:05Z","conditions":[{"type":"FailureTarget",`+condition+
					`,{"type":"Failed",`+condition+`]}}`)
		}, failed},
	{"a failure policy", "job_failure_policy", "failed", "job/work",
		job(crashes, "  podFailurePolicy: {rules: [{action: FailJob, onExitCodes: {operator: In, values: [3]}}]}\n"),
		nil, failed},
	{
		"a Job's index",
		"job_index_failed",
		"failed",
		"job/work",
		job(crashes, "  completions: 2\n  parallelism: 2\n  completionMode: Indexed\n  backoffLimitPerIndex: 0\n"),
		nil,
		failed,
	},

	{
		"no load balancer",
		"load_balancer",
		"waits for the address of a load balancer",
		"service/web",
		"apiVersion: v1\nkind: Service\nmetadata: {name: web}\nspec: {type: LoadBalancer, ports: [{port: 80}]}\n",
		nil,
		stuck,
	},

	{"an Ingress without an address", "load_balancer", "waits for the address", "ingress/web", service,
		(*play).awaitAddress, stuck},
	{"an Ingress without its Service", "reference_missing", "names Service web, which does not exist", "ingress/web",
		ingress("", "web"), nil, stuck},
	{"an Ingress of an unknown class", "reference_missing", "names IngressClass none, which does not exist",
		"ingress/web", ingress("ingressClassName: none, ", "web") + "---\n" + service, nil, stuck},
	{"a selector without Pods", "no_endpoints", "no Pod has the label app=web", "service/web", service, nil, stuck},
	{
		"a Service without a ready Pod",
		"endpoints_unready",
		"none of the Pods with the label app=web is ready",
		"service/web",
		service + "---\n" + deployment("IMAGE", "readinessProbe: "+probed+"1}", "", ""),
		nil,
		stuck,
	},

	{"no storage class", "claim_without_class", "no storage class is set", "pvc/data", claim(""), nil, stuck},
	{"no such storage class", "claim_without_class", `storageclass`, "pvc/data", claim("none"), nil, stuck},
	{"no provisioner", "claim_unprovisioned", "provisioner none.example.com", "pvc/data", "", func(p *play) {
		p.apply(unprovisioned + "---\n" + claim("NS"))
	}, stuck},
	{"a Pod whose claim has no provisioner", "volume_not_bound",
		"Pod web waits for PersistentVolumeClaim data, which waits for provisioner none.example.com", "pod/web", "",
		func(p *play) { p.apply(unprovisioned + "---\n" + claim("NS") + "---\n" + mounting("web", "")) }, stuck},
	{"a StatefulSet whose claims have no provisioner", "claim_unprovisioned",
		"PersistentVolumeClaim data-web-0 waits for provisioner none.example.com", "sts/web", "", func(p *play) {
			p.apply(unprovisioned + "---\n" + claiming("NS"))
		}, stuck},
	{"a claim without a Pod", "claim_unused", "waits for a Pod that uses it", "pvc/data", "", func(p *play) {
		p.apply(
			"apiVersion: storage.k8s.io/v1\nkind: StorageClass\nmetadata: {name: NS}\nprovisioner: none.example.com\n" +
				"volumeBindingMode: WaitForFirstConsumer\n",
		)
		p.apply(claim("NS"))
	}, fine},

	{"a volume of another claim", "claim_unbound", "cannot be bound", "pvc/data", "", func(p *play) {
		p.apply(strings.ReplaceAll(volume(""), "name: data", "name: other"))
		p.apply(bound)
	}, stuck},
	{"a lost volume", "claim_lost", "has lost its volume", "pvc/data", "", func(p *play) {
		p.apply(volume(""))
		p.apply(bound)
		p.kubectl("wait", "--for=jsonpath={.status.phase}=Bound", "pvc/data", "--timeout=60s")
		p.kubectl("patch", "pv/NS", "-p", `{"metadata":{"finalizers":null}}`)
		p.kubectl("delete", "pv/NS", "--wait=false")
		// Its finalizer may have come back before the deletion.
		_, _ = bench.RunKubectl(p.t.Context(), nil, "patch", "pv/"+p.ns, "-p", `{"metadata":{"finalizers":null}}`)
	}, stuck},

	{"a volume whose claim is deleted", "volume_released", "is released", "pv/NS", "", func(p *play) {
		p.apply(volume("") + "---\n" + bound)
		p.kubectl("wait", "--for=jsonpath={.status.phase}=Bound", "pvc/data", "--timeout=60s")
		p.kubectl("delete", "pvc/data", "--wait=false")
	}, stuck},
	{"a volume that cannot be deleted", "volume_failed", "PersistentVolume NS failed", "pv/NS", "", func(p *play) {
		p.apply(volume("persistentVolumeReclaimPolicy: Delete") + "---\n" + bound)
		p.kubectl("wait", "--for=jsonpath={.status.phase}=Bound", "pvc/data", "--timeout=60s")
		p.kubectl("delete", "pvc/data", "--wait=false")
	}, failed},
	{"a larger claim without a resizer", "volume_resize", "waits for an external controller", "pvc/data", "",
		func(p *play) {
			p.apply("apiVersion: storage.k8s.io/v1\nkind: StorageClass\nmetadata: {name: NS}\n" +
				"provisioner: none.example.com\nallowVolumeExpansion: true\n")
			p.apply(volume("storageClassName: NS") + "---\n" +
				strings.Replace(bound, `storageClassName: ""`, "storageClassName: NS", 1))
			p.kubectl("wait", "--for=jsonpath={.status.phase}=Bound", "pvc/data", "--timeout=60s")
			p.kubectl("patch", "pvc/data", "-p", `{"spec":{"resources":{"requests":{"storage":"2Gi"}}}}`)
		}, stuck},

	{"a finalizer", "finalizer", "waits for finalizer example.com/keep", "configmap/web",
		"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: web, finalizers: [example.com/keep]}\n", func(p *play) {
			p.kubectl("delete", "configmap/web", "--wait=false")
		}, stuck},
	{"content of a Namespace", "finalizer", "ConfigMap web waits for finalizer example.com/keep", "namespace/NS",
		"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: web, finalizers: [example.com/keep]}\n", func(p *play) {
			p.kubectl("delete", "namespace", "NS", "--wait=false")
		}, stuck},

	{"a Namespace with a Secret that stays", "namespace_content", "example.com/keep in 1 resource instances",
		"namespace/NS", keptSecret, func(p *play) { p.kubectl("delete", "namespace", "NS", "--wait=false") }, stuck},
	{"a dependant that stays", "dependants", "waits for the deletion of its dependants", "configmap/web",
		emptyMap, func(p *play) {
			p.apply(strings.Replace(keptSecret, "metadata: {", "metadata: {ownerReferences: [{apiVersion: v1, "+
				"kind: ConfigMap, name: web, uid: "+p.uid("configmap/web")+", blockOwnerDeletion: true}], ", 1))
			p.kubectl("delete", "configmap/web", "--cascade=foreground", "--wait=false")
		}, stuck},

	{"a certificate without its signer", "certificate_unsigned", "waits for signer example.com/NS", "csr/NS", "",
		func(p *play) {
			p.applyFilled(p.signingRequest())
			p.kubectl("certificate", "approve", "NS")
		}, stuck},
	{
		"a custom kind with the name of another",
		"not_established",
		"is already in use”",
		"crd/gearNSs.example.com",
		"",
		func(p *play) {
			p.apply(harness.CustomKind("Cog"+p.ns, "example.com"))
			p.kubectl("wait", "--for=condition=Established", "crd/cogNSs.example.com", "--timeout=60s")
			p.apply(strings.Replace(harness.CustomKind("Gear"+p.ns, "example.com"), "kind: Gear", "kind: Cog", 1))
		},
		failed,
	},
	{"a Helm release that failed", "helm_release", "failed, as Helm reports",
		"configmap/sh.helm.release.v1.web.v1", release, nil, failed},
	{
		"a custom kind with a condition",
		"condition_false",
		"is not ready: “the build is broken”",
		"widgetNS/one",
		"",
		func(p *play) {
			p.apply(harness.CustomKind("Widget"+p.ns, "example.com"))
			p.kubectl("wait", "--for=condition=Established", "crd/widgetNSs.example.com", "--timeout=60s")
			p.apply("apiVersion: example.com/v1\nkind: WidgetNS\nmetadata: {name: one}\nspec: {size: 1}\n")
			p.kubectl(
				"patch",
				"widgetNS/one",
				"--subresource=status",
				"--type=merge",
				"-p",
				`{"status":{"observedGeneration":1,`+
					`"conditions":[{"type":"Ready","status":"False","reason":"BuildFailed","message":"the build `+
					`is broken",`+
					`"lastTransitionTime":"2026-01-02T03:04:05Z"}]}}`,
			)
		},
		stuck,
	},
}
