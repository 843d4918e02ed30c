// SPDX-License-Identifier: Apache-2.0

package kubeapi

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// The kinds of the resources.
const (
	kind        = "Change"
	visibleKind = "VisibleChange"
)

// Resources returns the discovery document of the version.
func Resources() *metav1.APIResourceList {
	out := &metav1.APIResourceList{
		TypeMeta:     metav1.TypeMeta{Kind: "APIResourceList", APIVersion: "v1"},
		GroupVersion: GroupVersion,
	}
	add := func(r metav1.APIResource, subresources []string) {
		r.Verbs = metav1.Verbs{verbGet, verbList, verbWatch}
		out.APIResources = append(out.APIResources, r)
		for _, name := range subresources {
			out.APIResources = append(out.APIResources, metav1.APIResource{
				Name: r.Name + "/" + name, Namespaced: r.Namespaced, Kind: r.Kind, Verbs: metav1.Verbs{verbGet},
			})
		}
	}
	add(metav1.APIResource{Name: Resource, SingularName: "change", Namespaced: true, Kind: kind}, Subresources())
	add(
		metav1.APIResource{Name: VisibleResource, SingularName: "visiblechange", Kind: visibleKind},
		VisibleSubresources(),
	)
	return out
}
