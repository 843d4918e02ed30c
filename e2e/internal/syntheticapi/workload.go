// SPDX-License-Identifier: Apache-2.0

package syntheticapi

import (
	"strconv"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// A deployment is one Deployment with its Service, its EndpointSlice, its ReplicaSets and its Pods.
type deployment struct {
	namespace, name      string
	uid                  string
	service, slice       string // UIDs
	created              time.Time
	generation, revision int64
	// observed is the generation in the status. ready counts the Pods of all sets.
	observed int64
	wanted   int32
	complete bool
	// changed is the time of the last rollout.
	changed time.Time
	// current is the newest set, and old the one before; nil before the first rollout.
	current, old *replicaSet
}

// A replicaSet is one ReplicaSet with its present Pods.
type replicaSet struct {
	name, uid, hash string
	created         time.Time
	revision        int64
	generation      int64
	wanted          int32
	// pods are in order of creation. total and ready count those of the status.
	pods         []*pod
	total, ready int32
}

// A pod is the present state of one Pod.
type pod struct {
	values *values
	stage  stage
}

func (d *deployment) labels() map[string]string {
	return map[string]string{
		"app.kubernetes.io/name":       d.name,
		"app.kubernetes.io/managed-by": "pipeline",
		"app.kubernetes.io/part-of":    "shop",
	}
}

func (d *deployment) selector() map[string]string {
	return map[string]string{"app.kubernetes.io/name": d.name}
}

// podTemplate returns the template of a revision.
func (d *deployment) podTemplate(revision int64) corev1.PodTemplateSpec {
	return corev1.PodTemplateSpec{
		ObjectMeta: metav1.ObjectMeta{Labels: d.labels(), Annotations: map[string]string{
			"prometheus.io/scrape": "true", "prometheus.io/port": "9090", "checksum/config": idSample,
			"kubectl.kubernetes.io/restartedAt": "revision " + strconv.FormatInt(revision, 10),
		}},
		Spec: podSpec(d.name),
	}
}

// object returns the present Deployment.
func (d *deployment) object() *appsv1.Deployment {
	quarter, limit, deadline := intstr.FromString("25%"), int32(1), int32(600)
	var total, ready int32
	for _, s := range []*replicaSet{d.current, d.old} {
		if s != nil {
			total, ready = total+s.total, ready+s.ready
		}
	}
	created, changed := metav1.NewTime(d.created), metav1.NewTime(d.changed)
	reason, message := "ReplicaSetUpdated", `ReplicaSet "`+d.current.name+`" is progressing.`
	if d.complete {
		reason, message = "NewReplicaSetAvailable", `ReplicaSet "`+d.current.name+`" has successfully progressed.`
	}
	o := &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{
			Name: d.name, Namespace: d.namespace, UID: types.UID(d.uid), Generation: d.generation,
			CreationTimestamp: created, Labels: d.labels(),
			Annotations: map[string]string{"deployment.kubernetes.io/revision": strconv.FormatInt(d.revision, 10)},
		},
		Spec: appsv1.DeploymentSpec{
			Replicas: &d.wanted, Selector: &metav1.LabelSelector{MatchLabels: d.selector()},
			Template: d.podTemplate(d.generation), RevisionHistoryLimit: &limit,
			ProgressDeadlineSeconds: &deadline,
			Strategy: appsv1.DeploymentStrategy{
				Type:          appsv1.RollingUpdateDeploymentStrategyType,
				RollingUpdate: &appsv1.RollingUpdateDeployment{MaxUnavailable: &quarter, MaxSurge: &quarter},
			},
		},
		Status: appsv1.DeploymentStatus{
			ObservedGeneration: d.observed, Replicas: total, ReadyReplicas: ready, AvailableReplicas: ready,
			UpdatedReplicas: d.current.total, UnavailableReplicas: max(0, d.wanted-ready),
			Conditions: []appsv1.DeploymentCondition{
				{
					Type: appsv1.DeploymentAvailable, Status: corev1.ConditionTrue, Reason: "MinimumReplicasAvailable",
					Message:        "Deployment has minimum availability.",
					LastUpdateTime: created, LastTransitionTime: created,
				},
				{
					Type: appsv1.DeploymentProgressing, Status: corev1.ConditionTrue, Reason: reason, Message: message,
					LastUpdateTime: changed, LastTransitionTime: created,
				},
			},
		},
	}
	o.ManagedFields = []metav1.ManagedFieldsEntry{
		owned("pipeline", "", created, o, "metadata.labels", "spec"),
		owned("kubectl-rollout", "", changed, o, "spec.template.metadata.annotations"),
		owned("kube-controller-manager", "status", changed, o, "metadata.annotations", "status"),
	}
	return o
}

