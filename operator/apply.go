// SPDX-License-Identifier: Apache-2.0

package operator

import (
	"encoding/json"
	"maps"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kube-lifeline/lifeline"
)

// described returns an apply configuration as an object of its own; nil if it
// is none.
func described(obj runtime.ApplyConfiguration) *unstructured.Unstructured {
	text, err := json.Marshal(obj)
	if err != nil {
		return nil
	}
	u := &unstructured.Unstructured{}
	if u.UnmarshalJSON(text) != nil {
		return nil
	}
	return u
}

// apply sends an apply configuration, which sent describes, with the context
// that it is to carry, and puts the answer where the caller looks for it and
// into sent, which holds all of it.
func (c *call) apply(to client.Client, obj runtime.ApplyConfiguration, sent *unstructured.Unstructured, opts ...client.ApplyOption) error {
	c.opine(sent)
	if err := to.Apply(c.ctx, client.ApplyConfigurationFromUnstructured(sent), opts...); err != nil {
		return err
	}
	if u, ok := obj.(interface{ SetUnstructuredContent(map[string]any) }); ok {
		u.SetUnstructuredContent(sent.Object)
		return nil
	}
	text, err := sent.MarshalJSON()
	if err != nil {
		return err
	}
	return json.Unmarshal(text, obj)
}

// patchApply decides for a server-side apply that is sent as a patch.
func (c *call) patchApply(obj client.Object, data []byte) []byte {
	u, body := &unstructured.Unstructured{}, parseBody(data)
	if body == nil || body.closed || utiljson.Unmarshal(data, &u.Object) != nil {
		return data
	}
	u.SetName(obj.GetName())
	u.SetNamespace(obj.GetNamespace())
	if !c.opine(u) {
		return data
	}
	body.annotations = nil
	if after := u.GetAnnotations(); len(after) > 0 && !body.add(after) {
		return data
	}
	return body.text(data)
}

// kept reports whether what was read last is to be carried on: it is of this
// very state, or there was no context, and nobody knows whether one would be
// the only change.
func (c *call) kept(s supply, digest lifeline.Digest) bool {
	had := s.context(c.last.carried)
	if !had.IsValid() {
		return c.last.sent == 0
	}
	claim, holds := lifeline.ClaimOf(had)
	return holds && claim.Names(s.id) && claim.Digest == digest
}

// opine puts on sent the context that it is to carry and reports whether that
// changed it. What an applier leaves out is removed, so a context that it has
// once sent it must send again.
func (c *call) opine(sent *unstructured.Unstructured) bool {
	if c.work.owns(c.gvk, c.key.ObjectKey) {
		return false
	}
	s := c.supply(sent)
	now := content{annotations: sent.GetAnnotations(), desired: stateOf(sent).desired()}
	part := now.desired
	if isDeployment(c.gvk) {
		part = rolledOut(part) // P3e
	}
	digest := part.digest()
	before, known := c.before()
	switch {
	case known:
		c.stamped(s.updated(before, now, true))
		c.decided.digest = digest
	case c.remembered && c.last.sent == digest:
		c.decided = verdict{carry: c.last.carried, digest: digest, attempts: c.last.attempts}
	case c.work.loose:
		// Its context differs each time, and what is there is not known.
		c.decided = verdict{carry: s.own(now.annotations), digest: digest}
	case c.remembered && c.kept(s, digest):
		c.decided = verdict{carry: c.last.carried, digest: digest}
	default:
		s.unsure = true
		now.desired = part
		if anchored := c.work.anchored(); anchored != nil {
			s.offer = anchored
			c.decided = s.created(now, c.work.context, 0)
			break
		}
		c.stamped(s.created(now, c.work.context, 0))
	}
	after := s.with(now.annotations, c.decided.carry)
	if maps.Equal(after, now.annotations) || known && !fitsBeside(before.annotations, after) {
		return false
	}
	if len(after) == 0 {
		after = nil // an empty map is never a no-op
	}
	sent.SetAnnotations(after)
	return true
}
