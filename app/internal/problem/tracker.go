// SPDX-License-Identifier: Apache-2.0

package problem

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/kube-lifeline/lifeline/app/internal/object"
)

// Lasting is the time for which an object must have its desired state before its problem ends.
const Lasting = time.Minute

// Grouping identifies the cause of a problem. Objects with equal keys are one problem.
type Grouping struct {
	Category string
	// Of is the blamed object or image, or the object itself.
	Of string
	// Fields are the paths of the fields in question, joined by commas.
	Fields string
}

// Onset is the time at which an object left its desired state.
type Onset struct {
	At time.Time
	// Before means that the state is older than At.
	Before bool
	// Found means that the oldest known version of the object shows the beginning.
	Found bool
	// Exact means that the versions of the object show the beginning: an earlier problem of the object had ended.
	Exact bool
	// Version is the resourceVersion of the observed version that shows the beginning. It is 0 if At comes from the
	// object itself.
	Version uint64
}

// mark identifies the beginning, for each observer alike: a version arrives at each one at another time.
func (o *Onset) mark() string {
	switch {
	case o.Before:
		return "before"
	case o.Version > 0:
		return "version " + strconv.FormatUint(o.Version, 10)
	}
	return strconv.FormatInt(o.At.Unix(), 10)
}

// Failing is an object without its desired state, with the reason. It is about the highest owner without its desired
// state.
type Failing struct {
	Object   object.Ref
	Category string
	// Text completes a sentence that begins with the object.
	Text  string
	Key   Grouping
	Onset Onset
	// At is the time of the reason.
	At     time.Time
	Blamed *object.Ref
	// Shared means that Blamed explains all objects with the key.
	Shared bool
	// Outside means that Blamed fails by itself: no change of another object leads to that.
	Outside bool
	// Origin means that the object explains the others with the key. It is the first one.
	Origin bool
	// Follows means that the object fails because another object with the key does. It is never the first one.
	Follows bool
	Image   string
	Cause   *Cause
	Next    string
	// Rank orders problems: higher is worse. 0 is a note, which breaks nothing yet.
	Rank int
	// Vague means that a more specific reason of the object stays for a while.
	Vague bool
	// Lasting is the time for which the object must have its desired state before the problem ends.
	Lasting time.Duration
}

// tracked is an object with a problem.
type tracked struct {
	Failing
	// ID is the ID of the problem, and Own that of a problem that begins with this object.
	ID, Own string
	Earlier []former
	// Moved means that the problem began with another object.
	Moved bool
	// Good is the time from which the object has its desired state; zero while it has not.
	Good time.Time
	// Faint is the time from which the object has only a vague reason, after a specific one. Fading means that this
	// has lasted: the object is still part of the problem, and not its first object.
	Faint  time.Time
	Fading bool
}

// former is an Earlier. The saved state needs a type with a name of its own.
type former struct {
	Category, Reason string
	Since            time.Time
}

// Tracker holds the objects with a problem. It is not safe for concurrent use. Its calls must not go back in time.
type Tracker struct {
	cluster string
	entries map[types.UID]*tracked
	// changed means that the entries have changed since the last call of Settle.
	changed bool
	// contents is nil before the first call of Snapshot after a change.
	contents *contents
}

// Entries is the saved state of a Tracker.
type Entries map[types.UID]*tracked

// NewTracker returns a Tracker without problems.
func NewTracker(cluster string) *Tracker {
	return &Tracker{cluster: cluster, entries: Entries{}, changed: true}
}

// Entries returns the saved state. Only a restoration may change it.
func (t *Tracker) Entries() Entries { return t.entries }

// Since returns the age of the problem of an object, and whether it has one.
func (t *Tracker) Since(uid types.UID) (time.Time, bool) {
	if e := t.entries[uid]; e != nil {
		return e.Onset.At, true
	}
	return time.Time{}, false
}

// Blames returns the UID of the object that explains the problem of another one by a specific reason; "" without one.
func (t *Tracker) Blames(uid types.UID) types.UID {
	e := t.entries[uid]
	if e == nil || e.Vague || e.Blamed == nil {
		return ""
	}
	return e.Blamed.UID
}

// Has reports whether the object has a problem.
func (t *Tracker) Has(uid types.UID) bool { return t.entries[uid] != nil }

// Lacks notes that an object has not its desired state, with a reason. It returns the time after which a vague
// reason replaces the present one; zero if time changes nothing.
func (t *Tracker) Lacks(s *Failing, now time.Time) time.Time {
	s.Text = object.Bound(s.Text)
	e := t.entries[s.Object.UID]
	if e == nil {
		e = &tracked{Failing: *s, Own: t.identify(s)}
		e.ID = e.Own
		t.entries[s.Object.UID], t.changed = e, true
		return time.Time{}
	}
	if !e.Good.IsZero() {
		e.Good, t.changed = time.Time{}, true
	}
	if s.Onset.Exact && !e.Moved && s.Onset.mark() != e.Onset.mark() {
		// Late observations correct the beginning, or the problem had ended between two looks.
		if e.Own = t.identify(s); s.Onset.At.After(e.Onset.At) {
			e.Earlier = nil
		}
		e.ID, e.Onset, t.changed = e.Own, s.Onset, true
	}
	switch {
	case !s.Vague || e.Vague && !e.Fading:
		e.Faint, e.Fading = time.Time{}, false
	case s.Image != "" && s.Image == e.Image && !e.Fading:
		return time.Time{} // the kubelet repeats the reason of a failed pull only at the next pull
	default:
		if e.Faint.IsZero() {
			e.Faint = now
		}
		if until := e.Faint.Add(e.lasting()); !now.After(until) {
			return until
		}
		e.Fading = true
		s.Key, s.Shared, s.Outside = e.Key, e.Shared, e.Outside // the object is still part of the problem
	}
	t.replace(e, s)
	return time.Time{}
}

