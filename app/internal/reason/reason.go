// SPDX-License-Identifier: Apache-2.0

// Package reason says why an object does not have its desired state: one row of a closed list of
// categories, a text, and a command that shows more. It decides by the versions and the Events of
// the object. Package kind/judge decides whether the object has its desired state at all.
package reason

import (
	"slices"
	"strings"
	"time"

	"github.com/kube-lifeline/lifeline/app/internal/history"
	"github.com/kube-lifeline/lifeline/app/internal/kind/judge"
	"github.com/kube-lifeline/lifeline/app/internal/object"
	"github.com/kube-lifeline/lifeline/app/internal/observation"
	"github.com/kube-lifeline/lifeline/internal/message"
)

// Reason is why an object does not have its desired state.
type Reason struct {
	// Category is the row of the list; "" for an ordinary wait.
	Category Category
	// Text completes a sentence that begins with the object: "cannot pull image web:1: not found".
	Text string
	// For is what the object waits for, or waited for: "a node".
	For string
	// Container is the container in question, or "".
	Container string
	// At is another object that Next shows; its zero value stands for the object itself.
	At object.Ref
	// Cause is the category of the reason of that object, if the wait lasts as long as it; else "".
	Cause Category
	// Fields are the fields whose newest change led to the reason, such as spec.suspend; none if that is not
	// known.
	Fields []Field
	// Note means that the object works as declared. The text then completes the verdict.
	Note bool
	// Since is when the object got the reason; zero if its versions show that, or nothing does.
	Since time.Time
	// Shown is the transition of the condition that shows the reason; zero without one. A time that the versions
	// show has precedence.
	Shown time.Time
}

// Field is a field of an object.
type Field struct {
	// Of is the object; its zero value stands for the object with the reason.
	Of object.Ref
	// Path is without the keys of list items: "spec.template.spec.containers.ports".
	Path string
	// Changed means that a creation of the object does not count.
	Changed bool
}

// waits returns an ordinary wait.
func waits(what string) Reason { return Reason{Text: "waits for " + what, For: what} }

// Of returns the reason for v, a version that has not converged. events are the Events about the
// object, or nil.
func Of(v *history.Version, events []*history.Event) Reason {
	for _, family := range []func(*history.Version, []*history.Event) Reason{
		deletion, scheduling, startup, running, volumes, controlPlane, workload, network, others,
	} {
		if r := family(v, events); r.Text != "" {
			return r
		}
	}
	return Reason{Text: "has not reported completion", For: "its controller"}
}

// newest returns the newest Event with one of those reasons, or nil.
func newest(events []*history.Event, reasons ...string) *history.Event {
	var out *history.Event
	for _, e := range events {
		if slices.Contains(reasons, e.Reason) && (out == nil || e.ResourceVersion > out.ResourceVersion) {
			out = e
		}
	}
	return out
}

// explained returns text, or other if there is none. A withheld message gets its reason.
func explained(reason, text string) string {
	if text == message.Withheld || text == "" {
		return message.WithReason(reason, text)
	}
	return text
}

// says returns the message of a condition for the end of a sentence.
func says(c *observation.Condition) string {
	return strings.TrimSuffix(strings.TrimSuffix(explained(c.Reason, judge.ConditionText(c)), ": "), ".")
}

// refused returns the condition of that type if it is False, or nil.
func refused(v *history.Version, typ string) *observation.Condition {
	if c := v.Condition(typ); c != nil && c.Status == "False" {
		return c
	}
	return nil
}

// has reports whether text contains one of the parts, in any case.
func has(text string, parts ...string) bool {
	text = strings.ToLower(text)
	return slices.ContainsFunc(parts, func(p string) bool { return strings.Contains(text, p) })
}

// about returns a reason by a condition.
func about(category Category, verb string, c *observation.Condition) Reason {
	r := Reason{Category: category, Text: verb, For: "its condition " + c.Type, Shown: c.Since}
	if why := says(c); why != "" {
		r.Text += ": " + why
	}
	return r
}
