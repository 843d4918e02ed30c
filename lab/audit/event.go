// SPDX-License-Identifier: Apache-2.0

package audit

import (
	"encoding/json"
	"net/url"
	"slices"
	"time"
)

// event has the used fields of an audit.k8s.io/v1 Event.
type event struct {
	Level      string `json:"level"`
	AuditID    string `json:"auditID"`
	Stage      string `json:"stage"`
	RequestURI string `json:"requestURI"`
	Verb       string `json:"verb"`
	User       struct {
		Username string `json:"username"`
	} `json:"user"`
	UserAgent string `json:"userAgent"`
	ObjectRef *struct {
		Group       string `json:"apiGroup"`
		Resource    string `json:"resource"`
		Subresource string `json:"subresource"`
		Namespace   string `json:"namespace"`
		Name        string `json:"name"`
		UID         string `json:"uid"`
	} `json:"objectRef"`
	ResponseStatus struct {
		Code int `json:"code"`
	} `json:"responseStatus"`
	RequestObject  json.RawMessage `json:"requestObject"`
	ResponseObject json.RawMessage `json:"responseObject"`
	Received       time.Time       `json:"requestReceivedTimestamp"`
	Completed      time.Time       `json:"stageTimestamp"`
}

var (
	writeVerbs = []string{"create", "update", "patch", "delete", "deletecollection"}
	// reviews are API groups of reviews, which are not stored.
	reviews = []string{"authentication.k8s.io", "authorization.k8s.io"}
	// notStored are subresources for connections or responses only.
	notStored = []string{"exec", "attach", "portforward", "proxy", "log", "token"}
)

// mayWrite reports whether the request can have stored something: a successful
// write of a stored kind.
func (e *event) mayWrite() bool {
	return e.Stage == "ResponseComplete" && e.ObjectRef != nil &&
		slices.Contains(writeVerbs, e.Verb) &&
		e.ResponseStatus.Code >= 200 && e.ResponseStatus.Code < 300 &&
		!slices.Contains(reviews, e.ObjectRef.Group) &&
		!slices.Contains(notStored, e.ObjectRef.Subresource) &&
		!e.dryRun()
}

// dryRun reports whether the request was a dry run, by its query or, for a delete,
// its body.
func (e *event) dryRun() bool {
	if u, err := url.Parse(e.RequestURI); err == nil && u.Query().Has("dryRun") {
		return true
	}
	var body struct {
		Kind   string   `json:"kind"`
		DryRun []string `json:"dryRun"`
	}
	return json.Unmarshal(e.RequestObject, &body) == nil && body.Kind == "DeleteOptions" && len(body.DryRun) > 0
}

// object has the used fields of a response: an object, a list, or a Status with
// details.
type object struct {
	Kind     string `json:"kind"`
	Metadata struct {
		Name            string `json:"name"`
		Namespace       string `json:"namespace"`
		UID             string `json:"uid"`
		ResourceVersion string `json:"resourceVersion"`
		Generation      int64  `json:"generation"`

		DeletionTimestamp  *time.Time `json:"deletionTimestamp"`
		DeletionGraceLimit int64      `json:"deletionGracePeriodSeconds"`
		Finalizers         []string   `json:"finalizers"`
	} `json:"metadata"`
	Details struct {
		UID string `json:"uid"`
	} `json:"details"`
	Items []json.RawMessage `json:"items"`
}

// removed reports whether this state was the last: the object is being deleted,
// without grace period and finalizers, so it is not stored again.
func (o *object) removed() bool {
	m := &o.Metadata
	return m.DeletionTimestamp != nil && m.DeletionGraceLimit == 0 && len(m.Finalizers) == 0
}
