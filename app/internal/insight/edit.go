// SPDX-License-Identifier: Apache-2.0

package insight

import "github.com/kube-lifeline/lifeline/app/internal/span"

// Edits says what the change of a trace changed, one text for each field: "image web:1 → web:2". Of a
// command it is the first object with a change. They are nil for a creation or a deletion.
func Edits(t *span.Trace) []string {
	root := t.Root()
	if root == nil {
		return nil
	}
	if root.Name != span.NameRun {
		return EditsOf(root)
	}
	for _, s := range t.Spans {
		if s.Parent != root.ID {
			continue
		}
		if edits := EditsOf(s); len(edits) > 0 {
			return edits
		}
	}
	return nil
}

// EditsOf says what the change of one object changed.
func EditsOf(s *span.Span) []string { return List(s, span.KeyEdits) }
