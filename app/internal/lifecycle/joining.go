// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"slices"
	"time"

	"github.com/kube-lifeline/lifeline/app/internal/observation"
)

// match says how a request was found to have made a stored write.
type match string

const (
	// byVersion: its answer names the resourceVersion.
	byVersion match = "resource_version"
	// byPrecondition: it could only replace the version before.
	byPrecondition match = "precondition"
	// byUID and byName: it is the only one to its object that can have made
	// the write, in the order of the object's writes.
	byUID  match = "uid"
	byName match = "name"
)

// joined is a request of the audit log that made a stored write.
type joined struct {
	*observation.Write
	how match
}

// joins says which requests made which of an object's writes (rule C2). It is a
// pure function of the timeline and of those of the same name.
type joins struct {
	// doubts are the engine's when it was made.
	doubts  int
	version map[uint64]joined
	removal joined
	// missed are stored writes that nobody saw: the object was seen before and
	// after, but not as it was written.
	missed []joined
	// ambiguous counts requests that could have made several writes.
	ambiguous int
}

// none stands for the joins of an object of which the audit log told nothing.
var none = &joins{}

// maxPairs bounds the work of finding out which of several requests made which
// of several writes.
const maxPairs = 1 << 14

// slot is one stored write that a request may have made.
type slot struct {
	rv      uint64
	v, prev *version // v is nil for the removal
	seen    time.Time
}

// joins returns what the audit log tells of the writes of t.
func (e *Engine) joins(t *timeline) *joins {
	a := t.audits
	if a == nil {
		return none
	}
	if a.joined == nil || a.joined.doubts != e.doubts {
		a.joined = e.join(t)
	}
	return a.joined
}

func (e *Engine) join(t *timeline) *joins {
	j := &joins{doubts: e.doubts, version: map[uint64]joined{}}
	slots := t.slots()
	// Authenticated requests come first: a forged one gets what they leave.
	for _, unauthenticated := range []bool{false, true} {
		e.joinSome(t, j, slots, unauthenticated)
	}
	j.hurried(t)
	return j
}

// joinSome joins the authenticated requests, or the others, to the slots that are free.
func (e *Engine) joinSome(t *timeline, j *joins, slots []slot, unauthenticated bool) {
	var open []*observation.Write
	for _, q := range t.audits.list {
		switch {
		case q.Unauthenticated != unauthenticated, e.contradicted(q), q.UID == "" && !e.means(t, q):
		case q.ResourceVersion > 0:
			j.byVersion(t, slots, q)
		default:
			open = append(open, q)
		}
	}
	if len(open) == 0 {
		return
	}
	free := slices.DeleteFunc(slices.Clone(slots), func(s slot) bool {
		_, taken := j.version[s.rv]
		return s.v != nil && taken || s.v == nil && j.removal.Write != nil
	})
	j.byOrder(free, open)
}

// slots are the stored writes of the object, in order.
func (t *timeline) slots() []slot {
	out := make([]slot, 0, len(t.versions)+1)
	var prev *version
	for _, v := range t.versions {
		if (prev != nil || !v.baseline) && !hurries(prev, v) {
			out = append(out, slot{rv: v.ResourceVersion, v: v, prev: prev, seen: v.seen})
		}
		prev = v
	}
	if t.removal != nil {
		out = append(out, slot{rv: t.removal.rv, prev: prev, seen: t.removal.seen})
	}
	return out
}

// hurries reports whether v is of an object that was going already and is to go
// at once: what ends a graceful deletion stores that, too, and then removes the
// object.
func hurries(prev, v *version) bool {
	return prev != nil && v.Pod != nil && !prev.Deleting.IsZero() && prev.GraceSeconds > 0 && v.GraceSeconds == 0
}

// hurried joins the request that removed the object to what it stored before.
func (j *joins) hurried(t *timeline) {
	n := len(t.versions)
	if j.removal.Write == nil || n < 2 || !hurries(t.versions[n-2], t.versions[n-1]) {
		return
	}
	if rv := t.versions[n-1].ResourceVersion; j.version[rv].Write == nil {
		j.version[rv] = j.removal
	}
}

// byVersion joins a request whose answer names what it stored. Where two name
// it, the first made it and the second changed nothing.
func (j *joins) byVersion(t *timeline, slots []slot, q *observation.Write) {
	i := slices.IndexFunc(slots, func(s slot) bool { return s.v != nil && s.rv == q.ResourceVersion })
	if i >= 0 && (slots[i].prev == nil) == creates(q) {
		if _, taken := j.version[q.ResourceVersion]; !taken && slots[i].possible(q) {
			j.version[q.ResourceVersion] = joined{q, byVersion}
		}
		return
	}
	if len(slots) == 0 {
		return
	}
	if first := slots[0]; creates(q) && first.v != nil && first.prev == nil && first.rv > q.ResourceVersion {
		// A list showed it later than it was made.
		if _, taken := j.version[first.rv]; !taken {
			j.version[first.rv] = joined{q, byUID}
		}
		return
	}
	from := slots[0].rv
	if slots[0].prev != nil {
		from = slots[0].prev.ResourceVersion + 1
	}
	if last := slots[len(slots)-1]; q.ResourceVersion >= from && (i >= 0 || q.ResourceVersion < last.rv) &&
		requestVerb(q) == updated &&
		!unnamed(q) &&
		!t.requested(q) &&
		!slices.ContainsFunc(j.missed, func(known joined) bool { return known.ResourceVersion == q.ResourceVersion }) {
		j.missed = append(j.missed, joined{q, byVersion})
	}
}

