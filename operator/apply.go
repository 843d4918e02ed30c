// SPDX-License-Identifier: Apache-2.0

package operator

import (
	"encoding/json"
	"errors"
	"maps"
	"strings"

	"go.opentelemetry.io/otel/trace"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
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
	before, known := c.before()
	if known {
		c.opineOn(s, before, now)
	} else {
		c.opineBlindly(s, now)
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

// opineOn decides where it is known what was there before.
func (c *call) opineOn(s supply, before, now content) {
	v := s.updated(before, now, true)
	v.digest = now.part(s.gvk).digest()
	if _, chosen := s.chosen(now.annotations, s.context(before.annotations)); !chosen {
		there := s.own(before.annotations)
		v = c.limit(v, c.setters(there), there)
	}
	c.stamped(v)
}

// limit leaves out of a verdict what is not this applier's to say.
func (c *call) limit(v verdict, by setters, there map[string]string) verdict {
	made := v.context.IsValid()
	v = by.opinion(v, there, c.manager, c.force)
	if made && !v.context.IsValid() && c.try != (try{}) {
		c.work.kit.writes.tries.undo(c.try)
		c.try, c.again = try{}, false
	}
	return v
}

// setters are those of what was there before, which is known.
func (c *call) setters(there map[string]string) setters {
	if _, held := c.held(); held {
		return settersOf(c.cached, there)
	}
	if c.remembered && c.last.version == c.read.version {
		return c.last.setters
	}
	return setters{}
}

// opineBlindly decides where at best what this process wrote or read last is
// known.
func (c *call) opineBlindly(s supply, now content) {
	now.desired = now.part(s.gvk)
	digest := now.desired.digest()
	v := verdict{digest: digest, carry: s.own(now.annotations)}
	last := c.last
	switch {
	case c.remembered && last.blank:
	case c.remembered && last.sent == digest:
		v.carry = last.carried
		v = c.limit(v, last.setters, last.carried)
	case c.work.loose:
		// Its context differs each time, and what is there is not known.
	case c.remembered && c.kept(s, digest):
		v.carry = last.carried
		v = c.limit(v, last.setters, last.carried)
	default:
		s.unsure = true
		anchored := c.work.anchored()
		if anchored != nil {
			s.offer = anchored
		}
		v = s.created(now, c.work.context)
		if _, chosen := s.chosen(now.annotations, c.work.context); !chosen && c.remembered {
			v = c.limit(v, last.setters, last.carried)
		}
		if anchored == nil {
			c.stamped(v)
			return
		}
		v.context = trace.SpanContext{}
	}
	c.decided = v
}

// part is the desired state that a context of the kind stands for (P3e).
func (c content) part(gvk schema.GroupVersionKind) state {
	if isDeployment(gvk) {
		return rolledOut(c.desired)
	}
	return c.desired
}

// contested notes an apply that was refused because of the context: somebody
// else has set it.
func (c *call) contested(err error) {
	var status apierrors.APIStatus
	if !c.applies || c.sub != "" || !errors.As(err, &status) || status.Status().Details == nil {
		return
	}
	for _, cause := range status.Status().Details.Causes {
		key, ok := strings.CutPrefix(cause.Field, ".metadata.annotations.")
		if ok && cause.Type == metav1.CauseTypeFieldManagerConflict && c.work.kit.convention.Owns(key) {
			last := c.last
			last.blank, last.carried, last.setters = true, nil, setters{}
			c.work.kit.writes.keep(c.key, last)
			return
		}
	}
}
