// SPDX-License-Identifier: Apache-2.0

package problem

import (
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/kube-lifeline/lifeline/app/internal/object"
)

// Snapshot is the problems of one moment with all their objects, for readers beside the Tracker. It does not change,
// and is safe for concurrent use.
type Snapshot struct {
	List

	contents *contents
}

// contents is shared by the snapshots between two changes.
type contents struct {
	// groups are the objects of each problem, the worst problem and its oldest object first.
	groups [][]*tracked
	list   List
	places func() places
}

// places finds objects with a problem.
type places struct {
	object map[types.UID]*tracked
	// trace has the worst object for each change that led to a problem.
	trace map[string]*tracked
}

// newContents copies the objects, because the Tracker changes them.
func newContents(groups [][]*tracked) *contents {
	n := 0
	for _, g := range groups {
		n += len(g)
	}
	copies := make([]tracked, 0, n)
	c := &contents{groups: make([][]*tracked, len(groups))}
	for i, g := range groups {
		c.groups[i] = make([]*tracked, len(g))
		for j, e := range g {
			copies = append(copies, *e)
			c.groups[i][j] = &copies[len(copies)-1]
		}
	}
	c.list = listed(c.groups, MaxProblems)
	c.places = sync.OnceValue(c.find)
	return c
}

func newSnapshot(c *contents, now time.Time) *Snapshot {
	s := &Snapshot{List: c.list, contents: c}
	s.AsOf = now
	return s
}

// find returns the places of all objects.
func (c *contents) find() places {
	out := places{map[types.UID]*tracked{}, map[string]*tracked{}}
	for _, g := range c.groups {
		for _, e := range g {
			out.object[e.Object.UID] = e
			if e.Cause != nil && e.broken() && out.trace[e.Cause.TraceID] == nil {
				out.trace[e.Cause.TraceID] = e
			}
		}
	}
	return out
}

// Same reports whether two snapshots differ in their time at most.
func (s *Snapshot) Same(other *Snapshot) bool {
	return s != nil && other != nil && s.contents == other.contents
}

// Selection selects objects. A nil function selects all.
type Selection struct {
	// Exists reports whether the reader may see an object. Nothing in a result depends on other objects. It does not
	// concern Cause.
	Exists func(object.Ref) bool
	// Matches reports whether an object is selected.
	Matches func(object.Ref) bool
	// Limit bounds the problems of a list; MaxProblems at most.
	Limit int
}

// Select returns the problems of the selected objects, as if there were no others. The IDs are those of the whole
// problems.
func (s *Snapshot) Select(of Selection) List {
	limit := min(of.Limit, MaxProblems)
	out := List{AsOf: s.AsOf, Problems: []Problem{}}
	switch {
	case s.contents == nil:
		return out
	case of.Exists == nil && of.Matches == nil:
		out.Problems = slices.Clip(s.Problems[:min(len(s.Problems), limit)])
		out.More = len(s.contents.groups) - len(out.Problems)
		return out
	}
	var groups [][]*tracked
	for _, g := range s.contents.groups {
		var some []*tracked
		for _, e := range g {
			if of.has(e.Object) {
				some = append(some, e)
			}
		}
		if len(some) > 0 {
			some[0] = some[0].within(of.Exists)
			groups = append(groups, some)
		}
	}
	slices.SortStableFunc(groups, worse)
	l := listed(groups, limit)
	out.Problems, out.More = l.Problems, l.More
	return out
}

func (of *Selection) has(o object.Ref) bool {
	return (of.Exists == nil || of.Exists(o)) && (of.Matches == nil || of.Matches(o))
}

// Of returns the problem of one object alone, for a reader to whom exists applies as in Selection; nil without one.
func (s *Snapshot) Of(uid types.UID, exists func(object.Ref) bool) *Problem {
	if s == nil || s.contents == nil {
		return nil
	}
	return alone(s.contents.places().object[uid], exists)
}

// Touches reports whether the i-th problem of the list has an object in one of the namespaces. The problem itself names
// MaxObjects of its namespaces at most.
func (s *Snapshot) Touches(i int, namespaces []string) bool {
	in := func(ns string) bool { return slices.Contains(namespaces, ns) }
	named := s.Problems[i].Namespaces
	if s.contents == nil || len(named) < MaxObjects {
		return slices.ContainsFunc(named, in)
	}
	return slices.ContainsFunc(s.contents.groups[i], func(e *tracked) bool { return in(e.Object.Namespace) })
}

// Present returns the problem of the object of a change, as Of does. A change without one object, such as a command's,
// has the worst object that it has broken. It is nil for a note, and while the object has its desired state again.
func (s *Snapshot) Present(uid types.UID, traceID string, exists func(object.Ref) bool) *Problem {
	if s == nil || s.contents == nil {
		return nil
	}
	e := s.contents.places().object[uid]
	if uid == "" {
		e = s.contents.places().trace[traceID]
	}
	if e == nil || !e.broken() {
		return nil
	}
	return alone(e, exists)
}

// Lasts reports whether there is a problem with that ID, or one of the object, also beyond the list.
func (s *Snapshot) Lasts(id string, uid types.UID) bool {
	if s == nil || s.contents == nil {
		return false
	}
	has := func(g []*tracked) bool { return g[0].ID == id }
	return s.contents.places().object[uid] != nil || slices.ContainsFunc(s.contents.groups, has)
}

// Whole reports whether all problems are known: those of the list, and those beyond it.
func (s *Snapshot) Whole() bool { return !s.AsOf.IsZero() && (s.More == 0 || s.contents != nil) }

// Each calls yield once for each problem and each namespace of its objects, with the kind and the category of its first
// object there.
func (s *Snapshot) Each(yield func(kind, category, namespace string)) {
	if s == nil || s.contents == nil {
		return
	}
	for _, g := range s.contents.groups {
		seen := map[string]bool{}
		for _, e := range g {
			if ns := e.Object.Namespace; !seen[ns] {
				seen[ns] = true
				yield(e.Object.Kind.Kind, e.Category, ns)
			}
		}
	}
}

// broken reports whether the object lacks its desired state at present, with more than a note.
func (e *tracked) broken() bool { return e.Good.IsZero() && e.Rank > 0 }

func alone(e *tracked, exists func(object.Ref) bool) *Problem {
	if e == nil || exists != nil && !exists(e.Object) {
		return nil
	}
	p := assemble([]*tracked{e.within(exists)})
	return &p
}

// withheld is the reason that would name an object that does not exist for the reader.
const withheld = "does not have its desired state"

// within returns e for a reader. A text about another object is that object's, as far as the reader is concerned.
func (e *tracked) within(exists func(object.Ref) bool) *tracked {
	if exists == nil {
		return e
	}
	out := *e
	out.Earlier = nil // their objects are not known
	if e.Blamed != nil && !exists(*e.Blamed) {
		out.Text, out.Category, out.Image, out.Blamed, out.Next = withheld, "", "", nil, ""
	}
	return &out
}

// listed returns the problems of the groups, in their order.
func listed(groups [][]*tracked, most int) List {
	shown := groups[:min(len(groups), most)]
	l := List{Problems: make([]Problem, 0, len(shown)), More: len(groups) - len(shown)}
	for _, g := range shown {
		l.Problems = append(l.Problems, assemble(g))
	}
	return l
}
