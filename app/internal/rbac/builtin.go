// SPDX-License-Identifier: Apache-2.0

package rbac

import (
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kube-lifeline/lifeline/app/internal/source/watch"
)

// builtIn are Kubernetes' own watchable resources that are enabled by default, by group. A star
// marks cluster-scoped ones.
var builtIn = map[string]string{
	"": "configmaps endpoints events limitranges namespaces* nodes* persistentvolumeclaims persistentvolumes* pods " +
		"podtemplates " +
		"replicationcontrollers resourcequotas secrets serviceaccounts services",
	"admissionregistration.k8s.io": "mutatingadmissionpolicies* mutatingadmissionpolicybindings* " +
		"mutatingwebhookconfigurations* " +
		"validatingadmissionpolicies* validatingadmissionpolicybindings* validatingwebhookconfigurations*",
	"apiextensions.k8s.io":         "customresourcedefinitions*",
	"apiregistration.k8s.io":       "apiservices*",
	"apps":                         "controllerrevisions daemonsets deployments replicasets statefulsets",
	"autoscaling":                  "horizontalpodautoscalers",
	"batch":                        "cronjobs jobs",
	"certificates.k8s.io":          "certificatesigningrequests* clustertrustbundles* podcertificaterequests",
	"coordination.k8s.io":          "leases",
	"discovery.k8s.io":             "endpointslices",
	"events.k8s.io":                "events",
	"flowcontrol.apiserver.k8s.io": "flowschemas* prioritylevelconfigurations*",
	"networking.k8s.io":            "ingressclasses* ingresses ipaddresses* networkpolicies servicecidrs*",
	"node.k8s.io":                  "runtimeclasses*",
	"policy":                       "poddisruptionbudgets",
	"rbac.authorization.k8s.io":    "clusterrolebindings* clusterroles* rolebindings roles",
	"resource.k8s.io": "deviceclasses* devicetaintrules* resourceclaims resourceclaimtemplates " +
		"resourceslices*",
	"scheduling.k8s.io":       "priorityclasses*",
	"storagemigration.k8s.io": "storageversionmigrations*",
	"storage.k8s.io": "csidrivers* csinodes* csistoragecapacities storageclasses* volumeattachments* " +
		"volumeattributesclasses*",
}

// withGuessed adds the kinds of declared relations to offered. The names of custom resources are
// guessed, since only the cluster has them.
func withGuessed(offered []watch.Offered, kinds []schema.GroupKind) []watch.Offered {
	for _, of := range kinds {
		plural, _ := meta.UnsafeGuessKindToResource(of.WithVersion("v1"))
		gr := plural.GroupResource()
		i := slices.IndexFunc(offered, func(o watch.Offered) bool { return o.GroupResource == gr })
		if i < 0 {
			offered = append(offered, watch.Offered{GroupResource: gr, Kind: of.Kind, Namespaced: true})
			continue
		}
		offered[i].Kind = of.Kind
	}
	return offered
}

// BuiltIn returns Kubernetes' own resources, unordered, for use without a cluster.
func BuiltIn() []watch.Offered {
	var out []watch.Offered
	for group, resources := range builtIn {
		for name := range strings.FieldsSeq(resources) {
			name, clusterScoped := strings.CutSuffix(name, "*")
			out = append(out, watch.Offered{
				GroupResource: schema.GroupResource{Group: group, Resource: name}, Namespaced: !clusterScoped,
			})
		}
	}
	return out
}
