// SPDX-License-Identifier: Apache-2.0

package change

import (
	"slices"
	"strings"

	"github.com/kube-lifeline/lifeline/app/internal/history"
	"github.com/kube-lifeline/lifeline/app/internal/kind"
	"github.com/kube-lifeline/lifeline/app/internal/object"
)

// maxRefusals bounds the quotas and LimitRanges of one object.
const maxRefusals = 4

// refusals appends the quotas that refused dependants of t, and the LimitRanges of its Namespace if one of
// them did. Its conditions or its Events have the refusal.
func refusals(t *Timeline, to []object.Relation) []object.Relation {
	if t.Ref.Namespace == "" || !t.Kind().Owner {
		return to
	}
	found := 0
	add := func(message string) {
		r, ok := refusal(t.Ref.Namespace, message)
		if ok && found < maxRefusals && !slices.Contains(to, r) {
			found++
			to = append(slices.Clip(to), r)
		}
	}
	for _, v := range t.Versions {
		add(failure(v))
	}
	for _, e := range t.Events {
		add(failed(e))
	}
	return to
}

// refusedBefore appends the stored relations of t to quotas and LimitRanges.
func refusedBefore(t *Timeline, to []object.Relation) []object.Relation {
	for _, r := range t.Refers() {
		if r.Type == object.Quota || r.Type == object.Limits {
			to = append(slices.Clip(to), r)
		}
	}
	return to
}

// RefusedIn reports whether the condition of the object v has a refusal by the quota or LimitRange r.
func RefusedIn(v *history.Version, r object.Relation) bool {
	by, ok := refusal(r.To.Namespace, failure(v))
	return ok && by == r
}

// RefusedBy reports whether the Event has a refusal by the quota or LimitRange r.
func RefusedBy(e *history.Event, r object.Relation) bool {
	by, ok := refusal(r.To.Namespace, failed(e))
	return ok && by == r
}

// failure returns the message of a failed creation of a dependant in the condition of the object v, or "".
func failure(v *history.Version) string {
	if c := v.Condition("ReplicaFailure"); c != nil && c.Status == "True" {
		return c.Message
	}
	return ""
}

// failed returns the message of a failed creation of a dependant in the Event, or "".
func failed(e *history.Event) string {
	if e.Reason != FailedCreate {
		return ""
	}
	return e.Note
}

// FailedCreate is the reason of an Event about a refused dependant.
const FailedCreate = "FailedCreate"

// refusal returns the relation to the quota or the LimitRanges in a refusal of the API server. A refusal by a
// LimitRange does not name it. The default limit of one may be below a request.
func refusal(namespace, message string) (object.Relation, bool) {
	if name := quotaOf(message); name != "" {
		to := object.Name{Kind: kind.ResourceQuota.Kind.Kind, Namespace: namespace, Name: name}
		return object.Relation{Type: object.Quota, To: to}, true
	}
	if strings.Contains(message, " usage per ") || strings.Contains(message, " max limit to request ratio per ") ||
		strings.Contains(message, " limit of ") && strings.Contains(message, ".resources.requests: Invalid value") {
		return object.Relation{Type: object.Limits, To: LimitRanges(namespace)}, true
	}
	return object.Relation{}, false
}

// LimitRanges returns the name that all LimitRanges of a Namespace have.
func LimitRanges(namespace string) object.Name {
	return object.Name{Kind: kind.LimitRange.Kind.Kind, Namespace: namespace}
}

// quotaOf returns the name of the quota in a refusal of the API server, or "".
func quotaOf(message string) string {
	_, rest, found := strings.Cut(message, "exceeded quota: ")
	name, _, ends := strings.Cut(rest, ",")
	if !found || !ends || strings.ContainsAny(name, " \"") {
		return ""
	}
	return object.Bound(name)
}
