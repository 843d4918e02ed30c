// SPDX-License-Identifier: Apache-2.0

// Package audit finds the request of the API server's audit log that made a stored write. It joins
// by the resourceVersion in the response, by a precondition, or by the order of an object's writes.
// It does not read the log (package source/audit does), and it does not decide about causes.
package audit

import (
	"slices"
	"time"

	"github.com/kube-lifeline/lifeline/app/internal/history"
	"github.com/kube-lifeline/lifeline/app/internal/observation"
)

// Slots returns the stored writes of the object, in order. A baseline version and the version just
// before a removal by the same request (see hurries) are left out.
func Slots(t *history.Record) []Slot {
	out := make([]Slot, 0, len(t.Versions)+1)
	var prev *history.Version
	for _, v := range t.Versions {
		if (prev != nil || !v.Baseline) && !hurries(prev, v) {
			out = append(out, Slot{RV: v.ObjectVersion(), Version: v, prev: prev, seen: v.Seen})
		}
		prev = v
	}
	if t.Removal != nil {
		out = append(out, Slot{RV: t.Removal.ObjectVersion(), prev: prev, seen: t.Removal.Seen})
	}
	return out
}

// hurries reports whether v is a Pod in deletion without a grace period, and the first such version.
// The end of a graceful deletion, and a deletion without one, store such a version, and then remove
// the object. A new deletion with finalizers does not remove it.
func hurries(prev, v *history.Version) bool {
	if prev == nil || v.Pod == nil || v.GraceSeconds > 0 {
		return false
	}
	if prev.Deleting.IsZero() {
		return !v.Deleting.IsZero() && len(v.Finalizers) == 0
	}
	return prev.GraceSeconds > 0
}

// Hurried joins the request of the removal to the version stored just before, if that one has no
// grace period.
func (j *Joins) Hurried(t *history.Record) {
	n := len(t.Versions)
	if j.Removal.Write == nil || n < 2 || !hurries(t.Versions[n-2], t.Versions[n-1]) {
		return
	}
	if rv := t.Versions[n-1].ObjectVersion(); j.Version[rv].Write == nil {
		j.Version[rv] = j.Removal
	}
}

// ByVersion joins a request with a resourceVersion in its response. Of two requests with the same
// one, the first made the write and the second changed nothing. A request for a version between the
// observed ones is added to Missed.
func (j *Joins) ByVersion(t *history.Record, slots []Slot, q *observation.Write) {
	i := slices.IndexFunc(slots, func(s Slot) bool { return s.Version != nil && s.RV == q.ResourceVersion })
	if i >= 0 && (slots[i].prev == nil) == creates(q) {
		if _, taken := j.Version[q.ResourceVersion]; !taken && slots[i].possible(q) {
			j.Version[q.ResourceVersion] = Joined{q, byVersion}
		}
		return
	}
	if len(slots) == 0 {
		return
	}
	if first := slots[0]; creates(q) && first.Version != nil && first.prev == nil && first.RV > q.ResourceVersion {
		// A list showed it only at a later version.
		if _, taken := j.Version[first.RV]; !taken {
			j.Version[first.RV] = Joined{q, byUID}
		}
		return
	}
	from := slots[0].RV
	if slots[0].prev != nil {
		from = slots[0].prev.ObjectVersion() + 1
	}
	if last := slots[len(slots)-1]; q.ResourceVersion >= from && (i >= 0 || q.ResourceVersion < last.RV) &&
		history.RequestVerb(q) == history.Updated &&
		!Unnamed(q) &&
		!requested(t, q) &&
		!slices.ContainsFunc(j.Missed, func(known Joined) bool { return known.ResourceVersion == q.ResourceVersion }) {
		j.Missed = append(j.Missed, Joined{q, byVersion})
	}
}

// requested reports whether the request is also among the observed requests of t.
func requested(t *history.Record, q *observation.Write) bool {
	return slices.ContainsFunc(t.Requests(), func(w *observation.Write) bool {
		return w.AuditID == q.AuditID && q.AuditID != "" ||
			w.ResourceVersion == q.ResourceVersion && q.ResourceVersion > 0
	})
}