// lasting returns the time for which another state must last to count.
func (e *tracked) lasting() time.Duration { return max(e.Lasting, Lasting) }

// replace replaces the reason of an entry. It keeps the cause that led to an equal key: a later change did not.
func (t *Tracker) replace(e *tracked, s *Failing) {
	same := s.Key == e.Key && s.Category == e.Category
	next := *s
	next.Onset = e.Onset
	switch one := s.Cause != nil && e.Cause != nil && s.Cause.TraceID == e.Cause.TraceID; {
	case e.Cause == nil, one && s.Cause.Object != nil: // an audit event brings the user
	case same, one, s.Cause == nil: // the engine forgets the data of a trace
		next.Cause = e.Cause
	}
	switch {
	case same:
		next.At = e.At
	case s.Category != e.Category || s.Text != e.Text:
		e.remember(former{e.Category, e.sentence(), e.At})
	}
	t.changed = t.changed || !reflect.DeepEqual(e.Failing, next)
	e.Failing = next
}

// remember adds an earlier reason. One that comes again keeps its first time.
func (e *tracked) remember(f former) {
	same := func(of former) bool { return of.Category == f.Category && of.Reason == f.Reason }
	if slices.ContainsFunc(e.Earlier, same) {
		return
	}
	e.Earlier = append(slices.Clone(e.Earlier), f)
	e.Earlier = e.Earlier[max(0, len(e.Earlier)-MaxEarlier):]
}

// sentence returns the reason as a sentence.
func (e *tracked) sentence() string { return e.Object.Kind.Kind + " " + e.Object.Name + " " + e.Text }

// Arrives notes that an object has its desired state since the time at. It returns the time after which its
// problem has ended; zero without a problem.
func (t *Tracker) Arrives(uid types.UID, at, now time.Time) time.Time {
	e := t.entries[uid]
	if e == nil {
		return time.Time{}
	}
	if e.Good.IsZero() || at.Before(e.Good) {
		e.Good, t.changed = at, true
	}
	end := e.Good.Add(e.lasting())
	if now.After(end) {
		t.Ends(uid)
		return time.Time{}
	}
	return end
}

// Ends ends the problem of an object at once.
func (t *Tracker) Ends(uid types.UID) {
	if t.entries[uid] != nil {
		delete(t.entries, uid)
		t.changed = true
	}
}

// Move makes the problem of an object that of its owner. The owner keeps an older problem of its own.
func (t *Tracker) Move(uid types.UID, to object.Ref) {
	e := t.entries[uid]
	if e == nil {
		return
	}
	t.Ends(uid)
	if t.entries[to.UID] != nil {
		return
	}
	moved := *e
	moved.Object, moved.Moved = to, true
	t.entries[to.UID] = &moved
}

// identify returns the ID of a problem that begins with the state. It does not depend on the observer, nor on the
// reason. Two objects never have the same one, nor two problems of one object.
func (t *Tracker) identify(s *Failing) string {
	return digest(t.cluster, string(s.Object.UID), s.Onset.mark())
}

func digest(parts ...string) string {
	sum := sha256.Sum256([]byte(strings.Join(parts, "\x00")))
	return hex.EncodeToString(sum[:8])
}

// ordered returns the entries of each key, the oldest first.
func (t *Tracker) ordered() [][]*tracked {
	groups := map[Grouping][]*tracked{}
	for _, e := range t.entries {
		groups[e.Key] = append(groups[e.Key], e)
	}
	out := slices.Collect(maps.Values(groups))
	for _, g := range out {
		slices.SortFunc(g, older)
	}
	// The problem with the oldest object keeps an ID that two claim.
	slices.SortFunc(out, func(a, b []*tracked) int { return older(a[0], b[0]) })
	return out
}

// older orders objects: the first one gives a problem its sentence. Most times are whole seconds.
func older(a, b *tracked) int {
	return cmp.Or(
		cmp.Compare(a.place(), b.place()),
		a.Onset.At.Compare(b.Onset.At),
		cmp.Compare(a.Object.Namespace, b.Object.Namespace),
		cmp.Compare(a.Object.Name, b.Object.Name),
		cmp.Compare(a.Object.UID, b.Object.UID),
	)
}

// place orders the objects of a problem before their age does.
func (e *tracked) place() int {
	switch {
	case e.Origin:
		return -1
	case e.Follows:
		return 2
	case e.Fading:
		return 1
	}
	return 0
}

// Settle gives the objects of one problem its ID, which each of them keeps when the others end. So the IDs depend on
// the times of the calls: they are a part of each look, also of a replayed one.
func (t *Tracker) Settle() {
	if !t.changed {
		return
	}
	t.settle(t.ordered())
	t.changed, t.contents = false, nil
}

// settle gives all entries of one key the ID of their problem.
func (t *Tracker) settle(groups [][]*tracked) {
	used := map[string]bool{}
	for _, g := range groups {
		id := g[0].ID
		if used[id] {
			id = g[0].Own
		}
		if used[id] {
			k := g[0].Key
			id = digest(id, k.Category, k.Of, k.Fields)
		}
		used[id] = true
		for _, e := range g {
			e.ID = id
		}
	}
}
