// SPDX-License-Identifier: Apache-2.0

package operator

import (
	"encoding/json"

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
	"github.com/kube-lifeline/lifeline/internal/supply"
)

// give adds the object's context to the response, and reports whether that context is new. It does
// nothing if it cannot decode the object.
func (a *admitter) give(w *work, req admission.Request, response *admission.Response) bool {
	sent, before := decodeObject(req.Object.Raw), decodeObject(req.OldObject.Raw)
	carries, ok := patched(req.Object.Raw, response)
	if sent == nil || !ok {
		return false
	}
	id := identity(w.kind, sent)
	id.Namespace = req.Namespace
	owner := metav1.GetControllerOfNoCopy(sent)
	d := supply.Admission{
		Rules:   supply.Rules{Convention: a.kit.convention, ID: id, Bag: w.bag, Offer: w.admitted},
		Created: req.Operation == admissionv1.Create,
		Sent: supply.Content{
			Annotations: carries, Desired: supply.State(sent.Object).Desired(), Generation: sent.GetGeneration(),
		},
		Controlled: owner != nil,
		Copied:     owner != nil && supply.Copied(w.kind.Group, w.kind.Kind, owner.Kind),
		Request:    w.parent, Now: w.start,
	}
	switch {
	case d.Created:
	case req.Operation == admissionv1.Update && before != nil:
		d.Before = supply.Content{
			Annotations: before.GetAnnotations(),
			Desired:     supply.State(before.Object).Desired(),
			Generation:  before.GetGeneration(),
		}
	default:
		return false
	}
	v, stale, ok := d.Decide()
	if !ok {
		return false
	}
	after := d.With(carries, v.Carry)
	if validation.ValidateAnnotationsSize(after) != nil && validation.ValidateAnnotationsSize(carries) == nil {
		return false // our context would make the API server refuse the object
	}
	if stale.IsValid() {
		w.link(stale, linkStale)
	}
	add(response, patchAnnotations(carries, after))
	return v.Context.IsValid()
}

// admitted returns the context for the admitted write. It is the context of the admission span.
func (w *work) admitted(child lifeline.Child) trace.SpanContext {
	sc := w.self
	if !w.exact() {
		sc = w.parent
	}
	if !sc.IsValid() {
		return sc
	}
	return lifeline.Claimed(sc, lifeline.Claim{
		Parent:     w.parent.SpanID(),
		Object:     child.Hash(),
		Digest:     child.Digest,
		Generation: child.Generation,
		Time:       w.start,
	})
}

func decodeObject(raw []byte) *unstructured.Unstructured {
	u := &unstructured.Unstructured{}
	if len(raw) == 0 || u.UnmarshalJSON(raw) != nil {
		return nil
	}
	supply.DropNulls(u.Object)
	return u
}

// patched returns the annotations after the response's patch; nil if there are none. It returns
// false if they are unknown, or if the object has no metadata.
func patched(raw []byte, response *admission.Response) (map[string]string, bool) {
	text := response.Patch
	if len(response.Patches) > 0 { // Patches override Patch
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

// add appends operations to the response's patch. It does not change an encoded patch that it
// cannot decode.
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

// patchAnnotations returns the JSON patch from one set of annotations to another.
func patchAnnotations(before, after map[string]string) []jsonpatch.JsonPatchOperation {
	patch := supply.Patch(before, after)
	ops := make([]jsonpatch.JsonPatchOperation, len(patch))
	for i, o := range patch {
		ops[i] = jsonpatch.NewOperation(o.Op, o.Path, o.Value)
	}
	return ops
}
