// SPDX-License-Identifier: Apache-2.0

package shard

import (
	"math"
	"slices"

	"github.com/kube-lifeline/lifeline/app/internal/span"
	"github.com/kube-lifeline/lifeline/app/internal/store"
)

// View is what one member makes of a Table. It is a value, and may be used from
// any goroutine. The zero value owns nothing and decides nothing.
type View struct {
	table Table
	self  string
	valid bool
	// resume is the Done that the member's own Lease had when it started.
	resume uint64
}

// NewView returns what the member self makes of t. If valid is false, self may
// have been declared gone meanwhile: it hands out nothing, and everything is
// undecided.
func NewView(t Table, self string, valid bool) View { return View{table: t, self: self, valid: valid} }

// Table returns the Table.
func (v View) Table() Table { return v.table }

// Valid reports whether the member may act on the View.
func (v View) Valid() bool { return v.valid }

// Resume returns the resourceVersion below which an earlier process with the
// member's identity had nothing left to do; 0 if there was none, or if others
// have taken over what it had.
func (v View) Resume() uint64 { return v.resume }

// First is when a part of a trace began: the resourceVersion of its first
// write; 0 if none is known.
type First struct {
	RV uint64
	// Listed: the write was found in a list. There may have been others before
	// it, which another observer knows of.
	Listed bool
}

// Firsts are when the parts of a trace began, by namespace.
type Firsts map[string]First

// FirstsOf returns those of t, as far as its spans tell. Amendments do not tell:
// they belong to whoever has stored the part that they add to.
func FirstsOf(t *span.Trace) Firsts {
	out := Firsts{}
	for _, s := range t.Spans {
		for _, w := range store.WritesOf(s) {
			if w.ResourceVersion <= 0 {
				continue
			}
			rv := uint64(w.ResourceVersion)
			if known, ok := out[s.Object.Namespace]; !ok || rv < known.RV {
				out[s.Object.Namespace] = First{RV: rv, Listed: w.Source == span.TimeObject}
			}
		}
	}
	return out
}

// of is when the part in namespace began. One without a write of its own goes
// by what everybody observes, the objects of cluster scope; if these do not
// tell, it began before anybody looked: in the first epoch of all, or it is
// over.
func (f Firsts) of(namespace string) First {
	if first, ok := f[namespace]; ok {
		return first
	}
	return f[""]
}

// Mine returns the part of t that this member stores and sends; nil if there is
// none, t itself if it is all of it. A part has the outcome and reason of t. Of
// a finished trace ask Undecided first.
func (v View) Mine(t *span.Trace) *span.Trace { return v.Part(t, FirstsOf(t)) }

// Part is Mine for a trace whose first writes are known from elsewhere.
func (v View) Part(t *span.Trace, firsts Firsts) *span.Trace {
	if !v.valid {
		return nil
	}
	mine, home := map[string]bool{}, homesOf(t)
	for _, s := range t.Spans {
		if ns := home.of(s); !known(mine, ns) {
			mine[ns] = v.owns(ns, firsts.of(ns))
		}
	}
	if !slices.ContainsFunc(t.Spans, func(s *span.Span) bool { return !mine[home.of(s)] }) {
		return t
	}
	part := *t
	part.Spans = nil
	for _, s := range t.Spans {
		if mine[home.of(s)] {
			part.Spans = append(part.Spans, s)
		}
	}
	if len(part.Spans) == 0 {
		return nil
	}
	return &part
}

// owns reports whether the member owns what began so. What it has found in a list
// although it should have read further back, because the API server had no more,
// may be what somebody has left to it: better twice than never.
func (v View) owns(namespace string, first First) bool {
	if owner, _ := v.table.Owner(namespace, first.RV); owner == v.self {
		return true
	}
	if !first.Listed {
		return false
	}
	legacies, _ := v.legacies(namespace)
	return slices.ContainsFunc(legacies, func(l legacy) bool { return l.since <= first.RV })
}

// Others returns the members, each once, that own something of t in namespaces
// that this one observes as well: should they go before they are done, it may
// become this one's.
func (v View) Others(t *span.Trace) []string {
	var out []string
	firsts, seen, home := FirstsOf(t), map[string]bool{}, homesOf(t)
	for _, s := range t.Spans {
		ns := home.of(s)
		if known(seen, ns) {
			continue
		}
		seen[ns] = true
		first := firsts.of(ns)
		owner, _ := v.table.Owner(ns, first.RV)
		if first.Listed || owner == "" || owner == v.self || slices.Contains(out, owner) {
			continue
		}
		if _, observed := v.Observe(ns); observed {
			out = append(out, owner)
		}
	}
	return out
}

// Succeeds reports whether what is learned late of namespace is for this member to
// tell, of what the others owned: what begins there now is its own, and all of
// them have gone. They have told what is not newer than the resourceVersion told.
func (v View) Succeeds(namespace string, others []string) (told uint64, ok bool) {
	owner, _ := v.table.Owner(namespace, math.MaxUint64)
	if !v.valid || owner != v.self || len(others) == 0 {
		return 0, false
	}
	live, told := v.table.live(), uint64(math.MaxUint64)
	for _, o := range others {
		parted, gone := v.table.parted(o)
		if !gone || slices.Contains(live, o) {
			return 0, false
		}
		told = min(told, parted.Told)
	}
	return told, true
}

// Since returns the resourceVersion from which on somebody would have to read
// who had to take over what is this member's of t, or undecided; ok is false
// if there is nothing. The lowest one of all that is not done is what the hook
// Open returns.
func (v View) Since(t *span.Trace) (rv uint64, ok bool) {
	firsts, seen, home := FirstsOf(t), map[string]bool{}, homesOf(t)
	for _, s := range t.Spans {
		ns := home.of(s)
		if known(seen, ns) {
			continue
		}
		seen[ns] = true
		first := firsts.of(ns)
		if !v.undecided(ns, first) && !v.owns(ns, first) {
			continue
		}
		from := first.RV
		if first.Listed { // nobody knows when in its epoch it began
			from = 0
			if len(v.table.Epochs) > 0 {
				from = min(first.RV, v.table.Epochs[v.table.epoch(first.RV)].From)
			}
		}
		if !ok || from < rv {
			rv, ok = from, true
		}
	}
	return rv, ok
}

func known(m map[string]bool, key string) bool { _, ok := m[key]; return ok }

// Undecided reports whether it is just being decided who owns some part of t. A
// finished trace, and an amendment, then has to wait for a View that says
// otherwise.
func (v View) Undecided(t *span.Trace) bool { return v.UndecidedPart(t, FirstsOf(t)) }

// UndecidedPart is Undecided for a trace whose first writes are known from
// elsewhere.
func (v View) UndecidedPart(t *span.Trace, firsts Firsts) bool {
	seen, home := map[string]bool{}, homesOf(t)
	for _, s := range t.Spans {
		ns := home.of(s)
		if known(seen, ns) {
			continue
		}
		seen[ns] = true
		if v.undecided(ns, firsts.of(ns)) {
			return true
		}
	}
	return false
}

func (v View) undecided(namespace string, first First) bool {
	if !v.valid {
		return true
	}
	owner, over := v.table.Owner(namespace, first.RV)
	if owner == "" {
		return !over && !v.owns(namespace, first)
	}
	p, last := v.table.Pending, len(v.table.Epochs)-1
	if p == nil || !p.Hold || v.table.epoch(first.RV) < last {
		return false // what is in an epoch that has ended stays there
	}
	next := choose(namespace, p.Members)
	return owner != next && (owner == v.self || next == v.self)
}
