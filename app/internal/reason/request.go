// SPDX-License-Identifier: Apache-2.0

package reason

import (
	"cmp"
	"fmt"
	"regexp"
	"strings"

	"github.com/kube-lifeline/lifeline/app/internal/history"
	"github.com/kube-lifeline/lifeline/app/internal/kind"
	"github.com/kube-lifeline/lifeline/app/internal/kind/judge"
	"github.com/kube-lifeline/lifeline/app/internal/observation"
	"github.com/kube-lifeline/lifeline/internal/message"
)

// wasRefused stands between a request and the reason of its refusal.
const wasRefused = " was refused: "

// request matches the text of a reason of Denied.
var request = regexp.MustCompile(`^the (?:creation|change|deletion|eviction) of .{1,600}?` + wasRefused)

// Denied returns the reason why the API server refused a request, as a sentence about that request:
// "the eviction of Pod web-1 was refused: …".
func Denied(q *observation.Write) Reason {
	what := "the change of "
	switch {
	case q.Subresource == "eviction":
		what = "the eviction of "
	case q.Verb == "create":
		what = "the creation of "
	case q.Verb == "delete", q.Verb == "deletecollection":
		what = "the deletion of "
	}
	return Reason{
		Category: Refusal(q.Reason + ": " + q.Message),
		Text:     what + cmp.Or(strings.TrimSpace(q.Kind.Kind+" "+q.Name), "the object") + wasRefused + denial(q),
		For:      "another answer of the API server",
	}
}

// CutRefused divides the text of a reason of Denied into the request and the reason of its refusal. It reports
// false for another text.
func CutRefused(text string) (request, why string, found bool) {
	if !IsRefused(text) {
		return text, "", false
	}
	return strings.Cut(text, wasRefused)
}

// AndState stands between the reason of a refusal and the state of its object.
const AndState = "; "

// StateAt says how the object of a refused request is: "Deployment web is fine, 2 of 2".
func StateAt(v *history.Version) string {
	text := v.Kind.Kind + " " + v.Name + " is "
	switch w := v.Workload; {
	case !judge.Converged(v):
		return text + "as it was"
	case w != nil && w.Replicas > 0 && !kind.Job.Is(v.Kind):
		return text + fmt.Sprintf("fine, %d of %d", w.Ready, w.Replicas)
	}
	return text + "as it was"
}

// CutState divides the reason of a refusal from the state of its object; "" for a reason without it.
func CutState(why, object string) (reason, state string) {
	if i := strings.LastIndex(why, AndState+object+" is "); i >= 0 {
		return why[:i], why[i+len(AndState):]
	}
	return why, ""
}

// IsRefused reports whether the text is that of a reason of Denied.
func IsRefused(text string) bool { return request.MatchString(text) }

var (
	// aboutObject matches the object at the beginning of a refusal.
	aboutObject = regexp.MustCompile(
		`^(?:\S+ "[^"]*" is (?:invalid|forbidden)|Operation cannot be fulfilled on \S+ "[^"]*"|` +
			`Internal error occurred): `,
	)
	// byBudget matches the refusal of an eviction by a budget that allows none now.
	byBudget = regexp.MustCompile(
		`^Cannot evict pod as it would violate the pod's disruption budget\. The disruption budget (\S+) needs (\d+) ` +
			`healthy pods and has (\d+) currently$`,
	)
)

// twoBudgets begins the refusal of an eviction that several budgets select.
const twoBudgets = "This pod has more than one PodDisruptionBudget"

// SeveralBudgets is the reason of such a refusal. The API server does not name the budgets.
const SeveralBudgets = "more than one PodDisruptionBudget selects the Pod, and an eviction supports only one"

// denial returns the reason of a refusal without the object, which the sentence names.
func denial(q *observation.Write) string {
	text := q.Message
	for {
		head := aboutObject.FindString(text)
		if head == "" {
			break
		}
		text = text[len(head):]
	}
	switch at := byBudget.FindStringSubmatch(text); {
	case at != nil:
		return "PodDisruptionBudget " + at[1] + " needs " + at[2] + " healthy Pods, and " + at[3] + " are"
	case strings.HasPrefix(text, twoBudgets):
		return SeveralBudgets
	case text == "":
		return cmp.Or(q.Reason, "without a reason")
	case text == message.Withheld:
		return message.WithReason(q.Reason, text)
	}
	return strings.TrimSuffix(text, ".")
}
