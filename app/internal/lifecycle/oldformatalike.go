// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"github.com/kube-lifeline/lifeline/app/internal/history"
	"github.com/kube-lifeline/lifeline/app/internal/object"
	"github.com/kube-lifeline/lifeline/app/internal/observation"
)

// alike holds the values with several references. A restored engine shares the same values as the
// saved one.
type alike struct {
	strings        known[string]
	leaves         known[*history.Leave]
	origins        known[*history.Origin]
	fields         known[*history.Fields]
	intents        known[*history.Intent] // of one timeline
	statuses       known[*history.Status]
	progresses     known[*history.Verdict]
	pods           known[*history.PodState]
	specs          known[*history.PodSpec]
	phases         known[*history.PodPhase]
	workloads      known[*observation.Workload]
	conditions     known[*observation.Condition]
	managers       known[*observation.Manager]
	containers     known[*observation.Container]
	states         known[*observation.ContainerState]
	notices        known[*history.Notice]
	audits         known[*observation.Write]
	owners         known[[]object.Owner]
	finalizers     known[[]string]
	conditionLists known[[]*observation.Condition]
	managerLists   known[[]*observation.Manager]
	containerLists known[[]*observation.Container]
}

// known holds the values that were already read, numbered in that order.
type known[V any] struct{ values []V }

// carry reads a reference to a value: none, a known value, or a new value. It returns true for a new
// value, which then follows.
func (k *known[V]) carry(c *oldReader, v *V) bool {
	var which uint64
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

// add adds a value to the known values.
func (k *known[V]) add(v V) { k.values = append(k.values, v) }

// maybe reads a pointer that may be shared, or nil.
func maybe[T any](c *oldReader, k *known[*T], p **T, each func(*oldReader, *T)) {
	if k.carry(c, p) {
		sole(c, p, each)
		k.add(*p)
	}
}

// one reads a pointer that may be shared, and is never nil.
func one[T any](c *oldReader, k *known[*T], p **T, each func(*oldReader, *T)) {
	maybe(c, k, p, each)
	if *p == nil {
		c.fail("something is missing")
	}
}

// alikes reads a slice that may be shared.
func alikes[T any](c *oldReader, k *known[[]T], s *[]T, each func(*oldReader, *T)) {
	if k.carry(c, s) {
		list(c, s, each)
		k.add(*s)
	}
}
