// SPDX-License-Identifier: Apache-2.0

package index

import (
	"github.com/kube-lifeline/lifeline/app/internal/change"
	"github.com/kube-lifeline/lifeline/app/internal/observation"
)

// EvictedFrom returns the Node of the Pod of a refused eviction, or "".
func (v View) EvictedFrom(id Subject, w *observation.Write) string {
	if w.Subresource != "eviction" || id.Owner != "" {
		return ""
	}
	pods := []*change.Timeline{v.Object(id.UID)}
	if id.UID == "" {
		pods = v.BySubject(id)
	}
	for _, t := range pods {
		if t == nil {
			continue
		}
		if v := t.Last(); v != nil && v.Pod != nil && v.Pod.Node != "" {
			return v.Pod.Node
		}
	}
	return ""
}
