// SPDX-License-Identifier: Apache-2.0

package reason

// Category is the stable name of a reason, the value of lifeline.reason on a root span.
type Category string

// The categories.
const (
	// Scheduling.
	Unschedulable               Category = "unschedulable"
	UnschedulableCPU            Category = "unschedulable_cpu"
	UnschedulableMemory         Category = "unschedulable_memory"
	UnschedulableResource       Category = "unschedulable_resource"
	UnschedulableNodeSelector   Category = "unschedulable_node_selector"
	UnschedulableAffinity       Category = "unschedulable_affinity"
	UnschedulableTaint          Category = "unschedulable_taint"
	UnschedulableCordon         Category = "unschedulable_cordon"
	UnschedulableTopologySpread Category = "unschedulable_topology_spread"
	UnschedulablePort           Category = "unschedulable_port"
	UnschedulableVolumeZone     Category = "unschedulable_volume_zone"
	UnschedulableNoNodes        Category = "unschedulable_no_nodes"
	SchedulingGated             Category = "scheduling_gated"
	SchedulerMissing            Category = "scheduler_missing"
	NodeMissing                 Category = "node_missing"
	Preempted                   Category = "preempted"
	// Refused writes.
	Refused               Category = "refused"
	QuotaExceeded         Category = "quota_exceeded"
	LimitRange            Category = "limit_range"
	PodSecurity           Category = "pod_security"
	RefusedByWebhook      Category = "refused_by_webhook"
	RefusedByPolicy       Category = "refused_by_policy"
	WebhookUnavailable    Category = "webhook_unavailable"
	ServiceAccountMissing Category = "service_account_missing"
	PriorityClassMissing  Category = "priority_class_missing"
	DisruptionBudget      Category = "disruption_budget"
	Forbidden             Category = "forbidden"
	Invalid               Category = "invalid"
	Conflict              Category = "conflict"
	// Start.
	ImagePull           Category = "image_pull"
	ImageNotFound       Category = "image_not_found"
	ImageUnauthorized   Category = "image_unauthorized"
	RegistryUnreachable Category = "registry_unreachable"
	ImageInvalid        Category = "image_invalid"
	ImageNeverPulled    Category = "image_never_pulled"
	ConfigMapMissing    Category = "config_map_missing"
	SecretMissing       Category = "secret_missing"
	KeyMissing          Category = "key_missing"
	ContainerNotStarted Category = "container_not_started"
	InvalidCommand      Category = "invalid_command"
	InitFailed          Category = "init_failed"
	SandboxFailed       Category = "sandbox_failed"
	RuntimeClassMissing Category = "runtime_class_missing"
	NetworkFailed       Category = "network_failed"
	ClaimMissing        Category = "claim_missing"
	VolumeNotBound      Category = "volume_not_bound"
	VolumeNotAttached   Category = "volume_not_attached"
	VolumeMultiAttach   Category = "volume_multi_attach"
	VolumeNotMounted    Category = "volume_not_mounted"
	VolumeDriverMissing Category = "volume_driver_missing"
	// Running.
	CrashLoop          Category = "crash_loop"
	OutOfMemory        Category = "out_of_memory"
	ReadinessProbe     Category = "readiness_probe"
	LivenessProbe      Category = "liveness_probe"
	StartupProbe       Category = "startup_probe"
	ReadinessGate      Category = "readiness_gate"
	Evicted            Category = "evicted"
	NodeLost           Category = "node_lost"
	PodFailed          Category = "pod_failed"
	ResizeInfeasible   Category = "resize_infeasible"
	ResizeDeferred     Category = "resize_deferred"
	EphemeralContainer Category = "ephemeral_container"
	// Workloads.
	ProgressDeadline Category = "progress_deadline"
	Paused           Category = "paused"
	Ordinal          Category = "stateful_set_ordinal"
	DaemonSetNodes   Category = "daemon_set_nodes"
	JobFailed        Category = "job_failed"
	JobRetry         Category = "job_retry"
	JobBackoffLimit  Category = "job_backoff_limit"
	JobDeadline      Category = "job_deadline"
	JobIndexFailed   Category = "job_index_failed"
	JobFailurePolicy Category = "job_failure_policy"
	JobManager       Category = "job_manager"
	Suspended        Category = "suspended"
	StartMissed      Category = "start_missed"
	StartForbidden   Category = "start_forbidden"
	ScaleTarget      Category = "scale_target"
	ScaleMetric      Category = "scale_metric"
	ScaleLimited     Category = "scale_limited"
	ScaleOff         Category = "scale_off"
	OnDelete         Category = "update_on_delete"
	Partition        Category = "update_partition"
	// Network.
	LoadBalancer     Category = "load_balancer"
	NoAddress        Category = "no_address"
	PortMissing      Category = "port_missing"
	NoEndpoints      Category = "no_endpoints"
	EndpointsUnready Category = "endpoints_unready"
	NotAccepted      Category = "not_accepted"
	NotProgrammed    Category = "not_programmed"
	ReferenceMissing Category = "reference_missing"
	// Storage.
	ClaimUnbound       Category = "claim_unbound"
	ClaimWithoutClass  Category = "claim_without_class"
	ClaimUnprovisioned Category = "claim_unprovisioned"
	ClaimUnused        Category = "claim_unused"
	ClaimLost          Category = "claim_lost"
	VolumeResize       Category = "volume_resize"
	VolumeFailed       Category = "volume_failed"
	VolumeReleased     Category = "volume_released"
	SnapshotFailed     Category = "snapshot_failed"
	// Deletion.
	Finalizer          Category = "finalizer"
	InUse              Category = "in_use"
	Dependants         Category = "dependants"
	NamespaceContent   Category = "namespace_content"
	TerminationOverdue Category = "termination_overdue"
	// Control plane.
	NodeNotReady          Category = "node_not_ready"
	NodeCordoned          Category = "node_cordoned"
	APIServiceUnavailable Category = "api_service_unavailable"
	NotEstablished        Category = "not_established"
	CertificateUnsigned   Category = "certificate_unsigned"
	// Other kinds.
	ConditionFalse Category = "condition_false"
	ArgoCD         Category = "argo_cd"
	Flux           Category = "flux"
	HelmRelease    Category = "helm_release"
	Certificate    Category = "cert_manager"
	ClusterAPI     Category = "cluster_api"
	Crossplane     Category = "crossplane"
	Kueue          Category = "kueue"
	Tekton         Category = "tekton"
)

