// SPDX-License-Identifier: Apache-2.0

package syntheticapi

import (
	"net/http"
	"slices"
	"strings"

	discovery "k8s.io/api/apidiscovery/v2"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	apiversion "k8s.io/apimachinery/pkg/version"
)

// apiResource is one kind that the server offers.
type apiResource struct {
	group, version, plural, kind string
	namespaced                   bool
}

// resourceName identifies a resource in any version.
type resourceName struct{ group, plural string }

func (r apiResource) id() resourceName { return resourceName{r.group, r.plural} }

// apiVersion is the group and version as in objects.
func (r apiResource) apiVersion() string {
	if r.group == "" {
		return r.version
	}
	return r.group + "/" + r.version
}

// The resources with objects.
var (
	nodes          = resourceName{"", "nodes"}
	pods           = resourceName{"", "pods"}
	namespaces     = resourceName{"", "namespaces"}
	services       = resourceName{"", "services"}
	configMaps     = resourceName{"", "configmaps"}
	accounts       = resourceName{"", "serviceaccounts"}
	deployments    = resourceName{"apps", "deployments"}
	replicaSets    = resourceName{"apps", "replicasets"}
	endpointSlices = resourceName{"discovery.k8s.io", "endpointslices"}
	events         = resourceName{"events.k8s.io", "events"}
)

// resources are Kubernetes' own kinds. Those without objects have empty lists and quiet watches.
var resources = offer(
	"v1", "configmaps:ConfigMap endpoints:Endpoints events:Event limitranges:LimitRange -namespaces:Namespace "+
		"-nodes:Node persistentvolumeclaims:PersistentVolumeClaim -persistentvolumes:PersistentVolume pods:Pod "+
		"podtemplates:PodTemplate replicationcontrollers:ReplicationController resourcequotas:ResourceQuota "+
		"secrets:Secret serviceaccounts:ServiceAccount services:Service",
	"admissionregistration.k8s.io/v1", "-mutatingwebhookconfigurations:MutatingWebhookConfiguration "+
		"-validatingadmissionpolicies:ValidatingAdmissionPolicy "+
		"-validatingadmissionpolicybindings:ValidatingAdmissionPolicyBinding "+
		"-validatingwebhookconfigurations:ValidatingWebhookConfiguration",
	"apiextensions.k8s.io/v1", "-customresourcedefinitions:CustomResourceDefinition",
	"apiregistration.k8s.io/v1", "-apiservices:APIService",
	"apps/v1", "controllerrevisions:ControllerRevision daemonsets:DaemonSet deployments:Deployment "+
		"replicasets:ReplicaSet statefulsets:StatefulSet",
	"autoscaling/v2", "horizontalpodautoscalers:HorizontalPodAutoscaler",
	"batch/v1", "cronjobs:CronJob jobs:Job",
	"certificates.k8s.io/v1", "-certificatesigningrequests:CertificateSigningRequest",
	"coordination.k8s.io/v1", "leases:Lease",
	"discovery.k8s.io/v1", "endpointslices:EndpointSlice",
	"events.k8s.io/v1", "events:Event",
	"flowcontrol.apiserver.k8s.io/v1", "-flowschemas:FlowSchema "+
		"-prioritylevelconfigurations:PriorityLevelConfiguration",
	"networking.k8s.io/v1", "-ingressclasses:IngressClass ingresses:Ingress -ipaddresses:IPAddress "+
		"networkpolicies:NetworkPolicy -servicecidrs:ServiceCIDR",
	"node.k8s.io/v1", "-runtimeclasses:RuntimeClass",
	"policy/v1", "poddisruptionbudgets:PodDisruptionBudget",
	"rbac.authorization.k8s.io/v1", "-clusterrolebindings:ClusterRoleBinding -clusterroles:ClusterRole "+
		"rolebindings:RoleBinding roles:Role",
	"resource.k8s.io/v1", "-deviceclasses:DeviceClass resourceclaims:ResourceClaim "+
		"resourceclaimtemplates:ResourceClaimTemplate -resourceslices:ResourceSlice",
	"scheduling.k8s.io/v1", "-priorityclasses:PriorityClass",
	"storage.k8s.io/v1", "-csidrivers:CSIDriver -csinodes:CSINode csistoragecapacities:CSIStorageCapacity "+
		"-storageclasses:StorageClass -volumeattachments:VolumeAttachment",
)

// offer reads pairs of a group's version and its resources, "plural:Kind". A minus marks a
// cluster-scoped one.
func offer(pairs ...string) []apiResource {
	var out []apiResource
	for pair := range slices.Chunk(pairs, 2) {
		group, version, found := strings.Cut(pair[0], "/")
		if !found {
			group, version = "", group
		}
		for text := range strings.FieldsSeq(pair[1]) {
			text, global := strings.CutPrefix(text, "-")
			plural, kind, _ := strings.Cut(text, ":")
			out = append(out, apiResource{group, version, plural, kind, !global})
		}
	}
	return out
}

