// SPDX-License-Identifier: Apache-2.0

package stored

import (
	"cmp"
	"encoding/json"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/kube-lifeline/lifeline/lab/audit"
)

// Attributed returns the writes in the order in which they were stored, and leaves
// out writes of a whole Deployment that changed only its status. They stored
// nothing: their response has the state of another client's status write, whose
// own response came later. The Deployment controller also writes its annotations
// in this way.
func Attributed(all []audit.Write) []audit.Write {
	last := map[string]map[string]any{}
	order := slices.Clone(all)
	slices.SortStableFunc(order, func(a, b audit.Write) int {
		return cmp.Or(
			cmp.Compare(len(a.ResourceVersion), len(b.ResourceVersion)),
			cmp.Compare(a.ResourceVersion, b.ResourceVersion),
		)
	})
	return slices.DeleteFunc(order, func(w audit.Write) bool {
		var now map[string]any
		if w.Object == nil || json.Unmarshal(w.Object, &now) != nil {
			return false
		}
		delete(now, "status")
		if meta, ok := now["metadata"].(map[string]any); ok {
			delete(meta, "resourceVersion")
			delete(meta, "managedFields")
			if annotations, ok := meta["annotations"].(map[string]any); ok {
				maps.DeleteFunc(
					annotations,
					func(k string, _ any) bool { return strings.HasPrefix(k, "deployment.kubernetes.io/") },
				)
				if len(annotations) == 0 {
					delete(meta, "annotations")
				}
			}
		}
		same := reflect.DeepEqual(now, last[w.UID])
		last[w.UID] = now
		return same && w.Subresource == "" && w.Resource == "deployments"
	})
}
