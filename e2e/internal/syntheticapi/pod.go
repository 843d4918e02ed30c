// SPDX-License-Identifier: Apache-2.0

package syntheticapi

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// stage is a step in the life of a Pod. Each is one write.
type stage int

const (
	podCreated   stage = iota
	podBound           // by the scheduler
	podAccepted        // by the kubelet: start time and first conditions
	podSandboxed       // PodReadyToStartContainers
	podStarted         // the first container runs
	podSidecar         // the second container runs
	podPassed          // the first container is ready
	podReady           // all are ready
	podDeleted         // the deletion is requested
	podUnready         // the containers are asked to end
	podEnded           // the containers have ended
	podFinished        // the phase is final; the next write is the removal
	stages
)

// versionsPerPod is the number of writes in the life of a Pod: its stages, and its removal.
const versionsPerPod = int(stages) + 1

// gracePeriod is that of the Pods, in seconds.
const gracePeriod = 30

var podWidths = map[textField]int{
	name:      podWidth,
	namespace: spaceWidth,
	uid:       uidWidth,
	version:   versionWidth,
	ownerName: setWidth,
	ownerUID:  uidWidth,
	hash:      hashWidth,
	app:       appWidth,
	node:      nodeWidth,
	nodeIP:    ipWidth,
	ip:        ipWidth,
	container: idWidth,
	sidecar:   idWidth,
}

// podTemplates returns a template for each stage.
func podTemplates() [stages]*template {
	var out [stages]*template
	for s := range stages {
		out[s] = newTemplate(podAt(s), podWidths)
	}
	return out
}

func metaTime(f timeField) metav1.Time { return metav1.NewTime(placeholderTime(f)) }

// podAt returns the Pod at a stage, with placeholders.
func podAt(s stage) *corev1.Pod {
	text := func(f textField) string { return placeholder(f, podWidths[f]) }
	yes := true
	p := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Name:              text(name),
			GenerateName:      text(ownerName) + "-",
			Namespace:         text(namespace),
			UID:               types.UID(text(uid)),
			ResourceVersion:   text(version),
			Generation:        1,
			CreationTimestamp: metaTime(created),
			Labels: map[string]string{
				"app.kubernetes.io/name": text(app), "app.kubernetes.io/managed-by": "pipeline",
				"app.kubernetes.io/part-of": "shop", "pod-template-hash": text(hash),
			},
			Annotations: map[string]string{
				"prometheus.io/scrape": "true", "prometheus.io/port": "9090", "checksum/config": idSample,
			},
			OwnerReferences: []metav1.OwnerReference{{
				APIVersion: "apps/v1", Kind: "ReplicaSet", Name: text(ownerName), UID: types.UID(text(ownerUID)),
				Controller: &yes, BlockOwnerDeletion: &yes,
			}},
		},
		Spec: podSpec(text(app)),
	}
	p.Status = corev1.PodStatus{Phase: corev1.PodPending, QOSClass: corev1.PodQOSBurstable}
	p.ManagedFields = []metav1.ManagedFieldsEntry{owned("kube-controller-manager", "", metaTime(created), p,
		"metadata.generateName", "metadata.labels", "metadata.annotations", "metadata.ownerReferences", "spec")}
	if s >= podBound {
		p.Spec.NodeName = text(node)
		p.Status.Conditions = []corev1.PodCondition{{
			Type: corev1.PodScheduled, Status: corev1.ConditionTrue, LastTransitionTime: metaTime(bound),
			ObservedGeneration: 1,
		}}
		p.ManagedFields = append(p.ManagedFields,
			owned("kube-scheduler", "status", metaTime(bound), p, "status.conditions"))
	}
	if s >= podAccepted {
		p.Status = podStatus(s, text)
		p.ManagedFields = append(p.ManagedFields, owned("kubelet", "status", metaTime(kubeletTime(s)), p, "status"))
	}
	if s >= podDeleted {
		at, seconds := metaTime(deleted), int64(gracePeriod)
		p.DeletionTimestamp, p.DeletionGracePeriodSeconds, p.Generation = &at, &seconds, 2
	}
	return p
}

// idSample is a value with the form of a digest.
const idSample = "0d9c1be7a07bd8e5b2d0e4f3a1c6978b5f4e3d2c1b0a99887766554433221100"

