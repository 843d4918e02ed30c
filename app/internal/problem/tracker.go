// SPDX-License-Identifier: Apache-2.0

package problem

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"maps"
	"slices"
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
	// Mark identifies the beginning for each observer: a time or a version of the object.
	Mark string
	// Before means that the state is older than At.
	Before bool
	// Exact means that the versions of the object show the beginning: an earlier problem of the object had ended.
	Exact bool
}

// Failing is an object without its desired state, with the reason. It is about the highest owner without its desired
// state.
type Failing struct {
	Object object.Ref
	// Root is the highest controller of the object, or the object.
	Root     types.UID
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
	Image  string
	Cause  *Cause
	Next   string
	// Rank orders problems: higher is worse.
	Rank int
	// Vague means that a more specific reason of the object stays.
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
	// changed means that contents is out of date.
	changed  bool
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

// Has reports whether the object has a problem.
func (t *Tracker) Has(uid types.UID) bool { return t.entries[uid] != nil }

// Lacks notes that an object has not its desired state, with a reason.
func (t *Tracker) Lacks(s *Failing) {
	s.Text = object.Bound(s.Text)
	e := t.entries[s.Object.UID]
	if e == nil {
		e = &tracked{Failing: *s, Own: t.identify(s)}
		e.ID = e.Own
		t.entries[s.Object.UID], t.changed = e, true
		return
	}
	e.Good = time.Time{}
	if s.Onset.Exact && !e.Moved && s.Onset.Mark != e.Onset.Mark {
		// Late observations correct the beginning, or the problem had ended between two looks.
		if e.Own = t.identify(s); s.Onset.At.After(e.Onset.At) {
			e.Earlier = nil
		}
		e.ID, e.Onset, t.changed = e.Own, s.Onset, true
	}
	if s.Vague && !e.Vague && (s.Image == "" || s.Image == e.Image) {
		return
	}
	t.replace(e, s)
}

// replace replaces the reason of an entry. It keeps the cause that led to an equal key: a later change did not.
func (t *Tracker) replace(e *tracked, s *Failing) {
	same := s.Key == e.Key && s.Category == e.Category
	if same && s.Text == e.Text && s.Next == e.Next && (e.Cause != nil || s.Cause == nil) && e.Rank == s.Rank {
		return
	}
	next := *s
	next.Onset, next.Root = e.Onset, e.Root
	switch {
	case same:
		next.At = e.At
		if e.Cause != nil {
			next.Cause = e.Cause
		}
	case s.Category != e.Category || s.Text != e.Text:
		e.Earlier = append(e.Earlier, former{e.Category, e.sentence(), e.At})
		e.Earlier = slices.Clone(e.Earlier[max(0, len(e.Earlier)-MaxEarlier):])
	}
	e.Failing, t.changed = next, true
}

// sentence returns the reason as a sentence.
func (e *tracked) sentence() string { return e.Object.Kind.Kind + " " + e.Object.Name + " " + e.Text }

// Waits notes that an object has not its desired state, without a reason. Its problem goes on.
func (t *Tracker) Waits(uid types.UID) {
	if e := t.entries[uid]; e != nil && !e.Good.IsZero() {
		e.Good, t.changed = time.Time{}, true
	}
}

// Arrives notes that an object has its desired state since the time at. It returns the time after which its
// problem has ended; zero without a problem.
func (t *Tracker) Arrives(uid types.UID, at, now time.Time) time.Time {
	e := t.entries[uid]
	if e == nil {
		return time.Time{}
	}
	if e.Good.IsZero() || at.Before(e.Good) {
		e.Good = at
	}
	end := e.Good.Add(max(e.Lasting, Lasting))
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
// reason.
func (t *Tracker) identify(s *Failing) string {
	sum := sha256.Sum256([]byte(strings.Join([]string{t.cluster, string(s.Root), s.Onset.Mark}, "\x00")))
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

func older(a, b *tracked) int {
	return cmp.Or(a.Onset.At.Compare(b.Onset.At), cmp.Compare(a.Object.UID, b.Object.UID))
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
			s := g[0].Failing
			s.Onset.Mark = strings.Join([]string{s.Onset.Mark, s.Key.Category, s.Key.Of, s.Key.Fields}, "\x00")
			id = t.identify(&s)
		}
		used[id] = true
		for _, e := range g {
			e.ID = id
		}
	}
}
