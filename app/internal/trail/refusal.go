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
	// HandedOut means that the refusal was handed out as a separate trace. Later requests amend that
	// trace: the first ones as spans. The first further one follows them in Writes, and Repeats counts
	// from there.
	HandedOut bool
}

// reportEvery is the interval between the reports of further requests.
const reportEvery = time.Hour

// due reports whether the further requests of a refusal that was handed out are to be reported: there
// were none for maxAge, or the first was long ago.
func (r *Refusal) due(now time.Time) bool {
	return r.Repeats > 0 && (r.isOld(now) || now.Sub(r.Further().End) >= reportEvery)
}

func (r *Refusal) isOld(now time.Time) bool { return now.Sub(r.Last) > maxAge }

// Further returns the first further request of a refusal that was handed out; nil without one.
func (r *Refusal) Further() *observation.Write {
	if len(r.Writes) <= maxAlike {
		return nil
	}
	return r.Writes[maxAlike]
}

// SameRefusal reports whether two refused requests are of the same kind.
func SameRefusal(a, b *observation.Write) bool {
	return a.Failed() && b.Failed() && a.Verb == b.Verb &&
		a.Subresource == b.Subresource && a.Code == b.Code && a.Reason == b.Reason &&
		a.User == b.User && a.Manager == b.Manager
}

// Refuse adds a refused request that was not observed before. again is the refusal if it was handed
// out and w is one of its first requests. dropped reports whether other refusals were dropped for it.
func (tr *Trail) Refuse(id index.Subject, w *observation.Write) (again *Refusal, dropped bool) {
	of := tr.refusals[id]
	if of == nil {
		if len(tr.refusals) >= MaxRefused {
			tr.dropRefusals()
			dropped = true
		}
		of = &Refusals{}
		tr.refusals[id] = of
	}
	return of.add(w, &tr.tally), dropped
}

func (of *Refusals) add(w *observation.Write, tally *Stats) (again *Refusal) {
	of.Last = history.Later(of.Last, w.End)
	i := slices.IndexFunc(of.Kinds, func(r *Refusal) bool { return SameRefusal(r.Writes[0], w) })
	if i < 0 {
		if len(of.Kinds) >= maxRefusals {
			tally.Dropped++
			return nil
		}
		of.Kinds = append(of.Kinds, &Refusal{Writes: []*observation.Write{w}, Last: w.End})
		return nil
	}
	r := of.Kinds[i]
	r.Last = history.Later(r.Last, w.End)
	if r.HandedOut {
		if len(r.Writes) < maxAlike {
			r.Writes = append(slices.Clip(r.Writes), w)
			return r
		}
		if r.Repeats == 0 {
			r.Writes = append(slices.Clip(r.Writes), w)
		}
		r.Repeats++
		tally.Repeated++
		return nil
	}
	r.Writes = addWrite(r.Writes, w)
	if len(r.Writes) > maxAlike {
		r.Writes = slices.Clone(r.Writes[:maxAlike])
		r.Repeats++
		tally.Repeated++
	}
	return nil
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

// ForgetRefusals forgets the refusals of the object that were handed out, and the old ones without a
// trace. of returns the number of traces with a refusal, and how many of them were handed out. alone means
// that one of these has nothing else. report gets a refusal with the number of its further requests. The result
// is whether anything changed, and whether some are left.
func (tr *Trail) ForgetRefusals(
	id index.Subject, now time.Time, of func(*Refusal) (traces, handedOut int, alone bool), report func(*Refusal),
) (changed, left bool) {
	all := tr.refusals[id]
	if all == nil {
		return true, false
	}
	n := len(all.Kinds)
	all.Kinds = slices.DeleteFunc(all.Kinds, func(r *Refusal) bool {
		traces, out, alone := of(r)
		if alone && !r.HandedOut {
			changed = true
			r.HandedOut, r.Repeats = true, 0 // the last span has their number
		}
		isOld := r.isOld(now)
		switch {
		case r.HandedOut:
			if r.due(now) {
				report(r)
				r.Writes, r.Repeats = slices.Clip(r.Writes[:maxAlike]), 0
			}
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
