// SPDX-License-Identifier: Apache-2.0

package render

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"github.com/kube-lifeline/lifeline/app/internal/insight"
	"github.com/kube-lifeline/lifeline/app/internal/object"
	"github.com/kube-lifeline/lifeline/app/internal/span"
)

// header returns the line above a tree, or several lines in a narrow terminal. It has the change,
// the actor or the exit code, the fight, the outcome, the start, and the trace ID.
func header(t *span.Trace, o Options) []line {
	title := piece{"empty trace", bold}
	var by, changed, fight, verdict, watching, when piece
	if root := t.Root(); root != nil {
		title.text = what(root, object.Ref{}, root.Object.Namespace != "")
		verdict = verdictOf(t, root, o)
		if o.Settle > 0 && t.Outcome == span.Converged {
			watching = piece{fmt.Sprintf("watching %s for crashes", o.Settle), dim}
		}
		if !root.Start.IsZero() {
			when = piece{root.Start.In(o.Now.Location()).Format("2006-01-02 15:04:05 MST"), dim}
		}
		if by = author(root); strings.Contains(t.Reason, by.text) {
			by = piece{} // the verdict has the exit code
		}
		changed.text = cmp.Or(revision(root), edited(root))
		if over := insight.Fight(t); over != "" {
			fight = piece{"fights over " + escape(over), yellow}
		}
	}
	pieces := []piece{title, by, changed, fight, verdict, watching, when, {"trace " + t.ID.String(), dim}}
	return flow(pieces, o.width())
}

// author returns the actor of s, or the exit code of a command that failed.
func author(s *span.Span) piece {
	if code := insight.Attribute(s, span.KeyExitCode); code != "" && code != "0" {
		return piece{"exit code " + escape(code), red}
	}
	if actor := escape(insight.Attribute(s, span.KeyActor)); actor != "" {
		return piece{"by " + actor, plain}
	}
	return piece{}
}

// revision names the revision that a tool of continuous delivery publishes or applies, or the drift that
// it corrects.
func revision(root *span.Span) string {
	if id := insight.Attribute(root, span.KeyRevision); id != "" {
		return "revision " + escape(id)
	}
	if of := insight.Attribute(root, span.KeyDrift); of != "" {
		return "corrects a drift from " + escape(of)
	}
	return ""
}

// maxEdits bounds the changed fields in a header and in a note.
const maxEdits = 3

// edited says what a change of an object changed: "changed image web:1 → web:2, replicas 2 → 4".
func edited(s *span.Span) string {
	all := insight.EditsOf(s)
	if len(all) == 0 {
		return ""
	}
	text := escape(strings.Join(all[:min(len(all), maxEdits)], ", "))
	if n := len(all) - maxEdits; n > 0 {
		text += fmt.Sprintf(" and %d more", n)
	}
	if all[0] != span.Restarted {
		text = "changed " + text
	}
	return text
}

// summaryLine returns a trace as one line: the change, the outcome, and the start of the trace ID.
func summaryLine(t *span.Trace, o Options) line {
	root := t.Root()
	if root == nil {
		return line{{"empty trace", dim}}
	}
	id := piece{"  trace " + t.ID.String()[:8], dim}
	verdict := verdictOf(t, root, o)
	title := what(root, object.Ref{}, root.Object.Namespace != "")
	title = squeeze(title, max(minWidth, o.width()/2))
	room := o.width() - cells(title) - 2 - cells(id.text)
	verdict.text = cut(verdict.text, max(minWidth, room))
	return line{{title, plain}, {"  ", plain}, verdict, id}.clip(o.width())
}

// verdictOf returns the outcome and duration of a trace.
func verdictOf(t *span.Trace, root *span.Span, o Options) piece {
	outcome := cmp.Or(t.Outcome, root.Outcome)
	stuck := root.Open() && t.Stuck()
	reason := escape(cmp.Or(t.Reason, root.Message))
	if t.Was != "" {
		p := verdict(root, outcome, false, "", o.Now)
		p.text += ", " + afterClaim(t)
		if t.Reason != "" {
			p.text += ": " + escape(t.Reason)
		}
		return p
	}
	since, err := time.Parse(time.RFC3339Nano, insight.Attribute(root, span.KeyReasonSince))
	if err == nil && stuck { // as long as its reason, as lifeline why says
		state := span.StateOf(true, stateOf(root) == span.Held, true, outcome)
		return piece{string(state) + " for " + precise(max(0, o.Now.Sub(since))) + ": " + reason, stateStyle(state)}
	}
	p := verdict(root, outcome, stuck, reason, o.Now)
	if after := span.AftermathOf(t); after != nil {
		p = piece{escape(after.After(p.text)), yellow}
	}
	return p
}

// afterClaim is the remark on a revised outcome.
func afterClaim(t *span.Trace) string {
	if t.Outcome == span.Converged || t.Outcome == span.Deleted {
		return "recovered from " + escape(string(t.Was))
	}
	return "after it was " + escape(string(t.Was))
}

// verdict returns an outcome and the duration of s, with the reason if it has not converged. stuck
// reports whether s waits after an error.
func verdict(s *span.Span, outcome span.Outcome, stuck bool, reason string, now time.Time) piece {
	took := precise(max(0, s.Duration(now)))
	switch {
	case coarse(s):
		took = seconds(s.Duration(now))
	case vague(s):
		took = "~" + took
	}
	if reason != "" {
		reason = ": " + reason
	}
	switch {
	case s.Open():
		state := span.StateOf(true, stateOf(s) == span.Held, stuck, outcome)
		return piece{string(state) + " for " + took + reason, stateStyle(state)}
	case outcome == span.Refused:
		return piece{"refused" + reason, red}
	case outcome == span.Failed:
		return piece{"failed after " + took + reason, red}
	case outcome == span.Converged || outcome == "":
		return piece{"converged in " + took, green}
	case outcome == span.Deleted:
		return piece{"deleted in " + took, green}
	case outcome == span.Superseded:
		return piece{"superseded after " + took, dim}
	default:
		return piece{string(outcome) + " after " + took + reason, yellow}
	}
}

// flow places pieces side by side where they fit, otherwise on separate lines. A piece of several
// lines stands alone.
func flow(pieces []piece, width int) []line {
	const gap, indent = "   ", "  "
	pieces[0].text = squeeze(pieces[0].text, width)
	lines := []line{{pieces[0]}}
	full := false
	for _, p := range pieces[1:] {
		if p.text == "" {
			continue
		}
		last := len(lines) - 1
		if !full && lines[last].cells()+len(gap)+cells(p.text) <= width {
			lines[last] = append(lines[last], piece{gap, plain}, p)
			continue
		}
		parts := wrap(p.text, width-len(indent))
		for _, text := range parts {
			lines = append(lines, line{{indent, plain}, {text, p.style}})
		}
		full = len(parts) > 1
	}
	return lines
}

// healing returns the cause of a healing trace, and the trace that it follows; nil for other
// traces.
func healing(t *span.Trace, o Options) []line {
	root := t.Root()
	if root == nil {
		return nil
	}
	heals := escape(insight.Attribute(root, span.KeyHeals))
	if heals == "" {
		return nil
	}
	pieces := []piece{{"healing: the cluster reacted to " + heals, yellow}}
	for _, l := range root.Links {
		if l.TraceID != t.ID {
			pieces = append(pieces, piece{"follows trace " + l.TraceID.String(), dim})
			break
		}
	}
	return flow(pieces, o.width())
}
