// SPDX-License-Identifier: Apache-2.0

package render

import (
	"io"

	"github.com/kube-lifeline/lifeline/app/internal/object"
	"github.com/kube-lifeline/lifeline/app/internal/span"
)

// Table writes one row per span, in the style of kubectl: aligned columns, without folding or cuts.
func Table(w io.Writer, traces []*span.Trace, o Options) error {
	table := [][]string{{"TRACE", "START", "DURATION", "COMPONENT", "SPAN", "OBJECT", "EVIDENCE", "OUTCOME", "REASON"}}
	for _, t := range traces {
		var begin span.Time
		if root := t.Root(); root != nil {
			begin = root.Start
		}
		for _, s := range t.Spans {
			table = append(table, []string{
				t.ID.String()[:8],
				"+" + brief(s.Start.Sub(begin.Time)),
				length(s, o.Now),
				escape(s.Service),
				spanText(s),
				objectText(s.Object),
				string(s.Evidence),
				outcomeText(s),
				escape(s.Message),
			})
		}
	}
	return Grid(w, table)
}

// spanText is the span's name without its object, which has a column.
func spanText(s *span.Span) string {
	if ownsName(s) {
		return escape(s.Name)
	}
	return what(s, s.Object, false)
}

func objectText(ref object.Ref) string {
	if ref.Kind.Kind == "" {
		return ""
	}
	return escape(ref.String())
}

func outcomeText(s *span.Span) string {
	switch {
	case s.Outcome != "":
		return string(s.Outcome)
	case s.Open():
		return string(stateOf(s))
	case failed(s):
		return string(span.Failed)
	}
	return ""
}