// creates reports whether the request created its object.
func creates(q *observation.Write) bool {
	return !q.Failed() && history.RequestVerb(q) == history.Created
}

// Skew is the maximum difference of the clocks of an observer and of API servers. Observations
// within it are consistent.
const Skew = 250 * time.Millisecond

// second is the precision of the timestamps in an object.
const second = time.Second

// possible reports whether the request can have made the write, by time: the write was not observed
// before the start of the request, nor stored after its response.
func (s *Slot) possible(q *observation.Write) bool {
	if q.Start.After(s.seen.Add(Skew)) {
		return false
	}
	if at := s.deleted(); !at.IsZero() && (q.End.Before(at.Add(-Skew)) || q.Start.After(at.Add(second+Skew))) {
		return false
	}
	lo := time.Time{}
	if s.Version != nil && s.prev == nil {
		lo = s.Version.Created
	}
	if s.Version != nil {
		for _, m := range s.Version.Managers {
			if m.Name == q.Manager && m.Subresource == q.Subresource && s.changed(m) && m.Time.After(lo) {
				lo = m.Time
			}
		}
	}
	return !q.End.Before(lo.Add(-Skew))
}

// deleted returns the time of the deletion request by the object's own timestamps, rounded down to a
// second. It is zero unless the write began a deletion.
func (s *Slot) deleted() time.Time {
	if s.Version == nil || s.prev == nil || !s.prev.Deleting.IsZero() || s.Version.Deleting.IsZero() {
		return time.Time{}
	}
	return s.Version.Deleting.Add(-time.Duration(s.Version.GraceSeconds) * time.Second)
}

// changed reports whether the write changed the managedFields entry m.
func (s *Slot) changed(m *observation.Manager) bool {
	return s.prev == nil || !slices.ContainsFunc(s.prev.Managers, history.Is(m))
}

// fits reports whether the request can have made the write, by its verb, its field manager, its
// precondition and its time.
func (s *Slot) fits(q *observation.Write) bool {
	if q.Precondition > 0 && (s.prev == nil || s.prev.ObjectVersion() != q.Precondition) {
		return false
	}
	verb := history.RequestVerb(q)
	switch {
	case s.Version == nil: // the removal
		finalized := s.prev != nil && !s.prev.Deleting.IsZero() && len(s.prev.Finalizers) > 0
		if verb != history.Deleted && !finalized {
			return false
		}
	case s.prev == nil:
		return verb == history.Created && s.possible(q)
	case q.Removes, verb == history.Created:
		return false
	case s.prev.Deleting.IsZero() && !s.Version.Deleting.IsZero():
		if verb != history.Deleted {
			return false
		}
	case verb == history.Deleted:
		return false
	case q.Subresource == "binding":
		if s.prev.Pod == nil || s.Version.Pod == nil || s.prev.Pod.Node != "" || s.Version.Pod.Node == "" {
			return false
		}
	case !s.by(q):
		return false
	}
	return s.possible(q)
}

// by reports whether the field manager of the request changed in the write, or none did. Without a
// changed one, a binding is excluded.
func (s *Slot) by(q *observation.Write) bool {
	some := false
	for _, m := range s.Version.Managers {
		if s.changed(m) {
			some = true
			if m.Name == q.Manager && m.Subresource == q.Subresource {
				return true
			}
		}
	}
	if s.prev.Pod != nil && s.Version.Pod != nil && s.prev.Pod.Node == "" && s.Version.Pod.Node != "" {
		return false // only a binding sets the Node
	}
	return !some
}

