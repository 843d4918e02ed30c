// SPDX-License-Identifier: Apache-2.0

package render

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"go.opentelemetry.io/otel/attribute"

	"github.com/kube-lifeline/lifeline/app/internal/insight"
	"github.com/kube-lifeline/lifeline/app/internal/span"
)

// maxNotes limits the event notes of one span.
const maxNotes = 3

// annotate sets the notes of n and its descendants, and adds their texts to shown. It does not
// repeat a cause: a parent keeps the part of its reason in front of it if it failed, and nothing if
// it only waits. full keeps events that repeat each other. It reports whether it added any note.
func (n *node) annotate(shown reasons, full bool) (notes bool) {
	for _, c := range n.children {
		if c.annotate(shown, full) {
			notes = true
		}
	}
	if n.span == nil {
		return notes
	}
	s := n.span
	reason := escape(s.Message)
	stillWaiting := s.Open() || s.Outcome == span.Unfinished
	head, repeated := shown.repeats(reason)
	n.notes = eventNotes(s.Events, reason, shown, full)
	switch {
	case head == "", stillWaiting && s.Status != span.StatusError && (repeated || notes):
		return notes
	case stillWaiting:
		n.notes = append(n.notes, piece{labelled(string(stateOf(s))+": ", "waits ", head), yellow})
	case s.Outcome == span.Refused:
		n.notes = append(n.notes, piece{labelled("refused: ", "refused", head), red})
	case failed(s):
		n.notes = append(n.notes, piece{labelled("failed: ", "failed", head), red})
	default:
		n.notes = append(n.notes, piece{head, dim})
	}
	shown.show(reason)
	return true
}

// noteEdits notes what changed in each changed object. That of the root is in the header.
func (n *node) noteEdits(root *span.Span) {
	for _, c := range n.children {
		c.noteEdits(root)
		if s := c.span; s != nil && s != root && s.Name == span.ReconcileName(s.Object.Kind.Kind) {
			if text := edited(s); text != "" {
				c.notes = slices.Insert(c.notes, 0, piece{text, dim})
			}
		}
	}
}

// labelled returns the text behind the label, or alone if it begins with the same word.
func labelled(label, word, text string) string {
	if strings.HasPrefix(text, word) {
		return text
	}
	return label + text
}

// eventNotes returns notes for the relevant events, once for repeated ones. It omits those that
// repeat the span's reason or one in shown.
func eventNotes(events []span.Event, reason string, shown reasons, full bool) []piece {
	var texts []string
	count := map[string]int{}
	for _, e := range events {
		if !matters(e) || e.Name == span.EventExited && reason != "" {
			continue
		}
		text := eventText(e)
		if reason != "" && strings.HasSuffix(text, reason) {
			continue
		}
		if _, repeated := shown.repeats(text); repeated && count[text] == 0 {
			continue
		}
		if count[text] == 0 {
			texts = append(texts, text)
		}
		n, err := strconv.Atoi(value(e.Attributes, span.KeyEventCount))
		if err != nil || n < 1 {
			n = 1
		}
		// A repeated Event carries a running count; use the latest.
		count[text] = max(count[text]+1, n)
	}
	var notes []piece
	for i, text := range texts {
		if i == maxNotes && len(texts) > maxNotes+1 {
			notes = append(notes, piece{fmt.Sprintf("… %d more events", len(texts)-i), dim})
			break
		}
		if !full {
			shown.show(text)
		}
		if c := count[text]; c > 1 {
			text += fmt.Sprintf(" ×%d", c)
		}
		notes = append(notes, piece{text, dim})
	}
	return notes
}

// signs are parts of the names or reasons of relevant events. Few sources mark Events as warnings.
var signs = []string{
	"fail", "backoff", "back-off", "unhealthy", "evict", "preempt", "exceed", "error", "invalid", "reject", "notready",
	"conflict", "timeout", "forbidden", "unknown", "oom",
}

// matters reports whether an event deserves a line, such as the decision of an autoscaler. Accepted
// writes, status changes and normal progress do not.
func matters(e span.Event) bool {
	if code, err := strconv.Atoi(value(e.Attributes, span.KeyStatusCode)); err == nil {
		return code >= 400
	}
	if code := value(e.Attributes, span.KeyExit); code != "" {
		return code != "0"
	}
	switch e.Name {
	case span.EventWrite:
		return false
	case span.EventAutoscale:
		return true
	}
	if value(e.Attributes, span.KeyEventType) == "Warning" {
		return true
	}
	name := strings.ToLower(e.Name + " " + value(e.Attributes, span.KeyReason))
	for _, sign := range signs {
		if strings.Contains(name, sign) {
			return true
		}
	}
	return false
}

// eventText returns an event's name, and its reason and message.
func eventText(e span.Event) string {
	name := strings.TrimPrefix(escape(e.Name), "event ")
	reason, message := escape(value(e.Attributes, span.KeyReason)), escape(value(e.Attributes, span.KeyMessage))
	if reason == name || reason == "Unschedulable" {
		reason = ""
	}
	if code := value(e.Attributes, span.KeyExit); code != "" {
		message = "exit code " + escape(code)
	}
	name = join([]string{name, escape(value(e.Attributes, span.KeyContainer))}, " ")
	return join([]string{name, reason, message}, ": ")
}

func value(kvs []attribute.KeyValue, k attribute.Key) string {
	return insight.Attribute(&span.Span{Attributes: kvs}, k)
}
