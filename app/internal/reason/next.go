// SPDX-License-Identifier: Apache-2.0

package reason

import (
	"regexp"
	"strings"

	"github.com/kube-lifeline/lifeline/app/internal/kind"
	"github.com/kube-lifeline/lifeline/app/internal/object"
)

// plain is a word that no shell changes.
var plain = regexp.MustCompile(`^[A-Za-z0-9][-A-Za-z0-9._:]*$`)

// Next returns the command that shows more about the reason of the object, or "" if a name is not a
// plain word.
func (r Reason) Next(o object.Ref) string {
	if r.At.Name != "" {
		o = r.At
	}
	for _, word := range []string{o.Namespace, o.Name, o.Kind.Kind, o.Group, r.Container} {
		if word != "" && !plain.MatchString(word) {
			return ""
		}
	}
	cluster, here := "kubectl ", "kubectl "
	if o.Namespace != "" {
		here += "-n " + o.Namespace + " "
	}
	switch r.Category {
	case CrashLoop, OutOfMemory, InitFailed:
		return here + "logs " + o.Name + " -c " + r.Container + " --previous"
	case ReadinessProbe, LivenessProbe, StartupProbe:
		return here + "logs " + o.Name + " -c " + r.Container
	case PodFailed, JobRetry, JobBackoffLimit, JobIndexFailed, JobFailurePolicy:
		if r.Container != "" {
			return here + "logs " + o.Name + " -c " + r.Container
		}
	case QuotaExceeded:
		return here + "describe resourcequota"
	case LimitRange:
		return here + "describe limitrange"
	case ServiceAccountMissing:
		return here + "get serviceaccount"
	case PriorityClassMissing:
		return cluster + "get priorityclass"
	case ConfigMapMissing:
		return here + "get configmap"
	case SecretMissing:
		return here + "get secret"
	case PodSecurity:
		return cluster + "get namespace " + o.Namespace + " --show-labels"
	case RefusedByWebhook, WebhookUnavailable:
		return cluster + "get validatingwebhookconfiguration,mutatingwebhookconfiguration"
	case UnschedulableCPU, UnschedulableMemory, UnschedulableResource, UnschedulableTaint, UnschedulableCordon:
		return cluster + "describe node"
	case UnschedulableNoNodes, NodeMissing:
		return cluster + "get node"
	case DaemonSetNodes:
		if r.At.Name == "" {
			return cluster + "describe node"
		}
	case StartForbidden:
		return here + "get job"
	case NoEndpoints:
		if r.At.Name == "" {
			return here + "get pod --show-labels"
		}
	case PortMissing:
		if kind.Service.Is(o.Kind) && r.At.Name == "" {
			return here + "get endpointslice -l kubernetes.io/service-name=" + o.Name + " -o yaml"
		}
	case EndpointsUnready:
		return here + "get endpointslice -l kubernetes.io/service-name=" + o.Name + " -o yaml"
	case ClaimMissing:
		return here + "get persistentvolumeclaim"
	case Finalizer:
		return here + "get " + argument(o) + " -o yaml"
	case APIServiceUnavailable:
		if kind.Namespace.Is(o.Kind) && strings.Contains(r.Text, ownWait) {
			return cluster + "get pod -A -l app.kubernetes.io/name=lifeline-discovery"
		}
		if kind.Namespace.Is(o.Kind) {
			return cluster + "get apiservice"
		}
	}
	return here + "describe " + argument(o)
}

// argument returns an object as kubectl accepts it: KIND/NAME.
func argument(o object.Ref) string {
	name := strings.ToLower(o.Kind.Kind)
	own := !strings.Contains(o.Group, ".") || strings.HasSuffix(o.Group, ".k8s.io") // of Kubernetes itself
	if !own || kind.Of(o.Group, o.Kind.Kind).Resource == "" && o.Group != "" {
		name += "." + o.Group
	}
	return name + "/" + o.Name
}
