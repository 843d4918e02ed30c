// SPDX-License-Identifier: Apache-2.0

package store

import (
	"slices"

	"github.com/kube-lifeline/lifeline/app/internal/insight"
	"github.com/kube-lifeline/lifeline/app/internal/object"
	"github.com/kube-lifeline/lifeline/app/internal/span"
)

// Fits reports whether a summary matches q, apart from its Object, Limit and After.
func (q *Query) Fits(s *Summary) bool {
	return (!q.Open || s.Open) && (!q.Worse || s.Aftermath != nil) && anyState(q.States, s.State()) &&
		(len(q.IDs) == 0 || slices.Contains(q.IDs, s.ID)) &&
		(q.Since.IsZero() || !s.Start.Before(q.Since)) &&
		(q.Until.IsZero() || s.Start.Before(q.Until)) &&
		(len(q.Outcomes) == 0 || slices.Contains(q.Outcomes, s.Outcome)) &&
		(len(q.Categories) == 0 || slices.Contains(q.Categories, s.Category)) &&
		s.Duration >= q.Slower
}

// Fits reports whether a write matches q, apart from Limit and After.
func (q *WriteQuery) Fits(w *Write) bool {
	return (q.Since.IsZero() || !w.End.Before(q.Since)) &&
		(q.Until.IsZero() || w.End.Before(q.Until)) &&
		(!q.TraceID.IsValid() || w.TraceID == q.TraceID) &&
		(q.Actor == "" || w.Actor == q.Actor) &&
		(q.Part == "" || w.Part == q.Part) &&
		(q.Object == object.Ref{} || Matches(w.Object, q.Object))
}

// Fits reports whether a span matches q, apart from Scope and Limit. Its texts count as the archive keeps them:
// invalid UTF-8 becomes valid.
func (q *SpanQuery) Fits(s *span.Span) bool {
	long := s.Duration(s.Start.Time)
	return (q.Service == "" || valid(s.Service) == q.Service) &&
		(q.Operation == "" || valid(s.Name) == q.Operation) &&
		(q.Since.IsZero() || !s.Start.Before(q.Since)) &&
		(q.Until.IsZero() || s.Start.Before(q.Until)) &&
		(q.Longer <= 0 || !s.Open() && long >= q.Longer) &&
		(q.Shorter <= 0 || !s.Open() && long <= q.Shorter) &&
		hasAttributes(s, q.Attributes)
}

func hasAttributes(s *span.Span, want map[string]string) bool {
	for key, value := range want {
		if s.Object == (object.Ref{}) && key != AttributeOutcome && key != AttributeActor {
			return false
		}
		var got string
		switch key {
		case AttributeNamespace, AttributeObjectNamespace:
			got = s.Object.Namespace
		case AttributeObjectName:
			got = s.Object.Name
		case AttributeObjectKind:
			got = s.Object.Kind.Kind
		case AttributeObjectUID:
			got = string(s.Object.UID)
		case AttributeOutcome:
			got = string(s.Outcome)
		case AttributeActor:
			if s.Origin != nil || !s.IsReconciliation() {
				return false
			}
			got = insight.Attribute(s, span.KeyActor)
		default:
			return false
		}
		if valid(got) != value {
			return false
		}
	}
	return true
}

// Touches reports whether t has a span or a write of a matching object.
func Touches(t *span.Trace, want object.Ref) bool {
	if want == (object.Ref{}) {
		return true
	}
	for _, s := range t.Spans {
		if Matches(s.Object, want) {
			return true
		}
		for _, w := range WritesOf(s) {
			if w.Object != s.Object && Matches(w.Object, want) {
				return true
			}
		}
	}
	return false
}

// Matches reports whether an object has all nonempty fields of want: group, kind, namespace, name
// and UID. The version does not count.
func Matches(got, want object.Ref) bool {
	fits := func(got, want string) bool { return want == "" || got == want }
	return got != (object.Ref{}) && fits(string(got.UID), string(want.UID)) && fits(got.Name, want.Name) &&
		fits(got.Namespace, want.Namespace) && fits(got.Kind.Kind, want.Kind.Kind) && fits(got.Group, want.Group)
}
