// SPDX-License-Identifier: Apache-2.0

package operator

import (
	"encoding/json"
	"maps"
	"slices"

	jsonpatch "github.com/evanphx/json-patch/v5"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/strategicpatch"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kube-lifeline/lifeline/internal/supply"
)

// patch returns the patch to send, with a context if necessary. A patch that cannot be decoded is
// returned unchanged.
func (c *call) patch(obj client.Object, p client.Patch) client.Patch {
	data, err := p.Data(c.bearing(obj))
	if err != nil {
		return p // the client will return the same error
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

// bearing returns obj with its previous context if it lost the context. A patch is a difference
// between two objects, and a missing context does not mean removal.
func (c *call) bearing(obj client.Object) client.Object {
	s := c.supply(obj)
	carried := c.last.carried
	if before, known := c.before(); known {
		carried = s.Own(before.Annotations)
	}
	if len(carried) == 0 || len(s.Own(obj.GetAnnotations())) > 0 {
		return obj
	}
	kept, ok := obj.DeepCopyObject().(client.Object)
	if !ok {
		return obj
	}
	kept.SetAnnotations(s.With(obj.GetAnnotations(), carried))
	return kept
}

// patchMerge sets the context in a merge patch.
func (c *call) patchMerge(obj client.Object, kind types.PatchType, data []byte) []byte {
	body := parseBody(data)
	if body == nil {
		return data
	}
	s := c.supply(obj)
	// A context missing from the modified object does not mean removal.
	edited := body.drop(s)
	carry, _ := c.decidePatch(s, obj, func(old []byte) ([]byte, error) {
		if kind == types.MergePatchType {
			return jsonpatch.MergePatch(old, data)
		}
		return strategicpatch.StrategicMergePatch(old, data, obj)
	})
	edited = body.add(carry) || edited
	if !edited {
		return data
	}
	return body.text(data)
}

// patchJSON sets the context in a JSON patch. It does nothing for an object without annotations:
// adding the whole map could replace annotations of other writers.
func (c *call) patchJSON(obj client.Object, data []byte) []byte {
	p, err := jsonpatch.DecodePatch(data)
	if err != nil {
		return data
	}
	carry, after := c.decidePatch(c.supply(obj), obj, p.Apply)
	if _, there := after.At("metadata", "annotations").(map[string]any); !there {
		return data
	}
	var ops []json.RawMessage
	if json.Unmarshal(data, &ops) != nil {
		return data
	}
	for _, k := range slices.Sorted(maps.Keys(carry)) {
		op, err := json.Marshal(map[string]string{"op": "add", "path": supply.Path(k), "value": carry[k]})
		if err != nil {
			return data
		}
		ops = append(ops, op)
	}
	text, err := json.Marshal(ops)
	if err != nil || len(carry) == 0 {
		return data
	}
	return text
}

// decidePatch returns the context to add to a patch, and the patched object. It returns nil unless
// the patch certainly changes the desired state. Unlike for an update, an earlier read of the work
// does not suffice: a patch has no resourceVersion, so it may change nothing in a later version. The
// context would then be an additional write (P3).
func (c *call) decidePatch(
	s supply.Rules, obj client.Object, patched func(old []byte) ([]byte, error),
) (map[string]string, supply.State) {
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
		return nil, nil // not a valid object
	}
	sent := supply.Content{Annotations: annotationsOf(after), Desired: after.Desired()}
	v := s.Updated(before, sent, false)
	if !maps.Equal(s.Own(s.With(sent.Annotations, v.Carry)), v.Carry) {
		v = supply.Verdict{Digest: v.Digest} // the context exceeds the size limit
	}
	c.stamped(v)
	if !v.Context.IsValid() {
		return nil, nil
	}
	return v.Carry, after
}

// annotationsOf returns the annotations of an object.
func annotationsOf(s supply.State) map[string]string {
	all, _ := s.At("metadata", "annotations").(map[string]any)
	m := make(map[string]string, len(all))
	for k, v := range all {
		if text, ok := v.(string); ok {
			m[k] = text
		}
	}
	return m
}
