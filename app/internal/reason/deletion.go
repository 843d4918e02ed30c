// SPDX-License-Identifier: Apache-2.0

package reason

import (
	"fmt"
	"math/bits"
	"regexp"
	"strings"

	"github.com/kube-lifeline/lifeline/app/internal/history"
	"github.com/kube-lifeline/lifeline/app/internal/kind"
	"github.com/kube-lifeline/lifeline/app/internal/object"
	"github.com/kube-lifeline/lifeline/app/internal/observation"
)

// foreground is the finalizer of an object that waits for its dependants.
const foreground = "foregroundDeletion"

// deletion is the reason of an object in deletion.
func deletion(v *history.Version, events []*history.Event) Reason {
	switch {
	case v.Deleting.IsZero():
		return Reason{}
	case kind.Namespace.Is(v.Kind):
		return content(v)
	case detachment(v).Text != "":
		return detachment(v)
	case len(v.Finalizers) == 1 && v.Finalizers[0] == foreground:
		return Reason{Category: Dependants, Text: "waits for the deletion of its dependants", For: "its dependants"}
	case len(v.Finalizers) > 0:
		return finalized(v)
	case v.Pod != nil:
		return disrupted(v, events)
	}
	return Reason{Text: "is terminating", For: "its removal"}
}

// holders are the controllers of well-known finalizers, and what each does before it removes its finalizer.
var holders = map[string]string{
	foreground:                         "the garbage collector, which deletes its dependants",
	"orphan":                           "the garbage collector, which releases its dependants",
	"kubernetes.io/pvc-protection":     "the end of the Pods that use it",
	pvProtection:                       "the deletion of its claim",
	"batch.kubernetes.io/job-tracking": "the Job controller, which counts its Pods",
	"service.kubernetes.io/load-balancer-cleanup":         "the cloud controller, which deletes its load balancer",
	"customresourcecleanup.apiextensions.k8s.io":          "the deletion of all objects of its kind",
	"external-provisioner.volume.kubernetes.io/finalizer": "its provisioner, which deletes the storage",
}

// finalized is the reason of an object with finalizers. It names the controller of each, or its author.
func finalized(v *history.Version) Reason {
	var parts []string
	for _, f := range v.Finalizers {
		if holder := holders[f]; holder != "" {
			if f == pvProtection {
				holder += claimOf(v)
			}
			parts = append(parts, holder+" (finalizer "+f+")")
			continue
		}
		parts = append(parts, "finalizer "+f+author(v))
	}
	r := waits(strings.Join(parts, ", and for "))
	r.Category = Finalizer
	return r
}

// pvProtection is the finalizer of a volume with a claim.
const pvProtection = "kubernetes.io/pv-protection"

// claimOf returns the name of a volume's claim, after a space; "" if there is none.
func claimOf(v *history.Version) string {
	for _, rel := range v.Relations {
		if rel.Type == object.Claim {
			return " " + rel.To.Namespace + "/" + rel.To.Name
		}
	}
	return ""
}

// Defined returns the reason of a CustomResourceDefinition in deletion by the objects of its kind; it is empty for
// any other object, and without such an object.
func Defined(s *observation.State, instances []*observation.State) Reason {
	if s == nil || !kind.CustomResourceDefinition.Is(s.Kind) || s.Deleting.IsZero() || len(instances) == 0 {
		return Reason{}
	}
	held := instances[0]
	for _, o := range instances {
		if !o.Deleting.IsZero() && len(o.Finalizers) > 0 {
			held = o
			break
		}
	}
	what := held.Kind.Kind + " " + strings.TrimPrefix(held.Namespace+"/"+held.Name, "/")
	r := Reason{Category: InUse, For: what, At: held.Ref, Text: "waits for the deletion of " + what}
	if n := len(instances) - 1; n > 0 {
		r.Text += fmt.Sprintf(" (and %d more)", n)
	}
	if !held.Deleting.IsZero() && len(held.Finalizers) > 0 {
		r.Text += ", which waits for finalizer " + strings.Join(held.Finalizers, ", ")
	}
	return r
}

