// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"github.com/kube-lifeline/lifeline/app/internal/object"
	"github.com/kube-lifeline/lifeline/app/internal/observation"
)

// alike is what many point at and what is therefore saved once, so that a
// restored engine shares what the saved one did.
type alike struct {
	strings        known[string, string]
	leaves         known[*leave, *leave]
	origins        known[*origin, *origin]
	fields         known[*fields, *fields]
	intents        known[*intent, *intent] // of one timeline
	statuses       known[*status, *status]
	progresses     known[*progress, *progress]
	pods           known[*podState, *podState]
	specs          known[*podSpec, *podSpec]
	phases         known[*podPhase, *podPhase]
	workloads      known[*observation.Workload, *observation.Workload]
	conditions     known[*observation.Condition, *observation.Condition]
	managers       known[*observation.Manager, *observation.Manager]
	containers     known[*observation.Container, *observation.Container]
	states         known[*observation.ContainerState, *observation.ContainerState]
	notices        known[*notice, *notice]
	audits         known[*observation.Write, *observation.Write]
	owners         lists[object.Owner]
	finalizers     lists[string]
	conditionLists lists[*observation.Condition]
	managerLists   lists[*observation.Manager]
	containerLists lists[*observation.Container]
}

// known are values that have been carried, numbered in that order.
type known[K comparable, V any] struct {
	numbers map[K]uint64 // when writing
	values  []V          // when reading
}

type lists[T any] = known[stretch[T], []T]

// stretch tells which slice it is.
type stretch[T any] struct {
	first *T
	n     int
}

// carry carries which value it is: none, one that is known, or, and then it
// returns true, one that is new and follows.
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

// add makes a value known that has been carried.
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

// maybe carries a pointer that others may share, or nil.
func maybe[T any](c *coder, k *known[*T, *T], p **T, each func(*coder, *T)) {
	if k.carry(c, *p, *p == nil, p) {
		sole(c, p, each)
		k.add(c, *p, *p)
	}
}

// one carries a pointer that others may share and that is never nil.
func one[T any](c *coder, k *known[*T, *T], p **T, each func(*coder, *T)) {
	maybe(c, k, p, each)
	if *p == nil {
		c.fail("something is missing")
	}
}

// alikes carries a slice that others may share.
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
