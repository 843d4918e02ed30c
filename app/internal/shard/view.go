// SPDX-License-Identifier: Apache-2.0

package shard

import (
	"math"
	"slices"

	"github.com/kube-lifeline/lifeline/app/internal/span"
	"github.com/kube-lifeline/lifeline/app/internal/store"
)

// View is one member's view of a Table. It is an immutable value. The zero value owns nothing and
// decides nothing.
type View struct {
	table Table
	self  string
	valid bool
	// resume is the Done in the member's own Lease at its start.
	resume uint64
}

// NewView returns the View of t for the member self. If valid is false, self may have been declared
// gone meanwhile: it hands out nothing, and everything is undecided.
func NewView(t Table, self string, valid bool) View { return View{table: t, self: self, valid: valid} }

// Table returns the Table.
func (v View) Table() Table { return v.table }

// Valid reports whether the member may act on the View.
func (v View) Valid() bool { return v.valid }

// Resume returns the resourceVersion below which the work of an earlier process with the member's
// identity was done. It is 0 without such a process, or if others have taken over its work.
func (v View) Resume() uint64 { return v.resume }

// First is the beginning of a part of a trace: the resourceVersion of its first write; 0 if
// unknown.
type First struct {
	RV uint64
	// Listed marks a write from a list. Another observer may know earlier writes.
	Listed bool
}

// Firsts are the beginnings of a trace's parts, by namespace.
type Firsts map[string]First

// FirstsOf returns the Firsts of t, from its spans. Amendments do not count: they belong to the
// member that stored the extended part.
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

// of returns the beginning of the part in namespace. A part without a write uses that of the
// objects of cluster scope, which all members observe. Without such a write, the part began before
// any observation: it belongs to the first epoch of all, or is done.
func (f Firsts) of(namespace string) First {
	if first, ok := f[namespace]; ok {
		return first
	}
	return f[""]
}

// Mine returns the part of t that this member stores and sends: nil without one, and t itself if it
// is the whole trace. A part has the outcome and reason of t. For a finished trace, call Undecided
// first.
func (v View) Mine(t *span.Trace) *span.Trace { return v.Part(t, FirstsOf(t)) }

// Part is Mine for a trace with known Firsts.
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

// owns reports whether the member owns a part with this beginning. The part may come from a list
// although the member should have read further back, because the API server had no older versions.
// Then another member may have left it: a repetition is better than a loss.
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

// Others returns the other members, each once, that own parts of t in namespaces that this member
// observes as well. If they go before they are done, these parts may become its own.
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

// Succeeds reports whether late data of namespace, for parts of the others, now belong to this
// member. It must own the namespace's new parts, and all others must have gone. The others have
// stored the data up to the resourceVersion complete.
func (v View) Succeeds(namespace string, others []string) (complete uint64, ok bool) {
	owner, _ := v.table.Owner(namespace, math.MaxUint64)
	if !v.valid || owner != v.self || len(others) == 0 {
		return 0, false
	}
	live, complete := v.table.live(), uint64(math.MaxUint64)
	for _, o := range others {
		parted, gone := v.table.parted(o)
		if !gone || slices.Contains(live, o) {
			return 0, false
		}
		complete = min(complete, parted.Complete)
	}
	return complete, true
}

// Since returns the resourceVersion from which an heir would have to read for this member's parts
// of t, undecided ones included. ok is false without such a part. The lowest one of all open work
// is the result of the hook Open.
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
		if first.Listed { // its true beginning in the epoch is unknown
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

// Undecided reports whether the owner of some part of t is being decided. Then a finished trace or
// an amendment has to wait for a later View.
func (v View) Undecided(t *span.Trace) bool { return v.UndecidedPart(t, FirstsOf(t)) }

// UndecidedPart is Undecided for a trace with known Firsts.
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
		return false // a part of an ended epoch stays there
	}
	next := choose(namespace, p.Members)
	return owner != next && (owner == v.self || next == v.self)
}