// object returns the present ReplicaSet.
func (s *replicaSet) object(d *deployment) *appsv1.ReplicaSet {
	t := d.podTemplate(s.revision)
	t.Labels["pod-template-hash"] = s.hash
	created := metav1.NewTime(s.created)
	o := &appsv1.ReplicaSet{
		ObjectMeta: metav1.ObjectMeta{
			Name: s.name, Namespace: d.namespace, UID: types.UID(s.uid), Generation: s.generation,
			CreationTimestamp: created, Labels: t.Labels,
			Annotations: map[string]string{
				"deployment.kubernetes.io/desired-replicas": strconv.Itoa(int(d.wanted)),
				"deployment.kubernetes.io/max-replicas":     strconv.Itoa(int(d.wanted + d.wanted/waves)),
				"deployment.kubernetes.io/revision":         strconv.FormatInt(s.revision, 10),
			},
			OwnerReferences: []metav1.OwnerReference{{
				APIVersion: "apps/v1", Kind: "Deployment", Name: d.name, UID: types.UID(d.uid), Controller: &yes,
				BlockOwnerDeletion: &yes,
			}},
		},
		Spec: appsv1.ReplicaSetSpec{
			Replicas: &s.wanted, Template: t,
			Selector: &metav1.LabelSelector{MatchLabels: map[string]string{
				"app.kubernetes.io/name": d.name, "pod-template-hash": s.hash,
			}},
		},
		Status: appsv1.ReplicaSetStatus{
			ObservedGeneration: s.generation, Replicas: s.total, FullyLabeledReplicas: s.total, ReadyReplicas: s.ready,
			AvailableReplicas: s.ready,
		},
	}
	o.ManagedFields = []metav1.ManagedFieldsEntry{
		owned("kube-controller-manager", "", created, o, "metadata.annotations", "metadata.labels",
			"metadata.ownerReferences", "spec"),
		owned("kube-controller-manager", "status", created, o, "status"),
	}
	return o
}

// serviceObject returns the Service.
func (d *deployment) serviceObject() *corev1.Service {
	created := metav1.NewTime(d.created)
	o := &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{
			Name:              d.name,
			Namespace:         d.namespace,
			UID:               types.UID(d.service),
			CreationTimestamp: created,
			Labels:            d.labels(),
		},
		Spec: corev1.ServiceSpec{
			Selector: d.selector(), Type: corev1.ServiceTypeClusterIP, ClusterIP: "10.96.0.10",
			ClusterIPs: []string{"10.96.0.10"}, IPFamilies: []corev1.IPFamily{corev1.IPv4Protocol},
			SessionAffinity: corev1.ServiceAffinityNone,
			Ports: []corev1.ServicePort{{
				Name: "http", Protocol: corev1.ProtocolTCP, Port: 80, TargetPort: intstr.FromString("http"),
			}},
		},
	}
	o.ManagedFields = []metav1.ManagedFieldsEntry{owned("pipeline", "", created, o, "metadata.labels", "spec")}
	return o
}

// sliceObject returns the EndpointSlice of the Service.
func (d *deployment) sliceObject(endpoints []pod, generation int64) *discoveryv1.EndpointSlice {
	protocol, port, portName := corev1.ProtocolTCP, int32(8080), "http"
	created := metav1.NewTime(d.created)
	o := &discoveryv1.EndpointSlice{
		ObjectMeta: metav1.ObjectMeta{
			Name: d.name + "-slice", GenerateName: d.name + "-", Namespace: d.namespace, UID: types.UID(d.slice),
			CreationTimestamp: created, Generation: generation,
			Labels: map[string]string{
				discoveryv1.LabelServiceName: d.name, discoveryv1.LabelManagedBy: "endpointslice-controller.k8s.io",
			},
			OwnerReferences: []metav1.OwnerReference{{
				APIVersion: "v1", Kind: "Service", Name: d.name, UID: types.UID(d.service), Controller: &yes,
				BlockOwnerDeletion: &yes,
			}},
		},
		AddressType: discoveryv1.AddressTypeIPv4,
		Ports:       []discoveryv1.EndpointPort{{Name: &portName, Protocol: &protocol, Port: &port}},
	}
	o.ManagedFields = []metav1.ManagedFieldsEntry{owned("kube-controller-manager", "", created, o,
		"metadata.generateName", "metadata.labels", "metadata.ownerReferences", "addressType", "ports")}
	zone := "eu-west-1a"
	for i := range endpoints {
		p := &endpoints[i]
		if p.stage < podSandboxed || p.stage >= podEnded {
			continue
		}
		text := &p.values.text
		ready := podReady <= p.stage && p.stage < podDeleted
		serving := podReady <= p.stage && p.stage < podUnready
		ending := p.stage >= podDeleted
		o.Endpoints = append(o.Endpoints, discoveryv1.Endpoint{
			Addresses:  []string{text[ip]},
			Conditions: discoveryv1.EndpointConditions{Ready: &ready, Serving: &serving, Terminating: &ending},
			TargetRef: &corev1.ObjectReference{
				Kind: "Pod", Namespace: d.namespace, Name: text[name], UID: types.UID(text[uid]),
			},
			NodeName: &text[node], Zone: &zone,
		})
	}
	return o
}
