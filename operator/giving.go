// SPDX-License-Identifier: Apache-2.0

package operator

import (
	"encoding/json"
	"maps"
	"slices"
	"time"

	evanphx "github.com/evanphx/json-patch/v5"
	"go.opentelemetry.io/otel/trace"
	"gomodules.xyz/jsonpatch/v2"
	admissionv1 "k8s.io/api/admission/v1"
	"k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	"github.com/kube-lifeline/lifeline"
)

// fresh is the age up to which a context may be of an earlier call of a webhook
// for the same write: the longest that the API server waits for one webhook.
const fresh = 30 * time.Second

// give adds to the response the context that the object is to carry, and
// reports whether that is a new one. What cannot be read is left as it is.
func (a *admitter) give(w *work, req admission.Request, response *admission.Response) bool {
	sent, before := decodeObject(req.Object.Raw), decodeObject(req.OldObject.Raw)
	carries, ok := patched(req.Object.Raw, response)
	if sent == nil || !ok {
		return false
	}
	s := supply{convention: a.kit.convention, gvk: w.kind, id: identity(w.kind, sent), bag: w.bag, offer: w.admitted}
	s.id.Namespace = req.Namespace
	now := content{annotations: carries, desired: state(sent.Object).desired()}
	saved := s.context(carries)
	if w.parent.IsValid() && sameSpan(saved, w.parent) {
		return false // the writer has just made it
	}
	owner := metav1.GetControllerOfNoCopy(sent)
	var v verdict
	switch {
	case req.Operation == admissionv1.Create:
		if w.kind.Group == "apps" && w.kind.Kind == "ReplicaSet" && owner != nil && owner.Kind == "Deployment" {
			return false // P3c: its controller copies the Deployment's
		}
		if w.repeats(s, saved, now, sent) {
			return false
		}
		v = s.created(now, trace.SpanContext{})
	case req.Operation == admissionv1.Update && before != nil:
		if owner != nil {
			s.offer = noOffer // P3c
		}
		old := content{annotations: before.GetAnnotations(), desired: state(before.Object).desired(), generation: before.GetGeneration()}
		had := s.context(old.annotations)
		if sameSpan(saved, had) {
			saved = trace.SpanContext{}
		} else if w.repeatsUpdate(s, saved, had, s.next(old, now)) {
			return false
		}
		v = s.updated(old, now, false)
	default:
		return false
	}
	after := s.with(carries, v.carry)
	if validation.ValidateAnnotationsSize(after) != nil && validation.ValidateAnnotationsSize(carries) == nil {
		return false // the API server would refuse the object for our sake
	}
	if v.context.IsValid() && saved.IsValid() {
		w.link(saved, linkStale) // P3g: one of ours of another time
	}
	add(response, patchAnnotations(carries, after))
	return v.context.IsValid()
}

// repeats reports whether an object that is created carries what an earlier call
// for the same create gave it: the API server calls again, with another UID, if
// a later webhook has changed the object. What the object says now need not be
// what the writer sent then, and the claim keeps telling of that. But what was
// read from a cluster, which has given it a generation, and was edited, is
// another create, be it of the same second.
func (w *work) repeats(s supply, saved trace.SpanContext, now content, sent metav1.Object) bool {
	claim, ok := w.fresh(s, saved)
	return ok && (sent.GetGeneration() == 0 || claim.Digest == now.desired.digest())
}

// repeatsUpdate is repeats for an object that carried had before and that the
// update gives a generation, 0 if unknown. An undo carries what is older than
// that.
func (w *work) repeatsUpdate(s supply, saved, had trace.SpanContext, generation int64) bool {
	claim, ok := w.fresh(s, saved)
	if !ok || claim.Generation != generation {
		return false
	}
	before, _ := lifeline.ClaimOf(had)
	return generation > 0 || claim.Time.After(before.Time)
}

// fresh returns the claim beside a context that was made a moment ago, for the
// object in question, and in the trace of the request if it is of one.
func (w *work) fresh(s supply, saved trace.SpanContext) (lifeline.Claim, bool) {
	claim, holds := lifeline.ClaimOf(saved)
	if !holds || !claim.Names(s.id) || claim.Time.IsZero() || w.start.Sub(claim.Time).Abs() > fresh {
		return claim, false
	}
	return claim, !w.parent.IsValid() || w.parent.TraceID() == saved.TraceID()
}

// admitted makes the context of the write that is being admitted: that of the
// admission span itself, which stands for it.
func (w *work) admitted(child lifeline.Child) trace.SpanContext {
	sc := w.self
	if !w.exact() {
		sc = w.parent
	}
	if !sc.IsValid() {
		return sc
	}
	return lifeline.Claimed(sc, lifeline.Claim{
		Parent: w.parent.SpanID(), Object: child.Hash(), Digest: child.Digest, Generation: child.Generation, Time: w.start,
	})
}

func decodeObject(raw []byte) *unstructured.Unstructured {
	u := &unstructured.Unstructured{}
	if len(raw) == 0 || u.UnmarshalJSON(raw) != nil {
		return nil
	}
	dropNulls(u.Object)
	return u
}

// patched returns the annotations as the response leaves them, nil if there are
// none; false if they cannot be known, or there is nowhere to put them.
func patched(raw []byte, response *admission.Response) (map[string]string, bool) {
	text := response.Patch
	if len(response.Patches) > 0 { // these count, if there are both
		var err error
		if text, err = json.Marshal(response.Patches); err != nil {
			return nil, false
		}
	}
	if text != nil {
		ops, err := evanphx.DecodePatch(text)
		if err != nil {
			return nil, false
		}
		if raw, err = ops.Apply(raw); err != nil {
			return nil, false
		}
	}
	var obj struct {
		Metadata *struct {
			Annotations map[string]string `json:"annotations"`
		} `json:"metadata"`
	}
	if utiljson.Unmarshal(raw, &obj) != nil || obj.Metadata == nil {
		return nil, false
	}
	return obj.Metadata.Annotations, true
}

// add adds operations to the response's patch, which may be encoded already and
// then stays as it is.
func add(response *admission.Response, more []jsonpatch.JsonPatchOperation) {
	if len(more) == 0 {
		return
	}
	if response.Patch == nil || len(response.Patches) > 0 {
		response.Patches = append(response.Patches, more...)
		return
	}
	var all []json.RawMessage
	if json.Unmarshal(response.Patch, &all) != nil {
		return
	}
	for _, op := range more {
		text, err := op.MarshalJSON()
		if err != nil {
			return
		}
		all = append(all, text)
	}
	if text, err := json.Marshal(all); err == nil {
		response.Patch = text
	}
}

// patchAnnotations is the JSON patch from one set of annotations to another.
func patchAnnotations(before, after map[string]string) []jsonpatch.JsonPatchOperation {
	var ops []jsonpatch.JsonPatchOperation
	if before == nil && len(after) > 0 {
		ops = append(ops, jsonpatch.NewOperation("add", "/metadata/annotations", map[string]string{}))
	}
	for _, k := range slices.Sorted(maps.Keys(after)) {
		if was, had := before[k]; !had || was != after[k] {
			ops = append(ops, jsonpatch.NewOperation("add", "/metadata/annotations/"+pointer(k), after[k]))
		}
	}
	for _, k := range slices.Sorted(maps.Keys(before)) {
		if _, kept := after[k]; !kept {
			ops = append(ops, jsonpatch.NewOperation("remove", "/metadata/annotations/"+pointer(k), nil))
		}
	}
	return ops
}