// verbs are the same for all resources. The server answers only those that read.
var verbs = []string{"create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"}

// discover answers /api, /apis and the paths of one group or version; false for another path.
func discover(w http.ResponseWriter, r *http.Request, f format) bool {
	path := strings.Trim(r.URL.Path, "/")
	switch {
	case path == "version":
		answerJSON(w, http.StatusOK, jsonType, apiversion.Info{
			Major: "1", Minor: "36", GitVersion: "v1.36.4", Platform: "linux/amd64",
		})
	case path == "api" && f.discovery:
		answerJSON(w, http.StatusOK, f.contentType(false), aggregated(func(group string) bool { return group == "" }))
	case path == "apis" && f.discovery:
		answerJSON(w, http.StatusOK, f.contentType(false), aggregated(func(group string) bool { return group != "" }))
	case path == "api":
		answerJSON(w, http.StatusOK, jsonType, metav1.APIVersions{
			TypeMeta: metav1.TypeMeta{Kind: "APIVersions"}, Versions: []string{"v1"},
		})
	case path == "apis":
		list := metav1.APIGroupList{TypeMeta: metav1.TypeMeta{Kind: "APIGroupList", APIVersion: "v1"}}
		for _, of := range byGroup(func(group string) bool { return group != "" }) {
			list.Groups = append(list.Groups, groupOf(of[0]))
		}
		answerJSON(w, http.StatusOK, jsonType, list)
	default:
		for _, of := range byGroup(func(string) bool { return true }) {
			switch path {
			case "api/" + of[0].version, "apis/" + of[0].apiVersion():
				if (of[0].group == "") == strings.HasPrefix(path, "api/") {
					answerJSON(w, http.StatusOK, jsonType, listOfResources(of))
					return true
				}
			case "apis/" + of[0].group:
				answerJSON(w, http.StatusOK, jsonType, groupOf(of[0]))
				return true
			}
		}
		return false
	}
	return true
}

// byGroup returns the resources by their group.
func byGroup(wanted func(group string) bool) [][]apiResource {
	var out [][]apiResource
	for _, r := range resources {
		switch last := len(out) - 1; {
		case !wanted(r.group):
		case last >= 0 && out[last][0].group == r.group:
			out[last] = append(out[last], r)
		default:
			out = append(out, []apiResource{r})
		}
	}
	return out
}

func aggregated(wanted func(group string) bool) discovery.APIGroupDiscoveryList {
	list := discovery.APIGroupDiscoveryList{
		TypeMeta: metav1.TypeMeta{Kind: "APIGroupDiscoveryList", APIVersion: "apidiscovery.k8s.io/v2"},
	}
	for _, of := range byGroup(wanted) {
		version := discovery.APIVersionDiscovery{Version: of[0].version, Freshness: discovery.DiscoveryFreshnessCurrent}
		for _, r := range of {
			scope := discovery.ScopeCluster
			if r.namespaced {
				scope = discovery.ScopeNamespace
			}
			version.Resources = append(version.Resources, discovery.APIResourceDiscovery{
				Resource: r.plural, Scope: scope, SingularResource: strings.ToLower(r.kind), Verbs: verbs,
				ResponseKind: &metav1.GroupVersionKind{Group: r.group, Version: r.version, Kind: r.kind},
			})
		}
		group := discovery.APIGroupDiscovery{Versions: []discovery.APIVersionDiscovery{version}}
		group.Name = of[0].group
		list.Items = append(list.Items, group)
	}
	return list
}

func groupOf(r apiResource) metav1.APIGroup {
	version := metav1.GroupVersionForDiscovery{GroupVersion: r.apiVersion(), Version: r.version}
	return metav1.APIGroup{
		TypeMeta: metav1.TypeMeta{Kind: "APIGroup", APIVersion: "v1"}, Name: r.group,
		Versions: []metav1.GroupVersionForDiscovery{version}, PreferredVersion: version,
	}
}

func listOfResources(of []apiResource) metav1.APIResourceList {
	list := metav1.APIResourceList{
		TypeMeta: metav1.TypeMeta{Kind: "APIResourceList", APIVersion: "v1"}, GroupVersion: of[0].apiVersion(),
	}
	for _, r := range of {
		list.APIResources = append(list.APIResources, metav1.APIResource{
			Name: r.plural, SingularName: strings.ToLower(r.kind), Kind: r.kind, Namespaced: r.namespaced, Verbs: verbs,
		})
	}
	return list
}
