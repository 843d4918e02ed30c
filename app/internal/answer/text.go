// SPDX-License-Identifier: Apache-2.0

package answer

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/duration"

	"github.com/kube-lifeline/lifeline/app/internal/object"
	"github.com/kube-lifeline/lifeline/app/internal/render"
	"github.com/kube-lifeline/lifeline/app/internal/span"
)

// Text returns the answer in sentences, one a line. namespace is the user's: objects in it are named
// without theirs.
func (a *Answer) Text(now time.Time, namespace string) string {
	lines := []string{a.verdict(now, namespace)}
	if a.Was != "" && !a.State.Bad() {
		text := "It has recovered; before, it was " + string(a.Was)
		if a.WasFor != "" {
			text += ": " + shown(a.WasFor)
		}
		lines = append(lines, text+".")
	}
	if a.Aftermath != "" && a.State != State(span.Converged) {
		lines = append(lines, "Its change converged; since then "+shown(a.Aftermath)+".")
	}
	if text := a.Attempt.text(); text != "" {
		lines = append(lines, shown(text))
	}
	if a.Note != "" {
		lines = append(lines, "It "+shown(strings.TrimPrefix(a.Note, a.Object.Kind.Kind+" "+a.Object.Name+" "))+".")
	}
	switch {
	case a.State == Refused:
		lines = append(lines, "Request: "+a.Cause.request(a.Start, now)+".")
	case a.Reason != "" || a.Note != "" && !a.Later || a.State == State(span.Deleted):
		label := "Cause: "
		if a.Later {
			label = "Last change: "
		}
		lines = append(lines, label+a.Cause.text(a.Start, now, namespace)+".")
		for i := range a.Nodes {
			lines = append(lines, a.Nodes[i].text(now, namespace))
		}
		if text := a.history(now); text != "" {
			lines = append(lines, text)
		}
	}
	if a.Cause.Fight != "" {
		lines = append(lines, "It fights over "+shown(a.Cause.Fight)+".")
	}
	if a.Next != "" {
		lines = append(lines, "Next: "+shown(a.Next))
	}
	return strings.Join(lines, "\n") + "\n"
}

// verdict is the first sentence.
func (a *Answer) verdict(now time.Time, namespace string) string {
	subject, change := named(a.Object, namespace), "The change"
	if a.Object.Name == "" {
		subject = change
	} else {
		change += " of " + subject
	}
	// "it" instead of the same object again.
	reason := a.Reason
	if rest, same := strings.CutPrefix(reason, a.Object.Kind.Kind+" "+a.Object.Name+" "); same {
		reason = "it " + rest
	} else if word, _, _ := strings.Cut(reason, " "); word == "is" || word == "has" || word == "does" {
		reason = "it " + reason
	}
	reason = shown(strings.TrimSuffix(reason, "."))
	if reason != "" {
		reason = ": " + reason
	}
	switch {
	case a.State == Refused:
		return a.refusal(now)
	case a.State == Stuck && a.Since.IsZero():
		return fmt.Sprintf("%s is stuck%s.", subject, reason)
	case a.State == Stuck:
		return fmt.Sprintf("%s has been stuck for %s%s.", subject, long(now.Sub(a.Since)), reason)
	case a.State == Held && a.Since.IsZero():
		return fmt.Sprintf("%s is held%s.", subject, reason)
	case a.State == Held:
		return fmt.Sprintf("%s has been held for %s%s.", subject, long(now.Sub(a.Since)), reason)
	case a.State == Running:
		return fmt.Sprintf("%s has been running for %s%s.", change, long(now.Sub(a.Start)), reason)
	case a.State == State(span.Failed):
		return fmt.Sprintf("%s failed %s ago%s.", subject, long(now.Sub(a.End)), reason)
	case a.State == State(span.Unfinished):
		return fmt.Sprintf("%s is unfinished after %s%s.", subject, long(a.End.Sub(a.Start)), reason)
	}
	if a.State == State(span.Deleted) {
		return a.gone(subject, now)
	}
	text := fmt.Sprintf("%s %s %s ago, in %s", subject, cmp.Or(done[a.State], "ended"), long(now.Sub(a.End)),
		long(a.End.Sub(a.Start)))
	if a.Slowest != "" {
		text += fmt.Sprintf("; slowest: %s (%d %%)", shown(a.Slowest), a.Share)
	}
	if a.Remark != "" {
		text += "; " + shown(strings.TrimSuffix(a.Remark, "."))
	}
	if a.Aftermath != "" && a.State == State(span.Converged) {
		text += "; since then " + shown(a.Aftermath)
	}
	return text + "."
}

// done are the verbs of the states in which nothing is wrong.
var done = map[State]string{
	State(span.Converged):  "converged",
	State(span.Superseded): "was superseded by a newer change",
}

// history is the sentence about the time before the reason.
func (a *Answer) history(now time.Time) string {
	switch {
	case a.Category == "":
		return ""
	case a.Since.IsZero() && a.Later:
		return "Since when is not known."
	case a.Since.IsZero() && a.Begins.IsZero():
		return "Since when is not known: the history begins with it."
	case a.Since.IsZero():
		return "Since when is not known: the history begins at " + clock(a.Begins, now) + "."
	}
	text := "Since " + clock(a.Since, now) + "."
	if len(a.Before) > 0 {
		text += " Before that, it waited " + shown(strings.Join(a.Before, ", ")) + "."
	}
	return text
}

// maxEdits is the number of changed fields in a sentence.
const maxEdits = 2

// text says who changed what, and when.
func (c *Cause) text(start, now time.Time, namespace string) string {
	what := c.Command
	if what == "" {
		verb := map[string]string{"create": "created", "update": "changed", "delete": "deleted"}[c.Verb]
		what = cmp.Or(verb, "changed") + " " + named(c.Object, namespace)
		if n := len(c.Edits); n > 0 && verb != "created" {
			what += " (" + strings.Join(c.Edits[:min(n, maxEdits)], ", ")
			if n > maxEdits {
				what += fmt.Sprintf(" and %d more", n-maxEdits)
			}
			what += ")"
		}
		what = c.who() + " " + what
	}
	if c.Heals != "" {
		what += " after the loss of " + c.Heals
	}
	what += " at " + clock(start, now)
	if c.TraceID != "" {
		what += fmt.Sprintf(", trace %.*s", minPrefix, c.TraceID)
	}
	return shown(what)
}

// who returns the author for a sentence.
func (c *Cause) who() string { return cmp.Or(c.Who, "an unknown author") }

// minPrefix is the number of digits of a trace ID.
const minPrefix = 8

// shown returns a text of a cluster for a terminal.
func shown(text string) string { return render.Escape(object.Bound(text)) }

// named returns an object as "Deployment web", with its namespace unless it is the user's.
func named(o object.Ref, namespace string) string {
	name := o.Name
	if o.Namespace != "" && o.Namespace != namespace {
		name = o.Namespace + "/" + name
	}
	return shown(o.Kind.Kind + " " + name)
}

// clock returns the time of day, with the date unless it is today's.
func clock(t, now time.Time) string {
	t = t.In(now.Location())
	if t.Format(time.DateOnly) == now.Format(time.DateOnly) {
		return t.Format(time.TimeOnly)
	}
	return t.Format(time.DateTime)
}

// long returns a duration as text.
func long(d time.Duration) string {
	if d < 10*time.Second {
		return max(0, d).Round(100 * time.Millisecond).String()
	}
	return duration.HumanDuration(d)
}
