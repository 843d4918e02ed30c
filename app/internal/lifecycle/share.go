// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"encoding/binary"
	"hash/fnv"
	"slices"

	"k8s.io/apimachinery/pkg/types"

	"github.com/kube-lifeline/lifeline/app/internal/object"
	"github.com/kube-lifeline/lifeline/app/internal/observation"
)

// poolSize bounds each pool. What is alike is so at the same time, as a rule:
// the conditions of Pods that come up in the same second.
const poolSize = 1 << 8

// pool keeps one copy of values that recur. When it is full it starts anew:
// what recurs comes back. So whether two equal values are one copy tells
// nothing.
type pool[T comparable] map[T]*T

// share returns the copy that is kept of v: before, if that is alike.
func (p pool[T]) share(v T, before *T) *T {
	if before != nil && *before == v {
		return before
	}
	if known, ok := p[v]; ok {
		return known
	}
	if len(p) >= poolSize {
		clear(p)
	}
	kept := v
	p[v] = &kept
	return &kept
}

// shared makes versions of what is observed. The objects of a cluster are
// alike, and most writes change little: whatever a version has in common with
// the one before or with other objects is kept once.
type shared struct {
	strings    pool[string]
	leaves     pool[leave]
	origins    pool[origin]
	progresses pool[progress]
	phases     pool[podPhase]
	conditions pool[observation.Condition]
	managers   pool[observation.Manager]
	containers pool[observation.Container]
	states     pool[observation.ContainerState]
	notices    pool[notice]
	// owners are the owners of an object, by the UID of the first; specs are
	// those of Pods, by their node.
	owners map[types.UID][]object.Owner
	specs  map[string]*podSpec
	// fields are tables of fields, by their digest.
	fields map[uint64]*fields
}

func newShared() *shared {
	return &shared{
		strings:    pool[string]{},
		leaves:     pool[leave]{},
		origins:    pool[origin]{},
		progresses: pool[progress]{},
		phases:     pool[podPhase]{},
		conditions: pool[observation.Condition]{},
		managers:   pool[observation.Manager]{},
		containers: pool[observation.Container]{},
		states:     pool[observation.ContainerState]{},
		notices:    pool[notice]{},
		owners:     map[types.UID][]object.Owner{},
		specs:      map[string]*podSpec{},
		fields:     map[uint64]*fields{},
	}
}

// nothing stands for the version before the first.
var nothing = &version{
	intent: &intent{Ref: &object.Ref{}, leave: &leave{}, origin: &origin{}},
	status: &status{progress: &progress{}},
}

// version is what is kept of o, an observation of t; before is the version
// stored before it, or nil.
func (s *shared) version(t *timeline, o *observation.Observation, before *version) *version {
	if before == nil {
		before = nothing
	}
	return &version{
		intent: s.intent(t, o.State, before.intent), status: s.status(o.State, before.status),
		ResourceVersion: o.State.ResourceVersion,
		Managers:        shareList(s.managers, o.State.Managers, before.Managers, s.manager),
		seen:            o.Seen, listed: o.Listed, late: o.Late, baseline: o.Baseline,
	}
}

// origin is the context on o and the prefix of its generated name. Most objects have neither.
func (s *shared) origin(o *observation.State, before *origin) *origin {
	made := origin{GenerateName: s.str(o.GenerateName)}
	if o.TraceParent != "" {
		made.TraceParent, made.TraceState = o.TraceParent, o.TraceState
		made.TraceConvention = s.str(o.TraceConvention)
	}
	return s.origins.share(made, before)
}

func (s *shared) intent(t *timeline, o *observation.State, before *intent) *intent {
	i := intent{
		Ref:     &t.ref,
		leave:   s.leaves.share(leave{Deleting: o.Deleting, GraceSeconds: o.GraceSeconds}, before.leave),
		origin:  s.origin(o, before.origin),
		Created: o.Created, Owners: s.ownersOf(o.Owners), Finalizers: o.Finalizers,
		Generation: o.Generation, Desired: o.Desired, Reconciled: o.Reconciled,
		fields: s.fieldsOf(o.Leaves, before.fields),
	}
	if slices.Equal(i.Finalizers, before.Finalizers) {
		i.Finalizers = before.Finalizers
	}
	if i.Ref == before.Ref && i.leave == before.leave && i.origin == before.origin && i.Created.Equal(before.Created) &&
		i.Generation == before.Generation && i.Desired == before.Desired && i.Reconciled == before.Reconciled &&
		i.fields == before.fields &&
		slices.Equal(i.Owners, before.Owners) && slices.Equal(i.Finalizers, before.Finalizers) {
		return before
	}
	return &i
}

func (s *shared) fieldsOf(leaves []observation.Leaf, before *fields) *fields {
	if len(leaves) == 0 {
		return nil
	}
	if before != nil && slices.Equal(before.leaves, leaves) {
		return before
	}
	h := fnv.New64a()
	for i := range leaves {
		l := &leaves[i]
		_, _ = h.Write([]byte(l.Path))
		var b [16]byte
		binary.LittleEndian.PutUint64(b[:], l.Value)
		binary.LittleEndian.PutUint64(b[8:], l.Managers)
		_, _ = h.Write(b[:])
	}
	key := h.Sum64()
	if known := s.fields[key]; known != nil && slices.Equal(known.leaves, leaves) {
		return known
	}
	if len(s.fields) >= poolSize {
		clear(s.fields)
	}
	s.fields[key] = &fields{leaves}
	return s.fields[key]
}

