// SPDX-License-Identifier: Apache-2.0

package change

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/kube-lifeline/lifeline/app/internal/observation"
	"github.com/kube-lifeline/lifeline/app/internal/span"
)

// maxFields bounds the changed fields of one span.
const maxFields = 16

// edit is the change of one field, by one or several writes.
type edit struct {
	path string
	// before and after are the field before the first and after the last of the writes; nil if it was
	// missing.
	before, after *observation.Leaf
}

// Edits are changed fields, in the order of their paths.
type Edits []edit

// Edits returns the fields that w changed.
func (w *Write) Edits() Edits {
	out := make(Edits, 0, len(w.Changed.Paths))
	for _, path := range w.Changed.Paths {
		out = append(out, edit{path, w.Previous.Field(path), w.Version.Field(path)})
	}
	return out
}

// Edits returns the fields that the writes of r changed.
func (r *Reconciliation) Edits() Edits {
	if len(r.Writes) == 1 {
		return r.Writes[0].Edits()
	}
	var out Edits
	for _, w := range r.Writes {
		out = append(out, w.Edits()...)
	}
	slices.SortStableFunc(out, func(a, b edit) int { return cmp.Compare(a.path, b.path) })
	n := 0
	for _, e := range out {
		if n > 0 && out[n-1].path == e.path {
			out[n-1].after = e.after
			continue
		}
		out[n] = e
		n++
	}
	return out[:n]
}

// Paths returns the paths of the changed fields, in order, without bookkeeping. At most 16.
func (all Edits) Paths() []string {
	out := make([]string, 0, len(all))
	for _, e := range all {
		out = append(out, e.path)
	}
	return boundFields(out)
}

// Changes returns the changed fields, in order, at most span.MaxChanges, and the number of further ones.
// It omits a new revision, which is no field.
func (all Edits) Changes() (out []span.FieldChange, more int64) {
	for _, e := range all {
		switch {
		case e.before == nil && e.after == nil:
			continue
		case len(out) == span.MaxChanges:
			more++
			continue
		}
		c := span.FieldChange{Path: span.Bound(e.path), Operation: span.FieldReplaced}
		if e.before == nil {
			c.Operation = span.FieldAdded
		} else {
			c.From = span.Bound(e.before.Shown)
		}
		if e.after == nil {
			c.Operation = span.FieldRemoved
		} else {
			c.To = span.Bound(e.after.Shown)
		}
		out = append(out, c)
	}
	return out, more
}

// boundFields bounds a list of fields, and counts the dropped ones in its last element.
func boundFields(all []string) []string {
	if n := len(all) - maxFields + 1; n > 1 {
		all = append(all[:maxFields-1], fmt.Sprintf("(%d more)", n))
	}
	for i, text := range all {
		all[i] = span.Bound(text)
	}
	return all
}
