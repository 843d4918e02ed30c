// SPDX-License-Identifier: Apache-2.0

package answer

import (
	"fmt"
	"strings"
	"time"

	"github.com/kube-lifeline/lifeline/app/internal/kind"
	"github.com/kube-lifeline/lifeline/app/internal/object"
	"github.com/kube-lifeline/lifeline/app/internal/span"
)

// Ended is how a removed object had ended before its deletion.
type Ended struct {
	State    State     `json:"state"`
	Category string    `json:"category,omitempty"`
	Reason   string    `json:"reason,omitempty"`
	TraceID  string    `json:"traceId,omitempty"`
	End      time.Time `json:"end,omitzero"`
}

// removers are the components that remove objects by a rule, and that rule.
var removers = map[string]string{
	"ttl-after-finished-controller": "its TTL",
	"generic-garbage-collector":     "the garbage collector",
	"garbage-collector":             "the garbage collector",
	"pod-garbage-collector":         "the garbage collector of Pods",
	"cronjob-controller":            "its CronJob's controller",
}

// removedBy returns the rule by which the object was removed; "" for a deletion by an author of another kind, or by
// that of another object.
func (a *Answer) removedBy() string {
	if !a.deleted() {
		return ""
	}
	return removers[a.Cause.Who[strings.LastIndexByte(a.Cause.Who, ':')+1:]]
}

// deleted reports whether the change is the deletion of the object itself.
func (a *Answer) deleted() bool {
	return a.State == State(span.Deleted) && a.Cause.Verb == "delete" && a.Cause.Object.Kind == a.Object.Kind &&
		a.Cause.Object.Name == a.Object.Name && a.Cause.Object.Namespace == a.Object.Namespace
}

// Lost reports whether the object had failed before a rule removed it: its removal is no success.
func (a *Answer) Lost() bool {
	return a.removedBy() != "" && a.Ended != nil && a.Ended.State == State(span.Failed)
}

// EndBefore sets how the object had ended before its deletion, by an older trace with it. It reports whether the
// trace shows that.
func (a *Answer) EndBefore(t *span.Trace, now time.Time) bool {
	before := Explain(t, object.Ref{UID: a.Object.UID}, now)
	if before.Object.UID != a.Object.UID {
		return false
	}
	switch before.State {
	case State(span.Converged), State(span.Failed), State(span.Unfinished):
		a.Ended = &Ended{before.State, before.Category, before.Reason, before.Cause.TraceID, before.End}
		return true
	}
	return false
}

// endWithin sets how the object had ended before its deletion in the same trace.
func (a *Answer) endWithin(t *span.Trace, deletion *span.Span) {
	var last *span.Span
	for _, s := range t.Spans {
		earlier := s.IsReconciliation() && s.Origin == nil && s.Object.UID == deletion.Object.UID &&
			s.Start.Before(deletion.Start.Time)
		if earlier && s.Object.UID != "" && (last == nil || s.Start.After(last.Start.Time)) {
			last = s
		}
	}
	if last != nil && (last.Outcome == span.Converged || last.Outcome == span.Failed) {
		a.Ended = &Ended{State: State(last.Outcome), Reason: last.Message, End: last.End.Time}
	}
}

// gone is the sentence about a removed object: by whom, and how it had ended.
func (a *Answer) gone(subject string, now time.Time) string {
	text := subject + " was deleted"
	switch rule := a.removedBy(); {
	case rule != "":
		text = subject + " was removed by " + rule
	case a.deleted() && a.Cause.Who != "":
		text += " by " + shown(a.Cause.Who)
	}
	text += " " + long(now.Sub(a.End)) + " ago"
	if took := a.End.Sub(a.Start); took >= time.Second {
		text += ", in " + long(took)
		if a.Slowest != "" {
			text += fmt.Sprintf("; slowest: %s (%d %%)", shown(a.Slowest), a.Share)
		}
	}
	if a.Reason != "" {
		text += ": " + shown(strings.TrimSuffix(a.Reason, "."))
	}
	text += "."
	e := a.Ended
	if e == nil {
		return text
	}
	switch {
	case e.State == State(span.Failed):
		text += " Before, it had failed"
	case e.State == State(span.Converged) && kind.Job.Is(a.Object.Kind):
		text += " Before, it had completed"
	case e.State == State(span.Converged):
		text += " Before, it had converged"
	default:
		text += " Before, it had not converged"
	}
	reason := strings.TrimPrefix(e.Reason, a.Object.Kind.Kind+" "+a.Object.Name+" ")
	for _, again := range []string{"failed: ", "failed"} {
		reason = strings.TrimPrefix(reason, again)
	}
	if reason != "" {
		text += ": " + shown(strings.TrimSuffix(reason, "."))
	}
	return text + "."
}
