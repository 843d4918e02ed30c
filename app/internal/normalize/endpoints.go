// SPDX-License-Identifier: Apache-2.0

package normalize

import (
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/types"

	"github.com/kube-lifeline/lifeline/app/internal/observation"
)

// labelService is the label of an EndpointSlice with the name of its Service.
const labelService = "kubernetes.io/service-name"

// maxEndpoints bounds the endpoints of one slice. It is the limit of the API.
const maxEndpoints = 1000

// endpoints returns the ready Pods of an EndpointSlice. It reads no addresses. A missing condition
// means ready, as in the API.
func endpoints(obj fields, namespace string) *observation.Endpoints {
	out := &observation.Endpoints{Service: word(sub(sub(obj, "metadata"), "labels"), labelService)}
	list, _ := obj["endpoints"].([]any)
	var keys []string
	for _, item := range list[:min(len(list), maxEndpoints)] {
		m, _ := item.(fields)
		target := sub(m, "targetRef")
		ready, given := sub(m, "conditions")["ready"].(bool)
		if raw(target, "kind") != "Pod" || raw(target, "uid") == "" || given && !ready {
			continue
		}
		key := observation.KeyOfEndpoint(namespace, types.UID(raw(target, "uid")))
		keys = append(keys, string(key.AppendText(nil)))
	}
	slices.Sort(keys)
	out.Ready = strings.Join(slices.Compact(keys), "")
	return out
}
