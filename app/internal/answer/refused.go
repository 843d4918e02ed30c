// SPDX-License-Identifier: Apache-2.0

package answer

import (
	"fmt"
	"strings"
	"time"

	"github.com/kube-lifeline/lifeline/app/internal/kind"
	"github.com/kube-lifeline/lifeline/app/internal/reason"
	"github.com/kube-lifeline/lifeline/app/internal/span"
)

// refuse gives a drained Node the refusal of an eviction: it is not drained. own is the span of the object.
func (a *Answer) refuse(t *span.Trace, own *span.Span) {
	if kind.Node.Is(own.Object.Kind) && !own.Open() && t.Outcome == span.Refused &&
		strings.Contains(t.Reason, "; Node "+own.Object.Name+" ") {
		a.State, a.Reason = Refused, t.Reason
	}
}

// refusal is the first sentence about a refused request, and that about its object.
func (a *Answer) refusal(now time.Time) string {
	request, why, _ := reason.CutRefused(a.Reason)
	what, of, _ := strings.Cut(strings.TrimPrefix(request, "the "), " of ")
	why, standing := reason.CutState(why, of)
	text := fmt.Sprintf("%s was refused %s ago: %s.", shown(strings.ToUpper(request[:1])+request[1:]),
		long(now.Sub(a.End)), shown(strings.TrimSuffix(why, ".")))
	switch {
	case standing != "":
		text += " " + shown(standing) + "."
	case (what == "change" || what == "deletion") && of == a.Object.Kind.Kind+" "+a.Object.Name &&
		!strings.HasSuffix(why, "not found"):
		text += fmt.Sprintf(" %s is as it was.", shown(of))
	}
	return text
}

// request says by whom and when the refused request was sent.
func (c *Cause) request(start, now time.Time) string {
	text := c.Command
	if text == "" {
		text = "of " + c.who()
	}
	text += " at " + clock(start, now)
	if c.TraceID != "" {
		text += fmt.Sprintf(", trace %.*s", minPrefix, c.TraceID)
	}
	return shown(text)
}