// ByOrder joins requests without a resourceVersion in their response. Requests and writes of one
// object have one order. A pair is joined if it is in every largest set of pairs in that order.
func (j *Joins) ByOrder(slots []Slot, open []*observation.Write) {
	if len(open) == 0 || len(slots) == 0 {
		return
	}
	if len(open)*len(slots) > maxPairs {
		j.Ambiguous += len(open)
		return
	}
	n, m := len(open), len(slots)
	fits := make([][]bool, n)
	for i, q := range open {
		fits[i] = make([]bool, m)
		for k := range slots {
			fits[i][k] = slots[k].fits(q) && j.inOrder(q, &slots[k])
		}
	}
	before, after := pairings(n, m, fits), pairingsAfter(n, m, fits)
	most := before[n][m]
	partner := make([]int, n)
	for i := range open {
		partner[i] = -1
		skipped, ways := 0, 0
		for k := 0; k <= m; k++ {
			skipped = max(skipped, before[i][k]+after[i+1][k])
		}
		for k := range slots {
			if fits[i][k] && before[i][k]+1+after[i+1][k+1] == most {
				partner[i] = k
				ways++
			}
		}
		if ways != 1 || skipped == most {
			if ways > 0 {
				j.Ambiguous++
			}
			partner[i] = -1
		}
	}
	j.settle(slots, open, fits, partner)
}

// settle joins the found pairs. It leaves out overlapping requests with exchangeable writes, and
// counts them as ambiguous.
func (j *Joins) settle(slots []Slot, open []*observation.Write, fits [][]bool, partner []int) {
	doubtful := make([]bool, len(open))
	for a := range open {
		for b := a + 1; b < len(open) && partner[a] >= 0 && !open[b].Start.After(open[a].End); b++ {
			if partner[b] >= 0 && fits[a][partner[b]] && fits[b][partner[a]] {
				doubtful[a], doubtful[b] = true, true
			}
		}
	}
	for i, q := range open {
		if partner[i] < 0 {
			continue
		}
		if doubtful[i] {
			j.Ambiguous++
			continue
		}
		how := byUID
		switch {
		case q.Precondition > 0:
			how = byPrecondition
		case q.UID == "":
			how = byName
		}
		if s := slots[partner[i]]; s.Version == nil {
			j.Removal = Joined{q, how}
		} else {
			j.Version[s.RV] = Joined{q, how}
		}
	}
}

// inOrder reports whether the pair agrees with the known joins: the write of a later request is
// later.
func (j *Joins) inOrder(q *observation.Write, s *Slot) bool {
	for rv, known := range j.Version {
		if q.End.Before(known.Start) && s.RV > rv || known.End.Before(q.Start) && s.RV < rv {
			return false
		}
	}
	return true
}

// pairings returns the largest number of pairs in order, for the first i requests and the first k
// writes.
func pairings(n, m int, fits [][]bool) [][]int {
	most := make([][]int, n+1)
	for i := range most {
		most[i] = make([]int, m+1)
		for k := 1; i > 0 && k <= m; k++ {
			most[i][k] = max(most[i-1][k], most[i][k-1])
			if fits[i-1][k-1] {
				most[i][k] = max(most[i][k], most[i-1][k-1]+1)
			}
		}
	}
	return most
}

// pairingsAfter returns the largest number of pairs in order, for the requests from i on and the
// writes from k on.
func pairingsAfter(n, m int, fits [][]bool) [][]int {
	most := make([][]int, n+1)
	for i := n; i >= 0; i-- {
		most[i] = make([]int, m+1)
		for k := m - 1; i < n && k >= 0; k-- {
			most[i][k] = max(most[i+1][k], most[i][k+1])
			if fits[i][k] {
				most[i][k] = max(most[i][k], most[i+1][k+1]+1)
			}
		}
	}
	return most
}

// Fits reports whether the request can have made an observed write to the object of t.
func Fits(t *history.Record, q *observation.Write) bool {
	return There(t, q) && slices.ContainsFunc(Slots(t), func(s Slot) bool { return s.fits(q) })
}

// There reports whether the object may have existed at the time of the request.
func There(t *history.Record, q *observation.Write) bool {
	v := t.Last()
	if v == nil || v.Created.IsZero() {
		return v != nil
	}
	if creates(q) && q.Start.After(v.Created.Add(second+Skew)) {
		return false
	}
	return !q.End.Before(v.Created.Add(-Skew)) && (t.Removal == nil || !q.Start.After(t.Removal.Seen.Add(Skew)))
}

// Unnamed reports whether the source of the request accepts any sender, and another source does
// not. Such a request gives times only.
func Unnamed(q *observation.Write) bool { return q.Unauthenticated && q.User == "" }
