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
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kube-lifeline/lifeline"
	"github.com/kube-lifeline/lifeline/internal/supply"
)

// described returns an apply configuration as an object; nil if it does not describe one.
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

// apply sends an apply configuration with its context. sent is obj as an object. The response is
// written to both; sent receives all fields.
func (c *call) apply(
	to client.Client, obj runtime.ApplyConfiguration, sent *unstructured.Unstructured, opts ...client.ApplyOption,
) error {
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

// patchApply sets the context in a server-side apply that is sent as a patch.
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

// kept reports whether the apply leaves the context as last known. That is so if the context was
// made for the same state. It is also so if there was no context and no earlier apply of this
// process, because a new context could be the only change.
func (c *call) kept(s supply.Rules, digest lifeline.Digest) bool {
	had := s.Context(c.last.carried)
	if !had.IsValid() {
		return c.last.sent == 0
	}
	claim, holds := lifeline.ClaimOf(had)
	return holds && claim.Names(s.ID) && claim.Digest == digest
}

// opine sets the context on sent, and reports whether sent changed. Server-side apply removes
// omitted fields. Therefore an applier must repeat a context that it has applied.
func (c *call) opine(sent *unstructured.Unstructured) bool {
	if c.work.owns(c.gvk, c.key.ObjectKey) {
		return false
	}
	s := c.supply(sent)
	now := supply.Content{Annotations: sent.GetAnnotations(), Desired: stateOf(sent).Desired()}
	before, known := c.before()
	if known {
		c.opineOn(s, before, now)
	} else {
		c.opineBlindly(s, now)
	}
	after := s.With(now.Annotations, c.decided.Carry)
	if maps.Equal(after, now.Annotations) || known && !supply.FitsBeside(before.Annotations, after) {
		return false
	}
	if len(after) == 0 {
		after = nil // an empty map would count as a change
	}
	sent.SetAnnotations(after)
	return true
}

// opineOn decides with a known state before the write.
func (c *call) opineOn(s supply.Rules, before, now supply.Content) {
	v := s.Updated(before, now, true)
	v.Digest = now.Part(s.ID).Digest()
	if _, chosen := s.Chosen(now.Annotations, s.Context(before.Annotations)); !chosen {
		there := s.Own(before.Annotations)
		v = c.limit(v, c.setters(there), there)
	}
	c.stamped(v)
}

// limit removes annotations of other managers from a verdict.
func (c *call) limit(v supply.Verdict, by setters, there map[string]string) supply.Verdict {
	made := v.Context.IsValid()
	v = by.opinion(v, there, c.manager, c.force)
	if made && !v.Context.IsValid() && c.try != (try{}) {
		c.work.kit.writes.tries.undo(c.try)
		c.try, c.again = try{}, false
	}
	return v
}

// setters returns the field managers of the context before the write.
func (c *call) setters(there map[string]string) setters {
	if _, held := c.held(); held {
		return settersOf(c.cached, there)
	}
	if c.remembered && c.last.version == c.read.version {
		return c.last.setters
	}
	return setters{}
}

// opineBlindly decides without a known state before the write. At best, this process's last write
// or read is known.
func (c *call) opineBlindly(s supply.Rules, now supply.Content) {
	now.Desired = now.Part(s.ID)
	digest := now.Desired.Digest()
	v := supply.Verdict{Digest: digest, Carry: s.Own(now.Annotations)}
	last := c.last
	switch {
	case c.remembered && last.blank:
	case c.remembered && last.sent == digest:
		v.Carry = last.carried
		v = c.limit(v, last.setters, last.carried)
	case c.work.loose:
		// Its context differs each time, and the state before is unknown.
	case c.remembered && c.kept(s, digest):
		v.Carry = last.carried
		v = c.limit(v, last.setters, last.carried)
	default:
		s.Unsure = true
		anchored := c.work.anchored()
		if anchored != nil {
			s.Offer = anchored
		}
		v = s.Created(now, c.work.context)
		if _, chosen := s.Chosen(now.Annotations, c.work.context); !chosen && c.remembered {
			v = c.limit(v, last.setters, last.carried)
		}
		if anchored == nil {
			c.stamped(v)
			return
		}
		v.Context = trace.SpanContext{}
	}
	c.decided = v
}

// contested records an apply that was refused because another manager set the context.
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
