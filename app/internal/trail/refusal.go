// SPDX-License-Identifier: Apache-2.0

package trail

import (
	"cmp"
	"iter"
	"maps"
	"slices"
	"time"

	"github.com/kube-lifeline/lifeline/app/internal/history"
	"github.com/kube-lifeline/lifeline/app/internal/index"
	"github.com/kube-lifeline/lifeline/app/internal/observation"
)

// Bounds of the stored refused writes: the objects, the kinds of refusal per object, and the
// requests per kind. Further requests of a kind are only counted.
const (
	MaxRefused  = 1 << 12
	maxRefusals = 16
	maxAlike    = 4
)

// Refusals are the writes to one object that the API server refused, by kind.
type Refusals struct {
	Kinds []*Refusal
	Last  time.Time
}

// Refusal holds the refused requests of one user for one reason: the first requests, in order, and
// the number of further ones. A loop of conflicts is one refusal.
type Refusal struct {
	Writes  []*observation.Write
	Repeats int
	Last    time.Time
	// HandedOut means that the refusal was handed out as a separate trace. Its repeats are not handed
	// out.
	HandedOut bool
}

// SameRefusal reports whether two refused requests are of the same kind.
func SameRefusal(a, b *observation.Write) bool {
	return a.Verb == b.Verb && a.Subresource == b.Subresource && a.Code == b.Code && a.Reason == b.Reason &&
		a.User == b.User && a.Manager == b.Manager
}

// Refuse adds a refused request that was not observed before. It reports whether it dropped others for it.
func (tr *Trail) Refuse(id index.Subject, w *observation.Write) (dropped bool) {
	of := tr.refusals[id]
	if of == nil {
		if len(tr.refusals) >= MaxRefused {
			tr.dropRefusals()
			dropped = true
		}
		of = &Refusals{}
		tr.refusals[id] = of
	}
	of.add(w, &tr.tally)
	return dropped
}

func (of *Refusals) add(w *observation.Write, tally *Stats) {
	of.Last = history.Later(of.Last, w.End)
	i := slices.IndexFunc(of.Kinds, func(r *Refusal) bool { return SameRefusal(r.Writes[0], w) })
	if i < 0 {
		if len(of.Kinds) >= maxRefusals {
			tally.Dropped++
			return
		}
		of.Kinds = append(of.Kinds, &Refusal{Writes: []*observation.Write{w}, Last: w.End})
		return
	}
	r := of.Kinds[i]
	r.Last = history.Later(r.Last, w.End)
	if r.HandedOut {
		r.Repeats++
		tally.Repeated++
		return
	}
	r.Writes = addWrite(r.Writes, w)
	if len(r.Writes) > maxAlike {
		r.Writes = slices.Clone(r.Writes[:maxAlike])
		r.Repeats++
		tally.Repeated++
	}
}

// RefusalsOf returns the refused writes to the object, or nil. The caller must not change them.
func (tr *Trail) RefusalsOf(id index.Subject) *Refusals { return tr.refusals[id] }

// Refused yields the subjects of all refused writes.
func (tr *Trail) Refused() iter.Seq[index.Subject] { return maps.Keys(tr.refusals) }

// dropRefusals makes room. It drops one eighth of the refusals, the oldest ones.
func (tr *Trail) dropRefusals() {
	all := slices.SortedFunc(maps.Keys(tr.refusals), func(a, b index.Subject) int {
		return cmp.Or(tr.refusals[a].Last.Compare(tr.refusals[b].Last), index.CompareSubjects(a, b))
	})
	for _, id := range all[:MaxRefused/8] {
		delete(tr.refusals, id)
		tr.tally.Dropped++
	}
}

// ForgetRefusals forgets the refusals of the object that were handed out, and those before the time old without a
// trace. of returns the number of traces with a refusal, and how many of them were handed out. alone means
// that one of these has nothing else. The result is whether anything changed, and whether some are left.
func (tr *Trail) ForgetRefusals(
	id index.Subject, old time.Time, of func(*Refusal) (traces, handedOut int, alone bool),
) (changed, left bool) {
	all := tr.refusals[id]
	if all == nil {
		return true, false
	}
	n := len(all.Kinds)
	all.Kinds = slices.DeleteFunc(all.Kinds, func(r *Refusal) bool {
		traces, out, alone := of(r)
		changed = changed || alone && !r.HandedOut
		r.HandedOut = r.HandedOut || alone
		isOld := r.Last.Before(old)
		switch {
		case r.HandedOut:
			return isOld
		case traces > 0:
			return out == traces
		}
		if isOld {
			tr.tally.Passed += uint64(len(r.Writes))
		}
		return isOld
	})
	changed = changed || len(all.Kinds) < n
	if len(all.Kinds) == 0 {
		delete(tr.refusals, id)
		return changed, false
	}
	return changed, true
}
