// SPDX-License-Identifier: Apache-2.0

package review

import (
	"context"
	"encoding/json"
	"net/http"

	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"
	admissionv1 "k8s.io/api/admission/v1"
	authenticationv1 "k8s.io/api/authentication/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	utiljson "k8s.io/apimachinery/pkg/util/json"

	"github.com/kube-lifeline/lifeline/app/internal/webhook/decision"
	"github.com/kube-lifeline/lifeline/internal/supply"
)

var background = context.Background()

// review has the used fields of an AdmissionReview.
type review struct {
	metav1.TypeMeta `json:",inline"`
	Request         *struct {
		UID         types.UID                 `json:"uid"`
		Kind        metav1.GroupVersionKind   `json:"kind"`
		SubResource string                    `json:"subResource"`
		Name        string                    `json:"name"`
		Namespace   string                    `json:"namespace"`
		Operation   admissionv1.Operation     `json:"operation"`
		UserInfo    authenticationv1.UserInfo `json:"userInfo"`
		DryRun      bool                      `json:"dryRun"`
		Object      any                       `json:"object"`
		OldObject   any                       `json:"oldObject"`
	} `json:"request"`
}

// call is one decoded review.
type call struct {
	uid types.UID
	// request is nil if no decision is needed.
	request *decision.Request
	// annotations are the object's annotations; nil if it has none.
	annotations map[string]string
}

// parse decodes a review. For an operation or object that cannot get a context, request stays nil.
func parse(body []byte) (*call, error) {
	var r review
	if err := utiljson.Unmarshal(body, &r); err != nil {
		return nil, &problem{http.StatusBadRequest, "the body is not an AdmissionReview in JSON"}
	}
	if r.Kind != "AdmissionReview" || r.APIVersion != admissionv1.SchemeGroupVersion.String() || r.Request == nil ||
		r.Request.UID == "" {
		return nil, &problem{
			http.StatusBadRequest,
			"the body is not an AdmissionReview of admission.k8s.io/v1 with a request and its uid",
		}
	}
	c := &call{uid: r.Request.UID}
	object, whole := values(r.Request.Object)
	before, known := values(r.Request.OldObject)
	switch r.Request.Operation {
	case admissionv1.Create:
		before = nil
	case admissionv1.Update:
		whole = whole && known
	case admissionv1.Delete:
		object, before, whole = nil, nil, true // a deleted object cannot be patched
	default:
		return c, nil
	}
	if !whole {
		return c, nil
	}
	c.request = &decision.Request{
		UID:    string(r.Request.UID),
		Create: r.Request.Operation == admissionv1.Create,
		Kind: schema.GroupVersionKind{
			Group:   r.Request.Kind.Group,
			Version: r.Request.Kind.Version,
			Kind:    r.Request.Kind.Kind,
		},
		Namespace:   r.Request.Namespace,
		Name:        r.Request.Name,
		Subresource: r.Request.SubResource,
		User:        decision.User{Name: r.Request.UserInfo.Username, Groups: r.Request.UserInfo.Groups},
		DryRun:      r.Request.DryRun,
		Object:      object,
		Before:      before,
	}
	c.annotations = annotations(object)
	return c, nil
}

// values returns the members of a JSON object without nulls; false if the value is not an object.
func values(object any) (map[string]any, bool) {
	m, ok := object.(map[string]any)
	supply.DropNulls(m)
	return m, ok
}

func annotations(object map[string]any) map[string]string {
	meta, _ := object["metadata"].(map[string]any)
	all, there := meta["annotations"].(map[string]any)
	if !there {
		return nil
	}
	out := make(map[string]string, len(all))
	for k, v := range all {
		out[k], _ = v.(string)
	}
	return out
}

// Keys of audit annotations. The API server adds the webhook's name as a prefix.
const (
	auditContext  = "context"
	auditEvidence = "evidence"
	auditRequest  = "request"
	auditRefused  = "refused"
	auditServer   = "server"
)

// reply returns the AdmissionReview with the response to c.
func (c *call) reply(a decision.Answer) ([]byte, error) {
	response := &admissionv1.AdmissionResponse{UID: c.uid, Allowed: true}
	if a.Annotations != nil {
		patch, err := json.Marshal(supply.Patch(c.annotations, a.Annotations))
		if err != nil {
			return nil, err
		}
		kind := admissionv1.PatchTypeJSONPatch
		response.Patch, response.PatchType = patch, &kind
	}
	for key, value := range map[string]string{
		auditContext: traceparent(a.Context), auditEvidence: string(a.Evidence), auditRefused: traceparent(a.Refused),
		auditRequest: traceparent(a.Request), auditServer: traceparent(a.Beside),
	} {
		if value == "" {
			continue
		}
		if response.AuditAnnotations == nil {
			response.AuditAnnotations = map[string]string{}
		}
		response.AuditAnnotations[key] = value
	}
	return json.Marshal(admissionv1.AdmissionReview{
		TypeMeta: metav1.TypeMeta{
			APIVersion: admissionv1.SchemeGroupVersion.String(),
			Kind:       "AdmissionReview",
		},
		Response: response,
	})
}

// traceparent returns a span context as W3C text; "" if it is invalid.
func traceparent(sc trace.SpanContext) string {
	if !sc.IsValid() {
		return ""
	}
	carrier := propagation.MapCarrier{}
	propagation.TraceContext{}.Inject(trace.ContextWithSpanContext(background, sc), carrier)
	return carrier["traceparent"]
}
