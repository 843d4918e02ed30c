// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"github.com/kube-lifeline/lifeline/app/internal/history"
	"github.com/kube-lifeline/lifeline/app/internal/object"
	"github.com/kube-lifeline/lifeline/app/internal/observation"
)

// alike holds the values with several references. Each value is saved once. A restored engine then
// shares the same values as the saved one.
type alike struct {
	strings        known[string, string]
	leaves         known[*history.Leave, *history.Leave]
	origins        known[*history.Origin, *history.Origin]
	fields         known[*history.Fields, *history.Fields]
	intents        known[*history.Intent, *history.Intent] // of one timeline
	statuses       known[*history.Status, *history.Status]
	progresses     known[*history.Verdict, *history.Verdict]
	pods           known[*history.PodState, *history.PodState]
	specs          known[*history.PodSpec, *history.PodSpec]
	phases         known[*history.PodPhase, *history.PodPhase]
	workloads      known[*observation.Workload, *observation.Workload]
	conditions     known[*observation.Condition, *observation.Condition]
	managers       known[*observation.Manager, *observation.Manager]
	containers     known[*observation.Container, *observation.Container]
	states         known[*observation.ContainerState, *observation.ContainerState]
	notices        known[*history.Notice, *history.Notice]
	audits         known[*observation.Write, *observation.Write]
	owners         lists[object.Owner]
	finalizers     lists[string]
	conditionLists lists[*observation.Condition]
	managerLists   lists[*observation.Manager]
	containerLists lists[*observation.Container]
}

// known holds the values that were already written or read, numbered in that order.
type known[K comparable, V any] struct {
	numbers map[K]uint64 // when writing
	values  []V          // when reading
}

type lists[T any] = known[stretch[T], []T]

// stretch identifies a slice by its first element and its length.
type stretch[T any] struct {
	first *T
	n     int
}

// carry writes or reads a reference to a value: none, a known value, or a new value. It returns
// true for a new value, which then follows.
func (k *known[K, V]) carry(c *coder, key K, none bool, v *V) bool {
	var which uint64
	if !c.reading() {
		if number, ok := k.numbers[key]; ok {
			which = number + 2
		} else if !none {
			which = 1
		}
		c.uint(&which)
		return which == 1
	}
	c.uint(&which)
	switch {
	case c.err != nil, which == 0:
		*v = *new(V)
	case which == 1:
		return true
	case which-2 < uint64(len(k.values)):
		*v = k.values[which-2]
	default:
		c.fail("it refers to what is not there")
	}
	return false
}

// add adds a written or read value to the known values.
func (k *known[K, V]) add(c *coder, key K, v V) {
	if c.reading() {
		k.values = append(k.values, v)
		return
	}
	if k.numbers == nil {
		k.numbers = map[K]uint64{}
	}
	k.numbers[key] = uint64(len(k.numbers))
}

// maybe writes or reads a pointer that may be shared, or nil.
func maybe[T any](c *coder, k *known[*T, *T], p **T, each func(*coder, *T)) {
	if k.carry(c, *p, *p == nil, p) {
		sole(c, p, each)
		k.add(c, *p, *p)
	}
}

// one writes or reads a pointer that may be shared, and is never nil.
func one[T any](c *coder, k *known[*T, *T], p **T, each func(*coder, *T)) {
	maybe(c, k, p, each)
	if *p == nil {
		c.fail("something is missing")
	}
}

// alikes writes or reads a slice that may be shared.
func alikes[T any](c *coder, k *lists[T], s *[]T, each func(*coder, *T)) {
	var key stretch[T]
	if len(*s) > 0 {
		key = stretch[T]{&(*s)[0], len(*s)}
	}
	if k.carry(c, key, len(*s) == 0, s) {
		list(c, s, each)
		k.add(c, key, *s)
	}
}
