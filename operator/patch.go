// SPDX-License-Identifier: Apache-2.0

package operator

import (
	"encoding/json"
	"strings"

	jsonpatch "github.com/evanphx/json-patch/v5"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/strategicpatch"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kube-lifeline/lifeline"
)

// patch decides for an object of which a part is written, and returns what is
// to be sent. What cannot be understood is sent as it is.
func (c *call) patch(obj client.Object, p client.Patch) client.Patch {
	data, err := p.Data(c.bearing(obj))
	if err != nil {
		return p // the client will meet the same error
	}
	var sent []byte
	switch p.Type() {
	case types.ApplyPatchType:
		sent = c.patchApply(obj, data)
	case types.MergePatchType, types.StrategicMergePatchType:
		sent = c.patchMerge(obj, p.Type(), data)
	case types.JSONPatchType:
		sent = c.patchJSON(obj, data)
	default:
		sent = data
	}
	return client.RawPatch(p.Type(), sent)
}

// bearing returns obj with the context that stands there, if it has lost it: a
// patch is what differs from another object, and leaving the context out is no
// wish to remove it.
func (c *call) bearing(obj client.Object) client.Object {
	s := c.supply(obj)
	carried := c.last.carried
	if before, known := c.before(); known {
		carried = s.own(before.annotations)
	}
	if len(carried) == 0 || len(s.own(obj.GetAnnotations())) > 0 {
		return obj
	}
	kept, ok := obj.DeepCopyObject().(client.Object)
	if !ok {
		return obj
	}
	kept.SetAnnotations(s.with(obj.GetAnnotations(), carried))
	return kept
}

// patchMerge decides for a merge patch.
func (c *call) patchMerge(obj client.Object, kind types.PatchType, data []byte) []byte {
	var body map[string]any
	if json.Unmarshal(data, &body) != nil || body == nil {
		return data
	}
	s := c.supply(obj)
	// Leaving the context out of the modified object is no wish to remove it.
	edited := dropContext(s, body)
	carry, _ := c.decidePatch(s, obj, func(old []byte) ([]byte, error) {
		if kind == types.MergePatchType {
			return jsonpatch.MergePatch(old, data)
		}
		return strategicpatch.StrategicMergePatch(old, data, obj)
	})
	if all := annotations(body, len(carry) > 0); all != nil {
		for k, v := range carry {
			all[k] = v
			edited = true
		}
	}
	if !edited {
		return data
	}
	text, err := json.Marshal(body)
	if err != nil {
		return data
	}
	return text
}

// dropContext takes out of a merge patch what it says of the context, but for
// one that the writer brings itself, and reports whether there was something.
func dropContext(s supply, body map[string]any) bool {
	meta, _ := body["metadata"].(map[string]any)
	all, _ := meta["annotations"].(map[string]any)
	brought, dropped := map[string]string{}, false
	for k, v := range all {
		if text, ok := v.(string); ok && s.convention.Owns(k) {
			brought[k] = text
		}
	}
	if sc := s.context(brought); sc.IsValid() {
		if _, ours := lifeline.ClaimOf(sc); !ours {
			return false
		}
	}
	for k := range all {
		if s.convention.Owns(k) {
			delete(all, k)
			dropped = true
		}
	}
	if dropped && len(all) == 0 {
		delete(meta, "annotations")
		if len(meta) == 0 {
			delete(body, "metadata")
		}
	}
	return dropped
}

// annotations returns the annotations of a patch's body, made if it does not
// speak of them and they are needed; nil if it says something else of them, such
// as that all are to go.
func annotations(body map[string]any, needed bool) map[string]any {
	meta := part(body, "metadata", needed)
	if meta == nil {
		return nil
	}
	return part(meta, "annotations", needed)
}

func part(of map[string]any, key string, needed bool) map[string]any {
	v, there := of[key]
	if !there && needed {
		made := map[string]any{}
		of[key] = made
		return made
	}
	m, _ := v.(map[string]any)
	return m
}

// patchJSON decides for a JSON patch.
func (c *call) patchJSON(obj client.Object, data []byte) []byte {
	p, err := jsonpatch.DecodePatch(data)
	if err != nil {
		return data
	}
	carry, after := c.decidePatch(c.supply(obj), obj, p.Apply)
	if len(carry) == 0 {
		return data
	}
	var ops []map[string]any
	if json.Unmarshal(data, &ops) != nil {
		return data
	}
	meta, _ := after["metadata"].(map[string]any)
	if v, there := meta["annotations"]; !there {
		ops = append(ops, map[string]any{"op": "add", "path": "/metadata/annotations", "value": map[string]string{}})
	} else if _, ok := v.(map[string]any); !ok {
		return data
	}
	for k, v := range carry {
		ops = append(ops, map[string]any{"op": "add", "path": "/metadata/annotations/" + pointer(k), "value": v})
	}
	text, err := json.Marshal(ops)
	if err != nil {
		return data
	}
	return text
}

// pointer escapes a key for a JSON pointer.
var pointer = strings.NewReplacer("~", "~0", "/", "~1").Replace

// decidePatch returns the context to add to a patch, and the object as patched;
// none unless it is certain that the patch changes the desired state.
func (c *call) decidePatch(s supply, obj client.Object, patched func(old []byte) ([]byte, error)) (map[string]string, state) {
	before, known := c.held()
	if !known || c.work.owns(c.gvk, c.key.ObjectKey) {
		return nil, nil
	}
	if formOf(obj) != formOf(c.cached) {
		return nil, nil
	}
	text, err := json.Marshal(c.cached)
	if err != nil {
		return nil, nil
	}
	text, err = patched(text)
	if err != nil {
		return nil, nil
	}
	after := parseState(text)
	if _, ok := after["metadata"].(map[string]any); !ok {
		return nil, nil // an object without that is none
	}
	v := s.updated(before, content{annotations: after.annotations(), desired: after.desired()}, false)
	c.stamped(v)
	if !v.context.IsValid() {
		return nil, nil
	}
	return v.carry, after
}

// annotations are those of a whole object.
func (s state) annotations() map[string]string {
	all, _ := s.at("metadata", "annotations").(map[string]any)
	m := make(map[string]string, len(all))
	for k, v := range all {
		if text, ok := v.(string); ok {
			m[k] = text
		}
	}
	return m
}
