// SPDX-License-Identifier: Apache-2.0

package render

import (
	"fmt"
	"strconv"
	"strings"

	"go.opentelemetry.io/otel/attribute"

	"github.com/kube-lifeline/lifeline/app/internal/insight"
	"github.com/kube-lifeline/lifeline/app/internal/span"
)

// maxNotes is how many events of one span are told.
const maxNotes = 3

// annotate sets the notes of n and of what is below it. A reason that a span
// below tells is not told again. It returns the reasons told.
func (n *node) annotate() map[string]bool {
	told := map[string]bool{}
	for _, c := range n.children {
		for reason := range c.annotate() {
			told[reason] = true
		}
	}
	if n.span == nil {
		return told
	}
	n.notes = eventNotes(n.span.Events)
	if reason := escape(n.span.Message); reason != "" && !told[reason] {
		told[reason] = true
		n.notes = append(n.notes, reasonNote(n.span, reason))
	}
	return told
}

func reasonNote(s *span.Span, reason string) piece {
	switch {
	case failed(s):
		return piece{"failed: " + reason, red}
	case s.Open(), s.Outcome == span.Unfinished:
		return piece{"waiting: " + reason, yellow}
	}
	return piece{reason, dim}
}

// eventNotes tells the events that matter, repeated ones once.
func eventNotes(events []span.Event) []piece {
	var texts []string
	count := map[string]int{}
	for _, e := range events {
		if !matters(e) {
			continue
		}
		text := eventText(e)
		if count[text]++; count[text] == 1 {
			texts = append(texts, text)
		}
	}
	var notes []piece
	for i, text := range texts {
		if i == maxNotes && len(texts) > maxNotes+1 {
			notes = append(notes, piece{fmt.Sprintf("… %d more events", len(texts)-i), dim})
			break
		}
		if c := count[text]; c > 1 {
			text += fmt.Sprintf(" ×%d", c)
		}
		notes = append(notes, piece{text, dim})
	}
	return notes
}

// routine are events that belong to every life that goes well.
var routine = map[string]bool{
	"Scheduled": true, "Pulling": true, "Pulled": true, "Created": true, "Started": true, "Killing": true,
	"SuccessfulCreate": true, "SuccessfulDelete": true, "ScalingReplicaSet": true, "LeaderElection": true,
}

// matters reports whether an event is worth a line: not a write that was
// accepted, a change of status, or an Event that every good life has.
func matters(e span.Event) bool {
	if code := value(e.Attributes, span.KeyStatusCode); code != "" {
		n, err := strconv.Atoi(code)
		return err == nil && n >= 400
	}
	switch name := strings.ToLower(e.Name); {
	case name == span.EventWrite, routine[e.Name], routine[value(e.Attributes, span.KeyReason)]:
		return false
	case value(e.Attributes, "k8s.event.type") == "Warning":
		return true
	default:
		return strings.Contains(name, "fail") || strings.Contains(name, "back") ||
			strings.Contains(name, "exit") || strings.Contains(name, "terminated") ||
			strings.Contains(name, "reject") || strings.Contains(name, "unhealthy") ||
			strings.Contains(name, "evict") || strings.Contains(name, "preempt")
	}
}

// eventText is an event in words: its name, and what it says of why.
func eventText(e span.Event) string {
	name := escape(e.Name)
	reason, message := escape(value(e.Attributes, span.KeyReason)), escape(value(e.Attributes, span.KeyMessage))
	if reason == name {
		reason = ""
	}
	var container string
	if c := value(e.Attributes, span.KeyContainer); c != "" {
		container = escape(c)
	}
	return join([]string{join([]string{name, container}, " "), reason, message}, ": ")
}

func value(kvs []attribute.KeyValue, k attribute.Key) string {
	return insight.Attribute(&span.Span{Attributes: kvs}, k)
}
