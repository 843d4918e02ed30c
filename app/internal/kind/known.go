// SPDX-License-Identifier: Apache-2.0

package kind

import (
	"slices"
	"strings"

	"github.com/kube-lifeline/lifeline/app/internal/object"
)

// Components that reconcile more than one kind, or work on Pods.
const (
	Kubelet   = "kubelet"
	APIServer = "kube-apiserver"
)

// components are the programs of Kubernetes itself that write objects.
var components = []string{
	Kubelet, APIServer, "kube-controller-manager", "kube-scheduler", "cloud-controller-manager", "kube-proxy",
}

// IsComponent reports whether the name of a program is that of a component of Kubernetes.
func IsComponent(name string) bool { return slices.Contains(components, name) }

// all are the known kinds: those of Pods and their owners first.
var all = []*Kind{
	&Deployment,
	&ReplicaSet,
	&StatefulSet,
	&DaemonSet,
	&ControllerRevision,
	&Job,
	&CronJob,
	&Pod,
	&Node,
	&Namespace,
	&Service,
	&EndpointSlice,
	&ConfigMap,
	&Secret,
	&ServiceAccount,
	&PersistentVolumeClaim,
	&PersistentVolume,
	&VolumeAttachment,
	&StorageClass,
	&ReplicationController,
	&ResourceQuota,
	&LimitRange,
	&HorizontalPodAutoscaler,
	&PodDisruptionBudget,
	&Ingress,
	&IngressClass,
	&NetworkPolicy,
	&Gateway,
	&HTTPRoute,
	&GRPCRoute,
	&Certificate,
	&CertificateRequest,
	&Order,
	&Challenge,
	&Cluster,
	&MachineDeployment,
	&MachineSet,
	&Machine,
	&Workload,
	&TaskRun,
	&PipelineRun,
	&VolumeSnapshot,
	&CertificateSigningRequest,
	&CustomResourceDefinition,
	&APIService,
}

// builtIn are the API groups of Kubernetes itself with a dot in their names.
var builtIn = []string{
	"admissionregistration.k8s.io", "apiextensions.k8s.io", "apiregistration.k8s.io", "authentication.k8s.io",
	"authorization.k8s.io", "certificates.k8s.io", "coordination.k8s.io", "discovery.k8s.io", "events.k8s.io",
	"flowcontrol.apiserver.k8s.io", "internal.apiserver.k8s.io", "networking.k8s.io", "node.k8s.io",
	"rbac.authorization.k8s.io", "resource.k8s.io", "scheduling.k8s.io", "storage.k8s.io", "storagemigration.k8s.io",
}

// BuiltIn reports whether an API group is one of Kubernetes itself.
func BuiltIn(group string) bool {
	return !strings.Contains(group, ".") || slices.Contains(builtIn, group)
}

// IsWorkload reports whether objects of the kind are workloads: they run Pods, or Jobs.
func IsWorkload(k object.Kind) bool {
	return slices.ContainsFunc(workloads, func(w *Kind) bool { return w.Is(k) })
}

var workloads = []*Kind{&Deployment, &ReplicaSet, &StatefulSet, &DaemonSet, &Job, &CronJob, &ReplicationController}

type id struct{ group, name string }

var (
	unknown    Kind
	byKind     = map[id]*Kind{}
	byResource = map[id]*Kind{}
)

func init() {
	for _, k := range all {
		byKind[id{k.Group, k.Kind.Kind}] = k
		byResource[id{k.Group, k.Resource}] = k
	}
}

// All returns the known kinds.
func All() []*Kind { return slices.Clone(all) }

// Of returns the kind of that group and name, or the zero Kind.
func Of(group, name string) *Kind { return orUnknown(byKind[id{group, name}]) }

// OfResource returns the kind of a resource such as "deployments" in a group, or
// the zero Kind.
func OfResource(group, resource string) *Kind { return orUnknown(byResource[id{group, resource}]) }

func orUnknown(k *Kind) *Kind {
	if k == nil {
		return &unknown
	}
	return k
}
