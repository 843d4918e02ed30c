// SPDX-License-Identifier: Apache-2.0

package mask

import (
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/kube-lifeline/lifeline/app/internal/object"
)

const (
	// maxOwners bounds the owners above an object whose values are looked at, and maxSets the different
	// sets of words for one text.
	maxOwners = 8
	maxSets   = 256
	// maxMemory bounds the memory of all words in bytes. Objects beyond it are unknown.
	maxMemory = 128 << 20
	// maxGone bounds the deleted objects that are remembered for their last messages.
	maxGone = 4096
)

// Memory has the words of the objects of a cluster, as keyed digests: of the present version, of the
// version before, of owners and of dependants. Objects with the same words share them. A Memory may be used
// concurrently.
type Memory struct {
	key key

	mu      sync.Mutex
	objects map[id]entry
	names   map[id]id
	// below has the words of the objects below an owner, each with the number of its objects.
	below map[id]map[*Words]int
	// shared are the words in use, by a digest of them, and size is their memory in bytes.
	shared map[uint64]*uses
	size   int
	// gone are the deleted objects, the oldest first.
	gone []id
}

// id is a digest of a UID or of a name.
type id uint64

// entry is one object: the words of its present version and of the one before, or nil, and the ids of its
// owner and of the object that applies it.
type entry struct {
	now, before *Words
	owners      [2]id
	name        id
	version     uint64
	// written is the time of the last change outside the status, in seconds; 0 for none.
	written int64
}

// uses are words and the number of their uses.
type uses struct {
	words *Words
	n     int
}

// NewMemory returns an empty Memory with the two halves of a key.
func NewMemory(k0, k1 uint64) *Memory {
	return &Memory{
		key: key{k0, k1}, objects: map[id]entry{}, names: map[id]id{}, below: map[id]map[*Words]int{},
		shared: map[uint64]*uses{},
	}
}

func (m *Memory) uid(uid types.UID) id { return id(m.key.sum([]byte(uid))) }

// name returns the id of a name, in any version of its kind.
func (m *Memory) name(n object.Name) id {
	return id(m.key.sum([]byte(n.Group + "\x00" + n.Kind + "\x00" + n.Namespace + "\x00" + n.Name)))
}

// Collect returns the words of an object, as Put takes them. custom means that it is of a custom kind.
func (m *Memory) Collect(obj Object, custom bool) *Words { return collect(m.key, obj, custom) }

// Version is one version of an object.
type Version struct {
	*object.Ref
	ResourceVersion uint64
	Owners          []object.Owner
	// Applied is the object that applies this one, such as a Kustomization; the zero value means none.
	Applied object.Name
	// Written is the time of the last change outside the status; zero for an object without any.
	Written time.Time
	Words   *Words
}

