// SPDX-License-Identifier: Apache-2.0

package reason

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/kube-lifeline/lifeline/app/internal/history"
	"github.com/kube-lifeline/lifeline/app/internal/kind"
	"github.com/kube-lifeline/lifeline/app/internal/kind/judge"
)

// workload is the reason of an object with replicas or completions, and of any object that its
// controller has not seen.
func workload(v *history.Version, events []*history.Event) Reason {
	if r := gaveUp(v); r.Text != "" {
		return r
	}
	if v.ObservedGeneration >= 0 && v.ObservedGeneration < v.Generation {
		return Reason{Text: "waits for its controller to see the change", For: "its controller"}
	}
	if c := v.Condition("ReplicaFailure"); c != nil && c.Status == "True" {
		r := uncreated("Pods", says(c))
		r.Shown = c.Since
		return r
	}
	if e := newest(events, failedCreate); e != nil {
		return uncreated("Pods", explained(e.Reason, creation(e.Note)))
	}
	w := v.Workload
	switch {
	case w == nil || kind.Job.Is(v.Kind):
		return Reason{}
	case w.Paused && w.Updated < w.Replicas:
		return Reason{Category: Paused, Text: "is paused", For: "the end of its pause"}
	}
	updated := w.Total <= w.Replicas && (w.Updated >= w.Replicas || kind.ReplicaSet.Is(v.Kind))
	if updated && w.Ready >= w.Replicas && w.Available < w.Replicas && v.Field("spec.minReadySeconds") != nil {
		return Reason{
			Text: fmt.Sprintf("waits for minReadySeconds of %d ready Pods", w.Ready-w.Available),
			For:  "minReadySeconds",
		}
	}
	r := Reason{Text: fmt.Sprintf("has %d of %d replicas available", w.Available, w.Replicas), For: "its replicas"}
	if old := w.Total - w.Updated; kind.Deployment.Is(v.Kind) && old > 0 {
		r.Text += fmt.Sprintf(", and %d old", old)
	}
	return r
}

// failedCreate is the reason of an Event about a dependant that could not be created.
const failedCreate = "FailedCreate"

// creation returns the API server's message in an Event about a failed creation.
func creation(note string) string {
	for _, prefix := range []string{"Error creating: ", " failed error: "} {
		if _, rest, found := strings.Cut(note, prefix); found {
			return rest
		}
	}
	return note
}

// ends are the reasons of a Job's condition Failed.
var ends = map[string]Category{
	"BackoffLimitExceeded":     JobBackoffLimit,
	"DeadlineExceeded":         JobDeadline,
	"FailedIndexes":            JobIndexFailed,
	"MaxFailedIndexesExceeded": JobIndexFailed,
	"PodFailurePolicy":         JobFailurePolicy,
}

// gaveUp is the reason of a workload whose controller has declared failure.
func gaveUp(v *history.Version) Reason {
	text := judge.Failure(v)
	switch {
	case text == "":
		return Reason{}
	case kind.Deployment.Is(v.Kind):
		r := Reason{Category: ProgressDeadline, Text: text, For: "its replicas"}
		if c := v.Condition("Progressing"); c != nil {
			r.Shown = c.Since
		}
		return r
	case kind.Job.Is(v.Kind):
		r := Reason{Category: JobFailed, Text: text, For: "its completions"}
		if c := v.Condition("Failed"); c != nil {
			r.Category, r.Shown = cmp.Or(ends[c.Reason], JobFailed), c.Since
		}
		return r
	}
	return Reason{Category: category(v), Text: text, For: "its controller"}
}

// uncreated is the reason of a workload whose Pods, or other dependants of that name, are refused.
func uncreated(what, text string) Reason {
	why := text
	for _, prefix := range []string{"is forbidden: ", "Internal error occurred: "} {
		if _, rest, found := strings.Cut(why, prefix); found {
			why = rest
		}
	}
	return Reason{
		Category: Refusal(text), Text: "cannot create its " + what + ": " + belowRequest(why),
		For: "the creation of its " + what,
	}
}

// refusals are parts of the API server's messages, and their categories. The first one counts.
var refusals = []struct {
	part     string
	category Category
}{
	{"exceeded quota", QuotaExceeded},
	{"failed quota", QuotaExceeded},
	{"insufficient quota", QuotaExceeded},
	{"violates podsecurity", PodSecurity},
	{"failed calling webhook", WebhookUnavailable},
	{"failed to call webhook", WebhookUnavailable},
	{"admission webhook", RefusedByWebhook},
	{"validatingadmissionpolicy", RefusedByPolicy},
	{"policy", RefusedByPolicy},
	{"usage per", LimitRange},
	{"limit to request ratio", LimitRange},
	{"looking up service account", ServiceAccountMissing},
	{"serviceaccount \"", ServiceAccountMissing},
	{"no priorityclass with name", PriorityClassMissing},
	{"disruption budget", DisruptionBudget},
	{"poddisruptionbudget", DisruptionBudget},
	{"cannot create resource", Forbidden},
	{"cannot update resource", Forbidden},
	{"cannot patch resource", Forbidden},
	{"cannot delete resource", Forbidden},
	{"is invalid", Invalid},
	{"object has been modified", Conflict},
	{"apply failed", Conflict},
	// The reasons of the status, for a message that is withheld.
	{"conflict: ", Conflict},
	{"invalid: ", Invalid},
}

// Refusal returns the category of a write that the API server refused with that message.
func Refusal(text string) Category {
	for _, r := range refusals {
		if has(text, r.part) {
			return r.category
		}
	}
	return Refused
}