// author names the field manager of the finalizers of v; "" if there are several.
func author(v *history.Version) string {
	l := v.Field("metadata.finalizers")
	if l == nil || bits.OnesCount64(l.Managers) != 1 || bits.TrailingZeros64(l.Managers) >= len(v.Managers) {
		return ""
	}
	return ", which " + v.Managers[bits.TrailingZeros64(l.Managers)].Name + " has set"
}

// Used returns the reason r of a claim in deletion by the Pods that use it, or r if there is none.
func Used(r Reason, claim *history.Version, pods []*history.Version) Reason {
	if len(pods) == 0 {
		return r
	}
	r.Since = claim.Deleting
	r.Category, r.At, r.For = InUse, *pods[0].Ref, "Pod "+pods[0].Name
	r.Text = "waits for the end of Pod " + pods[0].Name
	if n := len(pods) - 1; n > 0 {
		r.Text += fmt.Sprintf(" and %d more, which use it", n)
	} else {
		r.Text += ", which uses it"
	}
	return r
}

// Kept returns the reason of an object in deletion by the first of the objects that it waits for, or r if none of
// them has a reason.
func Kept(r Reason, below []Owned) Reason {
	for _, o := range below {
		if o.Reason.Category == "" {
			continue
		}
		r.At, r.For, r.Cause = *o.Ref, o.Kind.Kind+" "+o.Name, o.Reason.Category
		if o.Reason.At.Name != "" {
			r.At = o.Reason.At
		}
		r.Text = "waits for the deletion of " + r.For + ", which " + o.Reason.Text
		return r
	}
	return r
}

// disrupted is the reason of a Pod in deletion. Its condition DisruptionTarget names the author of an
// eviction.
func disrupted(v *history.Version, events []*history.Event) Reason {
	r := Reason{Text: "is terminating", For: "its containers to stop"}
	c := v.Condition("DisruptionTarget")
	if c == nil || c.Status != "True" || c.Reason != "PreemptionByScheduler" {
		return r
	}
	r.Category, r.Text = Preempted, "is preempted: "+says(c)
	if e := newest(events, "Preempted"); e != nil {
		r.Text = "is preempted " + strings.TrimPrefix(explained(e.Reason, e.Note), "Preempted ")
	}
	return r
}

// content is the reason of a Namespace in deletion.
func content(v *history.Version) Reason {
	var left []string
	for _, typ := range []string{
		"NamespaceDeletionContentFailure", "NamespaceFinalizersRemaining", "NamespaceContentRemaining",
	} {
		if c := v.Condition(typ); c != nil && c.Status == "True" {
			left = append(left, says(c))
		}
	}
	waits := "waits for the deletion of its content: " + strings.Join(left, "; ")
	undiscovered := v.Condition("NamespaceDeletionDiscoveryFailure")
	switch {
	case undiscovered != nil && undiscovered.Status == "True":
		r := Reason{Category: APIServiceUnavailable, For: "the API"}
		r.Text = "waits for " + unanswered(undiscovered)
		if len(left) > 0 {
			r.Text += "; it also " + waits
		} else {
			r.Text += "; its other content is already deleted"
		}
		return r
	case len(left) == 0:
		return Reason{Text: "is terminating", For: "the deletion of its content"}
	}
	return Reason{Category: NamespaceContent, Text: waits, For: "the deletion of its content"}
}

// api matches an API in the message of a failed discovery.
var api = regexp.MustCompile(`(?:list of server APIs: |, )([a-z0-9.-]+/v[a-z0-9]+): `)

// ownAPI is the API of Lifeline. Only a cluster without a Pod of `lifeline discovery` has no answer of it.
const (
	ownAPI  = "lifeline.dev/v1alpha1"
	ownWait = "API " + ownAPI + " of Lifeline, which no Pod of lifeline discovery answers"
)

// unanswered names the APIs that do not answer, by the condition of a failed discovery.
func unanswered(c *observation.Condition) string {
	var names []string
	for _, m := range api.FindAllStringSubmatch(c.Message, -1) {
		names = append(names, m[1])
	}
	switch len(names) {
	case 0:
		return "an API that does not answer: " + says(c)
	case 1:
		if names[0] == ownAPI {
			return ownWait
		}
		return "API " + names[0] + ", which does not answer"
	}
	return "APIs " + strings.Join(names, ", ") + ", which do not answer"
}