// Put remembers a version. One that is older than the known one changes nothing, and the words of a version do not
// change.
func (m *Memory) Put(v *Version) {
	uid, e := m.uid(v.UID), entry{name: m.name(object.NameOf(v.Ref)), version: v.ResourceVersion}
	if !v.Written.IsZero() {
		e.written = v.Written.Unix()
	}
	if len(v.Owners) > 0 {
		of := &v.Owners[0]
		if c := object.ControllerOf(v.Owners); c != nil {
			of = c
		}
		e.owners[0] = m.uid(of.UID)
	}
	if v.Applied != (object.Name{}) {
		e.owners[1] = m.name(v.Applied)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	old, known := m.objects[uid]
	if known && old.version > v.ResourceVersion {
		return
	}
	words := v.Words
	if known && old.version == v.ResourceVersion {
		words = old.now
	}
	e.now, e.before = m.share(words), old.before
	switch {
	case !known:
	case old.now == e.now:
		m.release(old.now)
	default:
		m.release(old.before)
		e.before = old.now
	}
	for i := range e.owners {
		m.join(e.owners[i], e.now)
		m.leave(old.owners[i], old.now)
	}
	m.objects[uid], m.names[e.name] = e, uid
}

// Forget is called for a deleted object. Its words stay for a while: its last Events come later.
func (m *Memory) Forget(uid types.UID) {
	m.mu.Lock()
	defer m.mu.Unlock()
	of := m.uid(uid)
	if _, known := m.objects[of]; !known {
		return
	}
	if m.gone = append(m.gone, of); len(m.gone) <= maxGone {
		return
	}
	oldest := m.gone[0]
	m.gone = m.gone[1:]
	e, known := m.objects[oldest]
	if !known {
		return
	}
	for _, owner := range e.owners {
		m.leave(owner, e.now)
	}
	m.release(e.now)
	m.release(e.before)
	delete(m.objects, oldest)
	if m.names[e.name] == oldest {
		delete(m.names, e.name)
	}
}

// Of returns the values of an object, of its version before, of its owners and of its dependants. It
// returns false for an object with unknown values. earlier means that a text can be about an earlier version
// than the present one; then that version must be known.
func (m *Memory) Of(uid types.UID, earlier bool) (Values, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.of(m.uid(uid), earlier)
}

// At is Of for a text from that time, such as an Event.
func (m *Memory) At(uid types.UID, at time.Time) (Values, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	of := m.uid(uid)
	written := m.objects[of].written
	return m.of(of, written != 0 && at.Unix() < written)
}

// Named is Of for the object of that name.
func (m *Memory) Named(name object.Name) (Values, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	of, known := m.names[m.name(name)]
	if !known {
		return Values{}, false
	}
	return m.of(of, false)
}

func (m *Memory) of(of id, earlier bool) (Values, bool) {
	e, known := m.objects[of]
	if !known || earlier && e.before == nil {
		return Values{}, false
	}
	v := Values{key: m.key}
	ok := v.add(e.now) && v.add(e.before)
	for _, owner := range []id{of, e.name} {
		for w := range m.below[owner] {
			ok = ok && v.add(w)
		}
	}
	for range maxOwners {
		up, found := m.objects[e.owners[0]]
		if !found {
			up, found = m.objects[m.names[e.owners[1]]]
		}
		if !found {
			break
		}
		ok = ok && v.add(up.now) && v.add(up.before)
		e = up
	}
	return v, ok
}

// add adds words, and reports whether they and all others are complete.
func (v *Values) add(w *Words) bool {
	switch {
	case w == nil || w == none:
		return true
	case w.more || len(v.sets) >= maxSets:
		return false
	case !slices.Contains(v.sets, w):
		v.sets = append(v.sets, w)
	}
	return true
}

// share returns the one copy of equal words, which has one more use.
func (m *Memory) share(w *Words) *Words {
	if w == none || w.more {
		return w
	}
	sum := w.id
	u := m.shared[sum]
	if u == nil {
		if m.size+w.size() > maxMemory {
			return unknown
		}
		u = &uses{words: w}
		m.shared[sum] = u
		m.size += w.size()
	}
	u.n++
	return u.words
}

// release ends a use of words from share.
func (m *Memory) release(w *Words) {
	if w == nil || w == none || w.more {
		return
	}
	sum := w.id
	u := m.shared[sum]
	if u.n--; u.n == 0 {
		delete(m.shared, sum)
		m.size -= w.size()
	}
}

// join adds the words of an object to those below its owner.
func (m *Memory) join(owner id, w *Words) {
	if owner == 0 || w == none {
		return
	}
	if m.below[owner] == nil {
		m.below[owner] = map[*Words]int{}
	}
	m.below[owner][w]++
}

// leave undoes join.
func (m *Memory) leave(owner id, w *Words) {
	if owner == 0 || w == none || w == nil {
		return
	}
	of := m.below[owner]
	if of[w]--; of[w] <= 0 {
		delete(of, w)
	}
	if len(of) == 0 {
		delete(m.below, owner)
	}
}

// And returns the values with those of more words; false if they are not complete.
func (m *Memory) And(v Values, w *Words) (Values, bool) {
	v = Values{key: m.key, sets: slices.Clone(v.sets)}
	return v, v.add(w)
}
