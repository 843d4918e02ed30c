// SPDX-License-Identifier: Apache-2.0

package render

import (
	"cmp"
	"strings"

	"github.com/kube-lifeline/lifeline/app/internal/insight"
	"github.com/kube-lifeline/lifeline/app/internal/object"
	"github.com/kube-lifeline/lifeline/app/internal/reason"
	"github.com/kube-lifeline/lifeline/app/internal/span"
)

// what describes the work of s. It omits the object's name if the span above has the same object,
// and the namespace if qualified is false.
func what(s *span.Span, above object.Ref, qualified bool) string {
	if s.Name == span.NameRun {
		if command := insight.Attribute(s, span.KeyCommand); command != "" {
			return escape(command)
		}
	}
	words := []string{escape(called(s)), escape(detail(s))}
	if ownsName(s) || s.Object != above {
		words = []string{words[0], objectName(s.Object, qualified), words[1]}
	}
	if attempt := insight.Attribute(s, span.KeyAttempt); attempt != "" && attempt != "1" {
		words = append(words, "#"+escape(attempt))
	}
	return join(words, " ")
}

// detail distinguishes a phase from others of its object.
func detail(s *span.Span) string {
	return insight.Attribute(s, cmp.Or(s.Detail(), span.KeyContainer))
}

// ownsName reports whether the span's name ends with the kind of its object, as for reconciliations
// and writes.
func ownsName(s *span.Span) bool {
	return s.Object.Kind.Kind != "" && strings.HasSuffix(s.Name, " "+s.Object.Kind.Kind)
}

func objectName(ref object.Ref, qualified bool) string {
	if qualified && ref.Namespace != "" {
		return escape(ref.Namespace) + "/" + escape(ref.Name)
	}
	return escape(ref.Name)
}

// manyNamespaces reports whether names need their namespace.
func manyNamespaces(t *span.Trace) bool {
	first := ""
	for _, s := range t.Spans {
		switch ns := s.Object.Namespace; {
		case ns == "" || ns == first:
		case first == "":
			first = ns
		default:
			return true
		}
	}
	return false
}

// mark returns the label of a failed, open or otherwise notable span; empty for a normal one. A
// span that waits for a descendant leaves the label to it.
func mark(s *span.Span, openBelow bool) piece {
	switch {
	case s.Stuck():
		return piece{string(span.Stuck), red}
	case s.Outcome == span.Refused:
		return piece{string(span.Refused), red}
	case failed(s):
		return piece{"failed", red}
	case s.Outcome == span.Superseded, s.Outcome == span.Deleted:
		return piece{string(s.Outcome), dim}
	case s.Outcome == span.Unfinished:
		return piece{"unfinished", yellow}
	case s.Open() && !openBelow:
		state := stateOf(s)
		return piece{string(state), stateStyle(state)}
	case s.Evidence == span.ByTime, s.Evidence == span.Unverified:
		return piece{"cause: " + string(s.Evidence), dim}
	}
	return piece{}
}

// stateOf returns the word for a span without the outcome of its trace.
func stateOf(s *span.Span) span.State {
	category := reason.Category(insight.Attribute(s, span.KeyReason))
	return span.StateOf(s.Open(), category.Held(), s.Stuck() || category != "", s.Outcome)
}

// join is strings.Join without empty words.
func join(words []string, sep string) string {
	var b strings.Builder
	for _, w := range words {
		if w == "" {
			continue
		}
		if b.Len() > 0 {
			b.WriteString(sep)
		}
		b.WriteString(w)
	}
	return b.String()
}