// kubeletTime is the time of the kubelet's last write at a stage.
func kubeletTime(s stage) timeField {
	switch {
	case s == podAccepted:
		return bound
	case s == podSandboxed:
		return sandboxed
	case s < podPassed:
		return started
	case s < podUnready:
		return ready
	default:
		return ended
	}
}

// imageOf is the image of the first container. A rollout changes only an annotation.
func imageOf(app string) string { return "registry.example.com/shop/" + app + ":v1.42.0" }

func podSpec(app string) corev1.PodSpec {
	grace, seconds, mode := int64(gracePeriod), int64(3607), int32(420)
	nobody, no, links := int64(65534), false, false
	env := func(name, value string) corev1.EnvVar { return corev1.EnvVar{Name: name, Value: value} }
	mounts := []corev1.VolumeMount{
		{Name: "kube-api-access", ReadOnly: true, MountPath: "/var/run/secrets/kubernetes.io/serviceaccount"},
		{Name: "config", ReadOnly: true, MountPath: "/etc/" + app},
	}
	probe := func(path string) *corev1.Probe {
		return &corev1.Probe{
			ProbeHandler: corev1.ProbeHandler{HTTPGet: &corev1.HTTPGetAction{
				Path: path, Port: intstr.FromInt32(8080), Scheme: corev1.URISchemeHTTP,
			}},
			TimeoutSeconds: 1, PeriodSeconds: 10, SuccessThreshold: 1, FailureThreshold: 3,
		}
	}
	limits := func(cpu, memory string) corev1.ResourceRequirements {
		of := corev1.ResourceList{
			corev1.ResourceCPU: resource.MustParse(cpu), corev1.ResourceMemory: resource.MustParse(memory),
		}
		return corev1.ResourceRequirements{
			Requests: of,
			Limits:   corev1.ResourceList{corev1.ResourceMemory: of["memory"]},
		}
	}
	return corev1.PodSpec{
		Volumes: []corev1.Volume{
			{Name: "config", VolumeSource: corev1.VolumeSource{ConfigMap: &corev1.ConfigMapVolumeSource{
				LocalObjectReference: corev1.LocalObjectReference{Name: app}, DefaultMode: &mode,
			}}},
			{Name: "kube-api-access", VolumeSource: corev1.VolumeSource{Projected: &corev1.ProjectedVolumeSource{
				DefaultMode: &mode,
				Sources: []corev1.VolumeProjection{
					{
						ServiceAccountToken: &corev1.ServiceAccountTokenProjection{
							ExpirationSeconds: &seconds,
							Path:              "token",
						},
					},
					{ConfigMap: &corev1.ConfigMapProjection{
						LocalObjectReference: corev1.LocalObjectReference{Name: "kube-root-ca.crt"},
						Items:                []corev1.KeyToPath{{Key: "ca.crt", Path: "ca.crt"}},
					}},
				},
			}}},
		},
		Containers: []corev1.Container{
			{
				Name: "app", Image: imageOf(app),
				Args:  []string{"--config=/etc/" + app + "/config.yaml", "--listen=:8080"},
				Ports: []corev1.ContainerPort{{Name: "http", ContainerPort: 8080, Protocol: corev1.ProtocolTCP}},
				Env: []corev1.EnvVar{
					env("LOG_LEVEL", "info"), env("DATABASE_HOST", "db.shop.svc"), env("OTEL_SERVICE_NAME", app),
					{Name: "POD_NAME", ValueFrom: &corev1.EnvVarSource{FieldRef: &corev1.ObjectFieldSelector{
						APIVersion: "v1", FieldPath: "metadata.name",
					}}},
				},
				Resources: limits("250m", "256Mi"), VolumeMounts: mounts,
				ReadinessProbe:           probe("/readyz"),
				TerminationMessagePath:   corev1.TerminationMessagePathDefault,
				TerminationMessagePolicy: corev1.TerminationMessageReadFile, ImagePullPolicy: corev1.PullIfNotPresent,
				SecurityContext: &corev1.SecurityContext{AllowPrivilegeEscalation: &no, ReadOnlyRootFilesystem: &yes},
			},
			{
				Name: "proxy", Image: "registry.example.com/mesh/proxy:v1.27.1",
				Args:      []string{"proxy", "sidecar", "--concurrency=2"},
				Env:       []corev1.EnvVar{env("DISCOVERY", "mesh.svc:15012")},
				Resources: limits("100m", "128Mi"), VolumeMounts: mounts[:1], ReadinessProbe: probe("/healthz/ready"),
				TerminationMessagePath:   corev1.TerminationMessagePathDefault,
				TerminationMessagePolicy: corev1.TerminationMessageReadFile, ImagePullPolicy: corev1.PullIfNotPresent,
			},
		},
		RestartPolicy:                 corev1.RestartPolicyAlways,
		TerminationGracePeriodSeconds: &grace,
		DNSPolicy:                     corev1.DNSClusterFirst,
		ServiceAccountName:            "default",
		DeprecatedServiceAccount:      "default",
		EnableServiceLinks:            &links,
		SecurityContext:               &corev1.PodSecurityContext{RunAsUser: &nobody},
		SchedulerName:                 "default-scheduler",
		Tolerations: []corev1.Toleration{
			{Key: corev1.TaintNodeNotReady, Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoExecute},
			{
				Key:      corev1.TaintNodeUnreachable,
				Operator: corev1.TolerationOpExists,
				Effect:   corev1.TaintEffectNoExecute,
			},
		},
	}
}

