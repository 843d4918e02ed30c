// SPDX-License-Identifier: Apache-2.0

package syntheticapi

import (
	"cmp"
	"slices"
	"sync"
)

// The kinds of changes in a watch.
const (
	added    = "ADDED"
	modified = "MODIFIED"
	removed  = "DELETED"
	bookmark = "BOOKMARK"
)

const (
	// firstVersion is the resourceVersion of the first object. All have the same number of digits.
	firstVersion = 1_000_000_000
	// keptChanges bounds the changes of one resource for watches from an older resourceVersion.
	keptChanges = 500_000
)

// body encodes one version of an object, without its type. It never changes, and its methods are safe
// for concurrent use.
type body interface {
	json(dst []byte, rv uint64) []byte
	proto(dst []byte, rv uint64) []byte
}

// stored is one version of an object.
type stored struct {
	namespace, name string
	rv              uint64
	body            body
}

// encode appends the object in the format.
func (o *stored) encode(dst []byte, f format) []byte {
	if f.proto {
		return o.body.proto(dst, o.rv)
	}
	return o.body.json(dst, o.rv)
}

// key identifies an object of one resource.
type key struct{ namespace, name string }

// change is one element of a watch.
type change struct {
	what   string
	object *stored
}

// collection holds the objects of one resource, and their latest changes.
type collection struct {
	resource apiResource
	objects  map[key]*stored
	changes  []change
	// forgotten is the number of changes that the collection has dropped, and horizon the
	// resourceVersion of the last of them.
	forgotten int
	horizon   uint64
	// news is closed and replaced at each change.
	news chan struct{}
}

// store holds all objects, with one sequence of resourceVersions as in etcd. Its methods are safe for
// concurrent use.
type store struct {
	mu          sync.Mutex
	version     uint64
	collections map[resourceName]*collection
	// written counts the changes by resource.
	written map[resourceName]int
}

func newStore() *store {
	s := &store{
		version: firstVersion, collections: map[resourceName]*collection{}, written: map[resourceName]int{},
	}
	for _, r := range resources {
		s.collections[r.id()] = &collection{
			resource: r, objects: map[key]*stored{}, horizon: firstVersion, news: make(chan struct{}),
		}
	}
	return s
}

// put writes an object. Its first version counts as added.
func (s *store) put(id resourceName, namespace, name string, b body) {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.collections[id]
	s.version++
	o := &stored{namespace: namespace, name: name, rv: s.version, body: b}
	k := key{namespace, name}
	what := modified
	if c.objects[k] == nil {
		what = added
	}
	c.objects[k] = o
	s.log(c, change{what, o})
}

// remove removes an object. The change has the object's last state, at the version of the removal.
func (s *store) remove(id resourceName, namespace, name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.collections[id]
	k := key{namespace, name}
	last := c.objects[k]
	if last == nil {
		return
	}
	s.version++
	delete(c.objects, k)
	s.log(c, change{removed, &stored{namespace: namespace, name: name, rv: s.version, body: last.body}})
}

func (s *store) log(c *collection, ch change) {
	c.changes = append(c.changes, ch)
	s.written[c.resource.id()]++
	if len(c.changes) > keptChanges {
		drop := keptChanges / 4
		c.horizon = c.changes[drop-1].object.rv
		c.forgotten += drop
		c.changes = slices.Clone(c.changes[drop:])
	}
	close(c.news)
	c.news = make(chan struct{})
}

// settleStart drops all changes, so that the present objects count as old.
func (s *store) settleStart() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, c := range s.collections {
		c.changes, c.forgotten, c.horizon = nil, 0, s.version
	}
	s.written = map[resourceName]int{}
}

// get returns an object, or nil.
func (s *store) get(c *collection, namespace, name string) *stored {
	s.mu.Lock()
	defer s.mu.Unlock()
	return c.objects[key{namespace, name}]
}

// snapshot returns the present objects in the order of etcd, and the present resourceVersion.
func (s *store) snapshot(c *collection, wanted func(*stored) bool) ([]*stored, uint64) {
	s.mu.Lock()
	out := make([]*stored, 0, len(c.objects))
	for _, o := range c.objects {
		if wanted(o) {
			out = append(out, o)
		}
	}
	version := s.version
	s.mu.Unlock()
	slices.SortFunc(out, func(a, b *stored) int {
		return cmp.Or(cmp.Compare(a.namespace, b.namespace), cmp.Compare(a.name, b.name))
	})
	return out, version
}

// place returns the number of the first change after the resourceVersion. ok is false if the
// collection has dropped changes after it.
func (s *store) place(c *collection, rv uint64) (n int, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if rv < c.horizon {
		return 0, false
	}
	i, _ := slices.BinarySearchFunc(c.changes, rv+1, func(ch change, rv uint64) int {
		return cmp.Compare(ch.object.rv, rv)
	})
	return c.forgotten + i, true
}

// since returns the changes from number n on, the present resourceVersion, and a channel that is
// closed at the next change. ok is false if the collection has dropped some.
func (s *store) since(c *collection, n int) (out []change, version uint64, news <-chan struct{}, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if n < c.forgotten {
		return nil, 0, nil, false
	}
	return slices.Clone(c.changes[n-c.forgotten:]), s.version, c.news, true
}