// requested reports whether the request was seen on its way, too.
func (t *timeline) requested(q *observation.Write) bool {
	return slices.ContainsFunc(t.requests, func(w *observation.Write) bool {
		return w.AuditID == q.AuditID && q.AuditID != "" ||
			w.ResourceVersion == q.ResourceVersion && q.ResourceVersion > 0
	})
}

// creates reports whether the request made its object.
func creates(q *observation.Write) bool { return !q.Failed() && requestVerb(q) == created }

// skew is by how much the clocks of an observer and of API servers may differ
// for what they say to be consistent.
const skew = 250 * time.Millisecond

// possible reports whether the request can have made the write as far as time
// tells: nothing was seen before it was asked for, nor stored after the answer.
func (s *slot) possible(q *observation.Write) bool {
	if q.Start.After(s.seen.Add(skew)) {
		return false
	}
	lo := time.Time{}
	if s.v != nil && s.prev == nil {
		lo = s.v.Created
	}
	if s.v != nil {
		for _, m := range s.v.Managers {
			if m.Name == q.Manager && m.Subresource == q.Subresource && s.changed(m) && m.Time.After(lo) {
				lo = m.Time
			}
		}
	}
	return !q.End.Before(lo.Add(-skew))
}

// changed reports whether the write changed what a field manager owns.
func (s *slot) changed(m *observation.Manager) bool {
	return s.prev == nil || !slices.ContainsFunc(s.prev.Managers, is(m))
}

// fits reports whether the request is one that can have made the write: of what
// it does, by whom, and to which version.
func (s *slot) fits(q *observation.Write) bool {
	if q.Precondition > 0 && (s.prev == nil || s.prev.ResourceVersion != q.Precondition) {
		return false
	}
	verb := requestVerb(q)
	switch {
	case s.v == nil: // the removal
		finalized := s.prev != nil && !s.prev.Deleting.IsZero() && len(s.prev.Finalizers) > 0
		if verb != deleted && !finalized {
			return false
		}
	case s.prev == nil:
		return verb == created && s.possible(q)
	case q.Removes, verb == created:
		return false
	case s.prev.Deleting.IsZero() && !s.v.Deleting.IsZero():
		if verb != deleted {
			return false
		}
	case verb == deleted:
		return false
	case q.Subresource == "binding":
		if s.prev.Pod == nil || s.v.Pod == nil || s.prev.Pod.Node != "" || s.v.Pod.Node == "" {
			return false
		}
	case !s.by(q):
		return false
	}
	return s.possible(q)
}

// by reports whether the field managers that changed are the request's.
func (s *slot) by(q *observation.Write) bool {
	some := false
	for _, m := range s.v.Managers {
		if s.changed(m) {
			some = true
			if m.Name == q.Manager && m.Subresource == q.Subresource {
				return true
			}
		}
	}
	if s.prev.Pod != nil && s.v.Pod != nil && s.prev.Pod.Node == "" && s.v.Pod.Node != "" {
		return false // only a binding does that
	}
	return !some
}

// byOrder joins requests that do not name what they stored. Requests and writes
// of one object have one order; a pair is joined that is in every way of pairing
// as many as can be.
func (j *joins) byOrder(slots []slot, open []*observation.Write) {
	if len(open) == 0 || len(slots) == 0 {
		return
	}
	if len(open)*len(slots) > maxPairs {
		j.ambiguous += len(open)
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
				j.ambiguous++
			}
			partner[i] = -1
		}
	}
	j.settle(slots, open, fits, partner)
}

// settle joins the pairs that were found, but for requests that overlapped and
// could as well have been the other way round.
func (j *joins) settle(slots []slot, open []*observation.Write, fits [][]bool, partner []int) {
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
			j.ambiguous++
			continue
		}
		how := byUID
		switch {
		case q.Precondition > 0:
			how = byPrecondition
		case q.UID == "":
			how = byName
		}
		if s := slots[partner[i]]; s.v == nil {
			j.removal = joined{q, how}
		} else {
			j.version[s.rv] = joined{q, how}
		}
	}
}

// inOrder reports whether the pair agrees with what is known already: who asked
// later stored later.
func (j *joins) inOrder(q *observation.Write, s *slot) bool {
	for rv, known := range j.version {
		if q.End.Before(known.Start) && s.rv > rv || known.End.Before(q.Start) && s.rv < rv {
			return false
		}
	}
	return true
}

// pairings counts, for the first i requests and k writes, how many can be paired
// in order.
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

// pairingsAfter counts the same for those from i and k on.
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

// means reports whether a request that names its object by name alone can mean
// that of t and no other: one that was there at the time.
func (e *Engine) means(t *timeline, q *observation.Write) bool {
	if !t.there(q) {
		return false
	}
	for _, other := range e.named(nameOf(q)) {
		if other != t && other.there(q) {
			return false
		}
	}
	return true
}

// there reports whether the object may have been there when it was asked for.
func (t *timeline) there(q *observation.Write) bool {
	v := t.last()
	if v == nil || v.Created.IsZero() {
		return v != nil
	}
	if creates(q) && q.Start.After(v.Created.Add(time.Second+skew)) {
		return false
	}
	return !q.End.Before(v.Created.Add(-skew)) && (t.removal == nil || !q.Start.After(t.removal.seen.Add(skew)))
}
