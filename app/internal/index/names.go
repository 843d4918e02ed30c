// SPDX-License-Identifier: Apache-2.0

package index

import (
	"slices"

	"github.com/kube-lifeline/lifeline/app/internal/change"
)

// BySubject returns the timelines of the objects with that name. There may be several, because names
// are reused.
func (v View) BySubject(id Subject) []*change.Timeline {
	if v.x.names == nil {
		v.x.names = map[Subject][]*change.Timeline{}
		for _, t := range v.x.objects {
			v.x.name(t)
		}
	}
	return v.x.names[id]
}

// name adds t to the look-up by name, if t has a name. It returns the other objects of that name.
func (x *Index) name(t *change.Timeline) []*change.Timeline {
	if x.names == nil || t.Ref.Name == "" {
		return nil
	}
	id := SubjectOf(t)
	others := x.names[id]
	x.names[id] = append(others, t)
	return others
}

// unname removes t from the look-up, before a change of its name or the removal of t. It returns the other
// objects of that name.
func (x *Index) unname(t *change.Timeline) []*change.Timeline {
	if x.names == nil {
		return nil
	}
	id := SubjectOf(t)
	left := slices.DeleteFunc(x.names[id], func(other *change.Timeline) bool { return other == t })
	if len(left) == 0 {
		delete(x.names, id)
		return nil
	}
	x.names[id] = left
	return slices.Clone(left)
}