func (s *shared) ownersOf(owners []object.Owner) []object.Owner {
	if len(owners) == 0 {
		return nil
	}
	if known := s.owners[owners[0].UID]; slices.Equal(known, owners) {
		return known
	}
	if len(s.owners) >= poolSize {
		clear(s.owners)
	}
	s.owners[owners[0].UID] = owners
	return owners
}

func (s *shared) status(o *observation.State, before *status) *status {
	st := status{
		progress: s.progresses.share(
			progress{Progress: o.Progress, ProgressMessage: o.ProgressMessage},
			before.progress,
		),
		ObservedGeneration: o.ObservedGeneration,
		Conditions:         shareList(s.conditions, o.Conditions, before.Conditions, s.condition),
	}
	if o.Workload != nil {
		st.Workload = before.Workload
		if !equal(o.Workload, before.Workload) {
			w := *o.Workload
			st.Workload = &w
		}
	}
	if o.Pod != nil {
		st.Pod = s.pod(o.Pod, before.Pod)
	}
	if st.progress == before.progress && st.ObservedGeneration == before.ObservedGeneration &&
		same(st.Conditions, before.Conditions) &&
		st.Workload == before.Workload &&
		st.Pod == before.Pod {
		return before
	}
	return &st
}

func (s *shared) pod(o *observation.Pod, before *podState) *podState {
	if before == nil {
		before = &podState{podSpec: &podSpec{}, podPhase: &podPhase{}}
	}
	p := podState{
		podSpec:    s.podSpec(o),
		podPhase:   s.phases.share(podPhase{Phase: o.Phase, Reason: o.Reason, Message: o.Message}, before.podPhase),
		Init:       shareList(s.containers, o.Init, before.Init, s.container),
		Containers: shareList(s.containers, o.Containers, before.Containers, s.container),
	}
	if !o.Scheduled.IsZero() {
		p.Scheduled = o.Scheduled.UnixNano()
	}
	if p.podSpec == before.podSpec && p.podPhase == before.podPhase && same(p.Init, before.Init) &&
		same(p.Containers, before.Containers) &&
		p.Scheduled == before.Scheduled {
		return before
	}
	return &p
}

func (s *shared) podSpec(o *observation.Pod) *podSpec {
	known := s.specs[o.Node]
	if known != nil && known.Scheduler == o.Scheduler && known.Volumes == o.Volumes &&
		slices.Equal(known.ReadinessGates, o.ReadinessGates) && slices.Equal(known.SchedulingGates, o.SchedulingGates) {
		return known
	}
	if len(s.specs) >= poolSize {
		clear(s.specs)
	}
	spec := &podSpec{
		Node: s.str(o.Node), Scheduler: s.str(o.Scheduler), Volumes: o.Volumes,
		ReadinessGates: o.ReadinessGates, SchedulingGates: o.SchedulingGates,
	}
	s.specs[spec.Node] = spec
	return spec
}

// ref is r with the strings shared that recur.
func (s *shared) ref(r object.Ref) object.Ref {
	r.Group, r.Version, r.Kind.Kind, r.Namespace = s.str(r.Group), s.str(r.Version), s.str(r.Kind.Kind), s.str(
		r.Namespace,
	)
	return r
}

func (s *shared) str(v string) string { return *s.strings.share(v, nil) }

func (s *shared) condition(c observation.Condition) observation.Condition {
	c.Type, c.Status, c.Reason, c.Message = s.str(c.Type), s.str(c.Status), s.str(c.Reason), s.str(c.Message)
	return c
}

func (s *shared) manager(m observation.Manager) observation.Manager {
	m.Name, m.Operation, m.Subresource = s.str(m.Name), s.str(m.Operation), s.str(m.Subresource)
	return m
}

// container forgets what no rule reads, and shares the states, so that equal
// containers are equal values.
func (s *shared) container(c observation.Container) observation.Container {
	c.Name, c.Image, c.ID = s.str(c.Name), s.str(c.Image), ""
	if c.State != nil {
		c.State = s.states.share(*c.State, nil)
	}
	if c.Last != nil {
		c.Last = s.states.share(*c.Last, nil)
	}
	return c
}

// shareList is the list of shared values, and before itself if nothing changed.
// own readies a value that is not in the list before.
func shareList[T comparable](p pool[T], values []T, before []*T, own func(T) T) []*T {
	var changed []*T
	for i, v := range values {
		var kept *T
		if i < len(before) && *before[i] == v {
			kept = before[i]
		} else {
			kept = p.share(own(v), nil)
		}
		if changed == nil && (i >= len(before) || kept != before[i]) {
			changed = make([]*T, len(values))
			copy(changed, before[:i])
		}
		if changed != nil {
			changed[i] = kept
		}
	}
	if changed == nil {
		return before[:len(values):len(values)]
	}
	return changed
}

// same reports whether two shared lists are one.
func same[T any](a, b []*T) bool {
	return len(a) == len(b) && (len(a) == 0 || &a[0] == &b[0])
}

// equal reports whether two shared values are alike; nil is like nothing.
func equal[T comparable](a, b *T) bool {
	return a == b && a != nil || a != nil && b != nil && *a == *b
}

// is reports whether a shared value is like v.
func is[T comparable](v *T) func(*T) bool {
	return func(other *T) bool { return equal(other, v) }
}
