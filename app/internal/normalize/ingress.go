// SPDX-License-Identifier: Apache-2.0

package normalize

import (
	"cmp"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kube-lifeline/lifeline/app/internal/kind"
	"github.com/kube-lifeline/lifeline/app/internal/object"
	"github.com/kube-lifeline/lifeline/app/internal/observation"
)

// backendPorts returns the relations of an Ingress to the ports of its Services.
func backendPorts(obj fields, ref *object.Ref) []object.Relation {
	var out []object.Relation
	for _, path := range []string{"spec.defaultBackend.service", "spec.rules[].http.paths[].backend.service"} {
		walkPath(obj, path, func(v any) {
			service, _ := v.(fields)
			of := sub(service, "port")
			port := cmp.Or(raw(of, "name"), scalar(of["number"]))
			if to, ok := name(raw(service, "name"), &kind.Service, ref); ok && port != "" {
				to.Name = intern(object.Bound(to.Name + ":" + port))
				out = append(out, object.Relation{Type: object.Port, To: to})
			}
		})
	}
	return out
}

// maxClasses bounds the classes of Ingresses that a Normalizer keeps.
const maxClasses = 256

// ingressProgress returns the verdict on an Ingress. Some controllers publish no address. So an Ingress waits for
// one only if another Ingress of its class has one.
func (n *Normalizer) ingressProgress(u *unstructured.Unstructured) (observation.Progress, string) {
	class := cmp.Or(raw(sub(u.Object, "spec"), "ingressClassName"), u.GetAnnotations()["kubernetes.io/ingress.class"])
	result, waits := addressed(u)
	if result == observation.ProgressCurrent {
		n.classes.Put(class, true)
		return result, waits
	}
	if _, publishes := n.classes.Get(class); publishes {
		return result, waits
	}
	return observation.ProgressCurrent, observation.Unaddressed
}

// Note notes the class of an Ingress with an address. A list may show it after another one that waits.
func (n *Normalizer) Note(u *unstructured.Unstructured) {
	if u.GroupVersionKind().GroupKind() == kind.Ingress.GroupKind() {
		n.ingressProgress(u)
	}
}
