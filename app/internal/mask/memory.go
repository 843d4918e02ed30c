// SPDX-License-Identifier: Apache-2.0

package mask

import (
	"crypto/rand"
	"encoding/binary"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/kube-lifeline/lifeline/app/internal/kind"
	"github.com/kube-lifeline/lifeline/app/internal/object"
)

const (
	// maxOwners bounds the owners above an object whose values are looked at, and maxSets the different
	// sets of words for one text.
	maxOwners = 8
	maxSets   = 256
	// maxMemory bounds the memory of all words in bytes. Objects beyond it are unknown.
	maxMemory = 128 << 20
	// maxReads bounds the ConfigMaps of one object.
	maxReads = 32
	// maxGone bounds the deleted objects that are remembered for their last messages.
	maxGone = 4096
)

// Memory has the words of the objects of a cluster, as keyed digests: of the present version, of the
// versions before, of owners, of dependants and of the ConfigMaps that they read. Objects with the same words share
// them. A Memory may be used concurrently. It is never stored: digests of short values can be reversed by trying.
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

// entry is one object: the words of its present version and of those before, or nil, and the ids of its
// owner, of the object that applies it, and of the ConfigMaps that it reads.
type entry struct {
	now, before *Words
	owners      [2]id
	reads       []id
	name        id
	version     uint64
	// foreign means that the owner is of a custom kind. Its controller may copy the owner's values into messages of
	// the object, but not into its fields.
	foreign bool
	// written is the time of the last change outside the status, in seconds; 0 for none.
	written int64
}

// uses are words and the number of their uses.
type uses struct {
	words *Words
	n     int
}

// NewMemory returns an empty Memory with a random key of its own.
func NewMemory() *Memory {
	var b [16]byte
	_, _ = rand.Read(b[:]) // never fails
	return &Memory{
		key:     key{binary.LittleEndian.Uint64(b[:8]), binary.LittleEndian.Uint64(b[8:])},
		objects: map[id]entry{}, names: map[id]id{}, below: map[id]map[*Words]int{},
		shared: map[uint64]*uses{},
	}
}

func (m *Memory) uid(uid types.UID) id {
	var buf [64]byte // most fit, without an allocation
	return id(m.key.sum(append(buf[:0], uid...)))
}

// name returns the id of a name, in any version of its kind.
func (m *Memory) name(n object.Name) id {
	var buf [256]byte
	b := buf[:0]
	for _, part := range [...]string{n.Group, n.Kind, n.Namespace, n.Name} {
		b = append(append(b, part...), 0)
	}
	return id(m.key.sum(b))
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
	// Reads are the ConfigMaps that the object reads.
	Reads []object.Name
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
		e.owners[0], e.foreign = m.uid(of.UID), !kind.BuiltIn(of.Group)
	}
	if v.Applied != (object.Name{}) {
		e.owners[1] = m.name(v.Applied)
	}
	for _, name := range v.Reads[:min(len(v.Reads), maxReads)] {
		e.reads = append(e.reads, m.name(name))
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	old, known := m.objects[uid]
	if known && old.version > v.ResourceVersion {
		return
	}
	words := v.Words
	if len(v.Reads) > maxReads {
		words = unknown
	}
	if known && old.version == v.ResourceVersion {
		words = old.now
	}
	e.now = m.share(words)
	switch {
	case !known:
	case old.now == e.now:
		e.before = m.share(old.before)
	default:
		e.before = m.share(union(old.before, old.now))
	}
	m.join(&e)
	m.leave(&old)
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
	m.leave(&e)
	delete(m.objects, oldest)
	if m.names[e.name] == oldest {
		delete(m.names, e.name)
	}
}

// Of returns the values of an object, of its versions before, of its owners, of its dependants and of the ConfigMaps
// that it reads. It returns false for an object with unknown values, or with an unknown owner of a custom kind.
// earlier means that a text can be about an earlier version
// than the present one; then that version must be known.
func (m *Memory) Of(uid types.UID, earlier bool) (Values, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.of(m.uid(uid), earlier, false)
}

// At is Of for a text from that time, such as an Event.
func (m *Memory) At(uid types.UID, at time.Time) (Values, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	of := m.uid(uid)
	written := m.objects[of].written
	return m.of(of, written != 0 && at.Unix() < written, false)
}

// Named is Of for the object of that name. Its owner need not be known: the text is by someone who has read the
// object alone, such as a policy.
func (m *Memory) Named(name object.Name) (Values, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	of, known := m.names[m.name(name)]
	if !known {
		return Values{}, false
	}
	return m.of(of, false, true)
}

func (m *Memory) of(of id, earlier, alone bool) (Values, bool) {
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
		ok = ok && m.addRead(&v, &e)
		up, found := m.objects[e.owners[0]]
		if !found && e.foreign && !alone {
			return v, false
		}
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

// addRead adds the words of the ConfigMaps that an object reads.
func (m *Memory) addRead(v *Values, e *entry) bool {
	for _, name := range e.reads {
		read, found := m.objects[m.names[name]]
		v.unread = v.unread || !found
		if found && (!v.add(read.now) || !v.add(read.before)) {
			return false
		}
	}
	return true
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
	if w == nil || w == none || w.more {
		return w
	}
	u := m.shared[w.id]
	if u == nil {
		if m.size+w.size() > maxMemory {
			return unknown
		}
		u = &uses{words: w}
		m.shared[w.id] = u
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
	u := m.shared[w.id]
	if u.n--; u.n == 0 {
		delete(m.shared, w.id)
		m.size -= w.size()
	}
}

// join adds the words of an object to those below its owners.
func (m *Memory) join(e *entry) {
	for _, owner := range e.owners {
		for _, w := range []*Words{e.now, e.before} {
			if owner == 0 || w == nil || w == none {
				continue
			}
			if m.below[owner] == nil {
				m.below[owner] = map[*Words]int{}
			}
			m.below[owner][w]++
		}
	}
}

// leave undoes join, and ends the uses of the words.
func (m *Memory) leave(e *entry) {
	for _, w := range []*Words{e.now, e.before} {
		for _, owner := range e.owners {
			of := m.below[owner]
			if owner == 0 || w == nil || w == none {
				continue
			}
			if of[w]--; of[w] <= 0 {
				delete(of, w)
			}
			if len(of) == 0 {
				delete(m.below, owner)
			}
		}
		m.release(w)
	}
}

// And returns the values with those of more words; false if they are not complete.
func (m *Memory) And(v Values, w *Words) (Values, bool) {
	v = Values{key: m.key, sets: slices.Clone(v.sets), unread: v.unread}
	return v, v.add(w)
}