var yes = true

// podStatus returns the status that the kubelet reports at a stage.
func podStatus(s stage, text func(textField) string) corev1.PodStatus {
	began := metaTime(bound)
	st := corev1.PodStatus{
		Phase: corev1.PodPending, QOSClass: corev1.PodQOSBurstable, StartTime: &began, HostIP: text(nodeIP),
		HostIPs: []corev1.HostIP{{IP: text(nodeIP)}},
	}
	condition := func(typ corev1.PodConditionType, is bool, since timeField, reason, message string) {
		c := corev1.PodCondition{
			Type: typ, Status: corev1.ConditionFalse, LastTransitionTime: metaTime(since), ObservedGeneration: 1,
			Reason: reason, Message: message,
		}
		if is {
			c.Status, c.Reason, c.Message = corev1.ConditionTrue, "", ""
		}
		st.Conditions = append(st.Conditions, c)
	}
	serves := podReady <= s && s < podUnready
	condition(corev1.PodReadyToStartContainers, s >= podSandboxed && s < podEnded, sandboxed, "", "")
	condition(corev1.PodInitialized, true, bound, "", "")
	readySince, unready := bound, "containers with unready status: [app proxy]"
	switch {
	case s >= podUnready:
		readySince = ended
	case s >= podReady:
		readySince = ready
	}
	condition(corev1.PodReady, serves, readySince, "ContainersNotReady", unready)
	condition(corev1.ContainersReady, serves, readySince, "ContainersNotReady", unready)
	condition(corev1.PodScheduled, true, bound, "", "")
	if s >= podSandboxed {
		st.PodIP, st.PodIPs = text(ip), []corev1.PodIP{{IP: text(ip)}}
	}
	if s >= podStarted {
		st.Phase = corev1.PodRunning
	}
	if s >= podFinished {
		st.Phase = corev1.PodSucceeded
	}
	st.ContainerStatuses = []corev1.ContainerStatus{
		containerStatus(s, podStarted, podPassed, "app",
			imageOf(text(app)), text(container)),
		containerStatus(s, podSidecar, podReady, "proxy", "registry.example.com/mesh/proxy:v1.27.1", text(sidecar)),
	}
	return st
}

// containerStatus returns the status of a container that starts and becomes ready at the given stages.
func containerStatus(s, starts, passes stage, name, image, id string) corev1.ContainerStatus {
	has := s >= starts && s < podEnded
	st := corev1.ContainerStatus{
		Name: name, Image: image, Started: &has, Ready: s >= passes && s < podUnready,
		State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "ContainerCreating"}},
	}
	if s < starts {
		return st
	}
	st.ContainerID = "containerd://" + id
	st.ImageID = "registry.example.com/shop@sha256:" + idSample
	st.State = corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: metaTime(started)}}
	if s >= podEnded {
		st.State = corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{
			Reason: "Completed", StartedAt: metaTime(started), FinishedAt: metaTime(ended), ContainerID: st.ContainerID,
		}}
	}
	return st
}
