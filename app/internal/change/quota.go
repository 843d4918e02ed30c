// SPDX-License-Identifier: Apache-2.0

package change

import (
	"slices"
	"strings"

	"github.com/kube-lifeline/lifeline/app/internal/history"
	"github.com/kube-lifeline/lifeline/app/internal/kind"
	"github.com/kube-lifeline/lifeline/app/internal/object"
)

// maxQuotas bounds the quotas of one object.
const maxQuotas = 4

// quotas appends the quotas that refused dependants of t. Its conditions or its Events name them.
func quotas(t *Timeline, to []object.Relation) []object.Relation {
	if t.Ref.Namespace == "" || !t.Kind().Owner {
		return to
	}
	found := 0
	add := func(name string) {
		r := object.Relation{Type: object.Quota, To: QuotaName(t.Ref.Namespace, name)}
		if name != "" && found < maxQuotas && !slices.Contains(to, r) {
			found++
			to = append(slices.Clip(to), r)
		}
	}
	for _, v := range t.Versions {
		add(RefusingQuota(v))
	}
	for _, e := range t.Events {
		add(quotaIn(e))
	}
	return to
}

// QuotaName returns the name of a ResourceQuota.
func QuotaName(namespace, name string) object.Name {
	return object.Name{Kind: kind.ResourceQuota.Kind.Kind, Namespace: namespace, Name: name}
}

// RefusingQuota returns the quota that refused the last dependant of the object v by its condition, or
// "".
func RefusingQuota(v *history.Version) string {
	if c := v.Condition("ReplicaFailure"); c != nil && c.Status == "True" {
		return quotaOf(c.Message)
	}
	return ""
}

// RefusedBy reports whether the Event reports a dependant refused by the quota.
func RefusedBy(e *history.Event, quota string) bool { return quotaIn(e) == quota }

func quotaIn(e *history.Event) string {
	if e.Reason != FailedCreate {
		return ""
	}
	return quotaOf(e.Note)
}

// FailedCreate is the reason of an Event about a refused dependant.
const FailedCreate = "FailedCreate"

// quotaOf returns the name of the quota in a refusal of the API server, or "".
func quotaOf(message string) string {
	_, rest, found := strings.Cut(message, "exceeded quota: ")
	name, _, ends := strings.Cut(rest, ",")
	if !found || !ends || strings.ContainsAny(name, " \"") {
		return ""
	}
	return object.Bound(name)
}