// Row is a category with its family and its meaning.
type Row struct {
	Category        Category
	Family, Meaning string
}

// Names returns the names of all categories, in the order of Categories.
func Names() []Category {
	out := make([]Category, 0, len(Categories))
	for _, row := range Categories {
		out = append(out, row.Category)
	}
	return out
}

// Categories is the closed list, in the order of a Pod's life.
var Categories = []Row{
	{Unschedulable, "Scheduling", "no node fits, for a reason that is not in this list"},
	{UnschedulableCPU, "Scheduling", "most nodes have not enough CPU left"},
	{UnschedulableMemory, "Scheduling", "most nodes have not enough memory left"},
	{UnschedulableResource, "Scheduling", "most nodes have not enough of another resource left, or too many Pods"},
	{UnschedulableNodeSelector, "Scheduling", "most nodes do not match the node selector or the node affinity"},
	{UnschedulableAffinity, "Scheduling", "most nodes do not match the Pod's affinity or anti-affinity"},
	{UnschedulableTaint, "Scheduling", "most nodes have a taint that the Pod does not tolerate"},
	{UnschedulableCordon, "Scheduling", "most nodes are cordoned"},
	{UnschedulableTopologySpread, "Scheduling", "most nodes do not match the topology spread constraints"},
	{UnschedulablePort, "Scheduling", "most nodes have no free host port"},
	{UnschedulableVolumeZone, "Scheduling", "the volume is in another zone or on another node"},
	{UnschedulableNoNodes, "Scheduling", "the cluster has no node"},
	{SchedulingGated, "Scheduling", "the Pod has a scheduling gate"},
	{SchedulerMissing, "Scheduling", "the scheduler of the Pod does not react"},
	{NodeMissing, "Scheduling", "the node of the Pod does not exist"},
	{Preempted, "Scheduling", "a Pod of higher priority took the place"},
	{Refused, "Refused writes", "the API server refused a write, for a reason that is not in this list"},
	{QuotaExceeded, "Refused writes", "a ResourceQuota is used up, or needs a field"},
	{LimitRange, "Refused writes", "a LimitRange allows less or demands more, or its default limit is below a request"},
	{PodSecurity, "Refused writes", "the Namespace's Pod Security level does not allow the Pod"},
	{RefusedByWebhook, "Refused writes", "an admission webhook refused the write"},
	{RefusedByPolicy, "Refused writes", "a ValidatingAdmissionPolicy refused the write"},
	{WebhookUnavailable, "Refused writes", "an admission webhook does not answer"},
	{ServiceAccountMissing, "Refused writes", "the ServiceAccount does not exist"},
	{PriorityClassMissing, "Refused writes", "the PriorityClass does not exist"},
	{DisruptionBudget, "Refused writes", "a PodDisruptionBudget does not allow the eviction"},
	{Forbidden, "Refused writes", "the author has not the right"},
	{Invalid, "Refused writes", "the object is invalid"},
	{Conflict, "Refused writes", "somebody else wrote the object at the same time, or manages a field of an apply"},
	{ImagePull, "Start", "a pull fails, for a reason that is not in this list"},
	{ImageNotFound, "Start", "the registry has no such image"},
	{ImageUnauthorized, "Start", "the registry wants other credentials"},
	{RegistryUnreachable, "Start", "the registry does not answer"},
	{ImageInvalid, "Start", "the name of the image is invalid"},
	{ImageNeverPulled, "Start", "the node has no such image, and may not pull it"},
	{ConfigMapMissing, "Start", "a ConfigMap does not exist"},
	{SecretMissing, "Start", "a Secret does not exist"},
	{KeyMissing, "Start", "a ConfigMap or a Secret has no such key"},
	{ContainerNotStarted, "Start", "the runtime cannot create or start a container"},
	{InvalidCommand, "Start", "the image has no such command, or it cannot be executed"},
	{InitFailed, "Start", "an init container has failed"},
	{SandboxFailed, "Start", "the runtime cannot create the Pod's sandbox"},
	{RuntimeClassMissing, "Start", "the node has no such runtime"},
	{NetworkFailed, "Start", "the node's network plugin fails or is not ready"},
	{ClaimMissing, "Start", "a claim of the Pod does not exist"},
	{VolumeNotBound, "Start", "a claim of the Pod is not bound"},
	{VolumeNotAttached, "Start", "a volume cannot be attached to the node"},
	{VolumeMultiAttach, "Start", "a volume is attached to another node"},
	{VolumeNotMounted, "Start", "a volume cannot be mounted"},
	{VolumeDriverMissing, "Start", "the node has no such volume driver"},
	{CrashLoop, "Running", "a container ends with an error"},
	{OutOfMemory, "Running", "a container was killed, out of memory"},
	{ReadinessProbe, "Running", "a readiness probe fails"},
	{LivenessProbe, "Running", "a liveness probe fails"},
	{StartupProbe, "Running", "a startup probe fails"},
	{ReadinessGate, "Running", "a readiness gate is not ready"},
	{Evicted, "Running", "the kubelet evicted the Pod"},
	{NodeLost, "Running", "the Pod's node is lost"},
	{PodFailed, "Running", "the Pod has failed"},
	{ResizeInfeasible, "Running", "the node can never give the resources"},
	{ResizeDeferred, "Running", "the node has not the resources now"},
	{EphemeralContainer, "Running", "an ephemeral container cannot start"},
	{ProgressDeadline, "Workloads", "a Deployment exceeded its progress deadline"},
	{Paused, "Workloads", "a rollout is paused"},
	{Ordinal, "Workloads", "a StatefulSet waits for one of its Pods"},
	{DaemonSetNodes, "Workloads", "a DaemonSet selects no node, or misses a Pod on a node"},
	{JobFailed, "Workloads", "a Job has failed, for a reason that is not in this list"},
	{JobRetry, "Workloads", "a Pod of a Job failed, and the Job makes another one after a pause"},
	{JobBackoffLimit, "Workloads", "a Job reached its back-off limit"},
	{JobDeadline, "Workloads", "a Job reached its deadline"},
	{JobIndexFailed, "Workloads", "an index of a Job failed"},
	{JobFailurePolicy, "Workloads", "a failure policy ended a Job"},
	{JobManager, "Workloads", "the controller in managedBy has not begun with a Job"},
	{Suspended, "Workloads", "a CronJob or a Job is suspended"},
	{StartMissed, "Workloads", "a CronJob has missed a start"},
	{StartForbidden, "Workloads", "the last Job of a CronJob still runs, and its policy forbids another one"},
	{ScaleTarget, "Workloads", "an autoscaler cannot read or write its target"},
	{ScaleMetric, "Workloads", "an autoscaler cannot read a metric"},
	{ScaleLimited, "Workloads", "an autoscaler has reached its maximum"},
	{ScaleOff, "Workloads", "an autoscaler is off: its target is scaled to 0"},
	{OnDelete, "Workloads", "a StatefulSet replaces a Pod only after its deletion"},
	{Partition, "Workloads", "the partition of a StatefulSet keeps Pods at the former revision"},
	{LoadBalancer, "Network", "a Service or an Ingress waits for its address"},
	{NoAddress, "Network", "a Service or an Ingress works without an address of a load balancer"},
	{PortMissing, "Network", "a port of a Service reaches no Pod, or an Ingress names a port that its Service lacks"},
	{NoEndpoints, "Network", "the selector of a Service matches no Pod"},
	{EndpointsUnready, "Network", "no Pod of a Service is ready"},
	{NotAccepted, "Network", "a Gateway or a route is not accepted"},
	{NotProgrammed, "Network", "a Gateway is not programmed"},
	{ReferenceMissing, "Network", "a reference of an Ingress, a Gateway or a route is not resolved"},
	{ClaimUnbound, "Storage", "no volume fits a claim"},
	{ClaimWithoutClass, "Storage", "the storage class of a claim does not exist"},
	{ClaimUnprovisioned, "Storage", "a provisioner has not made the volume of a claim"},
	{ClaimUnused, "Storage", "a claim is bound when a Pod uses it"},
	{ClaimLost, "Storage", "a claim has lost its volume"},
	{VolumeResize, "Storage", "a volume cannot be resized"},
	{VolumeFailed, "Storage", "a volume cannot be deleted"},
	{VolumeReleased, "Storage", "a volume has lost its claim"},
	{SnapshotFailed, "Storage", "a VolumeSnapshot cannot be taken"},
	{Finalizer, "Deletion", "a finalizer is left"},
	{InUse, "Deletion", "another object uses the object"},
	{Dependants, "Deletion", "a foreground deletion waits for dependants"},
	{NamespaceContent, "Deletion", "a Namespace has content left"},
	{TerminationOverdue, "Deletion", "a Pod is still there after its grace period"},
	{NodeNotReady, "Control plane", "a node is not ready"},
	{NodeCordoned, "Control plane", "a node is cordoned"},
	{APIServiceUnavailable, "Control plane", "an aggregated API does not answer"},
	{NotEstablished, "Control plane", "a CustomResourceDefinition is not established"},
	{CertificateUnsigned, "Control plane", "a CertificateSigningRequest is not approved or not signed"},
	{ConditionFalse, "Other kinds", "a condition of the object says so"},
	{ArgoCD, "Other kinds", "a condition of an Argo CD object says so"},
	{Flux, "Other kinds", "a condition of a Flux object says so"},
	{HelmRelease, "Other kinds", "Helm reports the release as failed"},
	{Certificate, "Other kinds", "a condition of a cert-manager object says so"},
	{ClusterAPI, "Other kinds", "a condition of a Cluster API object says so"},
	{Crossplane, "Other kinds", "a condition of a Crossplane object says so"},
	{Kueue, "Other kinds", "a condition of a Kueue object says so"},
	{Tekton, "Other kinds", "a condition of a Tekton object says so"},
}
