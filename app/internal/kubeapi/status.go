// SPDX-License-Identifier: Apache-2.0

package kubeapi

import (
	"encoding/json"
	"fmt"
	"net/http"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kube-lifeline/lifeline/app/internal/api"
	"github.com/kube-lifeline/lifeline/app/internal/object"
)

// reasons are the reasons of HTTP statuses.
var reasons = map[int]metav1.StatusReason{
	http.StatusBadRequest:          metav1.StatusReasonBadRequest,
	http.StatusUnauthorized:        metav1.StatusReasonUnauthorized,
	http.StatusForbidden:           metav1.StatusReasonForbidden,
	http.StatusNotFound:            metav1.StatusReasonNotFound,
	http.StatusMethodNotAllowed:    metav1.StatusReasonMethodNotAllowed,
	http.StatusNotAcceptable:       metav1.StatusReasonNotAcceptable,
	http.StatusConflict:            metav1.StatusReasonConflict,
	http.StatusGone:                metav1.StatusReasonExpired,
	http.StatusTooManyRequests:     metav1.StatusReasonTooManyRequests,
	http.StatusServiceUnavailable:  metav1.StatusReasonServiceUnavailable,
	http.StatusGatewayTimeout:      metav1.StatusReasonTimeout,
	http.StatusInternalServerError: metav1.StatusReasonInternalError,
}

// Failure returns an error as Kubernetes writes it.
func Failure(code int, format string, args ...any) *metav1.Status {
	return &metav1.Status{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Status"},
		Status:   metav1.StatusFailure, Message: object.Bound(fmt.Sprintf(format, args...)),
		Reason: reasons[code], Code: int32(code), //nolint:gosec // a status of HTTP
	}
}

// WriteFailure writes an error.
func WriteFailure(w http.ResponseWriter, s *metav1.Status) { write(w, int(s.Code), jsonType, s) }

const jsonType = "application/json"

// write writes a document as JSON.
func write(w http.ResponseWriter, code int, contentType string, body any) {
	w.Header().Set("Content-Type", contentType)
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(code)
	_, _ = w.Write(append(encode(body), '\n')) //nolint:gosec // JSON; an error means that the client is gone
}

// encode returns a document as JSON. All documents of this package have a form in JSON.
func encode(body any) []byte {
	out, err := json.Marshal(body)
	if err != nil {
		panic(fmt.Sprintf("cannot write %T as JSON: %v", body, err))
	}
	return out
}

// WriteUnavailable writes that there is no answer now: as Kubernetes does, or as the API does for one of its own
// paths.
func WriteUnavailable(w http.ResponseWriter, r *http.Request, retry time.Duration, format string, args ...any) {
	s := Failure(http.StatusServiceUnavailable, format, args...)
	s.Details = &metav1.StatusDetails{RetryAfterSeconds: int32(retry / time.Second)} //nolint:gosec // small
	t, _ := targetOf(r.URL.Path)
	if t.name != "" && len(t.rest) > 0 || r.URL.Query().Has("stream") {
		write(w, int(s.Code), jsonType, api.Problem{Error: api.Error{Code: int(s.Code), Message: s.Message}})
		return
	}
	WriteFailure(w, s)
}
