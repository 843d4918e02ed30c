// SPDX-License-Identifier: Apache-2.0

package history

import (
	"encoding/binary"
	"hash/fnv"
	"slices"

	"k8s.io/apimachinery/pkg/types"

	"github.com/kube-lifeline/lifeline/app/internal/object"
	"github.com/kube-lifeline/lifeline/app/internal/observation"
)

// poolSize bounds each pool. Equal values mostly occur at the same time, such as the conditions of
// Pods from the same second.
const poolSize = 1 << 8

// pool keeps one copy of each recurring value. A full pool is emptied, and recurring values come
// back. So separate copies may be equal.
type pool[T comparable] map[T]*T

// share returns the kept copy of v: before, if that is equal.
func (p pool[T]) share(v T, before *T) *T {
	if known := p.find(&v, before); known != nil {
		return known
	}
	return p.add(v)
}

// find returns the kept copy of v: before, if that is equal. It is nil if there is none.
func (p pool[T]) find(v, before *T) *T {
	if before != nil && *before == *v {
		return before
	}
	return p[*v]
}

// add adds v to the pool and returns the kept copy.
func (p pool[T]) add(v T) *T {
	if len(p) >= poolSize {
		clear(p)
	}
	p[v] = &v
	return &v
}

// Shared makes versions of observations. The objects of a cluster are alike, and most writes change
// little. So it keeps one copy of the data common to neighbouring versions or to several objects.
type Shared struct {
	strings    pool[string]
	leaves     pool[Leave]
	origins    pool[Origin]
	progresses pool[Verdict]
	phases     pool[PodPhase]
	conditions pool[observation.Condition]
	managers   pool[observation.Manager]
	containers pool[observation.Container]
	states     pool[observation.ContainerState]
	notices    pool[Notice]
	// owners are the owners of an object, by the UID of the first. specs are specs of Pods, by
	// Node.
	owners map[types.UID][]object.Owner
	specs  map[string]*PodSpec
	// relations are the relations of an object, by the first.
	relations map[object.Relation][]object.Relation
	// fields are tables of fields, by their digest.
	fields map[uint64]*Fields
	// labels are the extras of objects with labels only, by the first label.
	labels map[object.Label]*IntentExtra
}

// NewShared returns a Shared without data.
func NewShared() *Shared {
	return &Shared{
		strings:    pool[string]{},
		leaves:     pool[Leave]{},
		origins:    pool[Origin]{},
		progresses: pool[Verdict]{},
		phases:     pool[PodPhase]{},
		conditions: pool[observation.Condition]{},
		managers:   pool[observation.Manager]{},
		containers: pool[observation.Container]{},
		states:     pool[observation.ContainerState]{},
		notices:    pool[Notice]{},
		owners:     map[types.UID][]object.Owner{},
		specs:      map[string]*PodSpec{},
		relations:  map[object.Relation][]object.Relation{},
		fields:     map[uint64]*Fields{},
		labels:     map[object.Label]*IntentExtra{},
	}
}

// nothing takes the place of the version before the first one.
var nothing = &Version{
	Intent: &Intent{Ref: &object.Ref{}, Leave: &Leave{}, Origin: &Origin{}, IntentExtra: noIntentExtra},
	Status: &Status{Verdict: &Verdict{}, StatusExtra: noStatusExtra},
}

// version returns the kept part of o, an observation of the object ref. before is the version
// stored before it, or nil.
func (s *Shared) version(ref *object.Ref, o *observation.Observation, before *Version) *Version {
	if before == nil {
		before = nothing
	}
	place, foreign := split(o.State.ResourceVersion, o.State.Order)
	return &Version{
		Intent: s.intent(ref, o.State, before.Intent), Status: s.status(o.State, before.Status),
		ResourceVersion: place, Foreign: foreign,
		Managers: shareList(o.State.Managers, before.Managers, s.manager),
		Seen:     o.Seen, Listed: o.Listed, Late: o.Late, Baseline: o.Baseline,
	}
}

// origin returns the trace context in o and the prefix of the generated name. Most objects have
// neither.
func (s *Shared) origin(o *observation.State, before *Origin) *Origin {
	made := Origin{GenerateName: o.GenerateName}
	if o.TraceParent != "" {
		made.TraceParent, made.TraceState, made.TraceConvention = o.TraceParent, o.TraceState, o.TraceConvention
	}
	if made == *before {
		return before
	}
	made.GenerateName, made.TraceConvention = s.str(made.GenerateName), s.str(made.TraceConvention)
	return s.origins.share(made, nil)
}

func (s *Shared) intent(ref *object.Ref, o *observation.State, before *Intent) *Intent {
	i := Intent{
		Ref:         ref,
		Leave:       s.leaves.share(Leave{Deleting: o.Deleting, GraceSeconds: o.GraceSeconds}, before.Leave),
		Origin:      s.origin(o, before.Origin),
		IntentExtra: s.intentExtra(o, before.IntentExtra),
		Created:     o.Created, Owners: before.Owners,
		Generation: o.Generation, Desired: o.Desired, Reconciled: o.Reconciled,
		Fields: s.fieldsOf(o.Leaves, before.Fields),
	}
	owners := slices.Equal(o.Owners, before.Owners)
	if owners && i.Ref == before.Ref && i.Leave == before.Leave && i.Origin == before.Origin &&
		i.IntentExtra == before.IntentExtra && i.Created.Equal(before.Created) && i.Generation == before.Generation &&
		i.Desired == before.Desired && i.Reconciled == before.Reconciled && i.Fields == before.Fields {
		return before
	}
	if !owners {
		i.Owners = s.ownersOf(o.Owners)
	}
	return kept(i)
}

func (s *Shared) intentExtra(o *observation.State, before *IntentExtra) *IntentExtra {
	made := *before
	relations, finalizers := slices.Equal(o.Relations, made.Relations), slices.Equal(o.Finalizers, made.Finalizers)
	labels := slices.Equal(o.Labels, made.Labels)
	if relations && finalizers && labels {
		return before
	}
	if !relations {
		made.Relations = s.relationsOf(o.Relations)
	}
	if !finalizers {
		made.Finalizers = o.Finalizers
	}
	if !labels {
		made.Labels = o.Labels
	}
	if len(made.Labels) > 0 && len(made.Relations)+len(made.Finalizers) == 0 {
		return s.labelled(made)
	}
	return made.Kept()
}

// labelled returns the kept copy of e, which has labels only. Many objects have the same labels.
func (s *Shared) labelled(e IntentExtra) *IntentExtra {
	key := e.Labels[0]
	if known := s.labels[key]; known != nil && slices.Equal(known.Labels, e.Labels) {
		return known
	}
	if len(s.labels) >= poolSize {
		clear(s.labels)
	}
	s.labels[key] = e.Kept()
	return s.labels[key]
}

// kept returns a copy of v on the heap. So its caller allocates only for a value that it keeps.
func kept[T any](v T) *T { return &v }

func (s *Shared) fieldsOf(leaves []observation.Leaf, before *Fields) *Fields {
	if len(leaves) == 0 {
		return nil
	}
	if before != nil && slices.Equal(before.Leaves, leaves) {
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
	if known := s.fields[key]; known != nil && slices.Equal(known.Leaves, leaves) {
		return known
	}
	if len(s.fields) >= poolSize {
		clear(s.fields)
	}
	s.fields[key] = &Fields{leaves}
	return s.fields[key]
}

func (s *Shared) ownersOf(owners []object.Owner) []object.Owner {
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

func (s *Shared) relationsOf(relations []object.Relation) []object.Relation {
	if len(relations) == 0 {
		return nil
	}
	if known := s.relations[relations[0]]; slices.Equal(known, relations) {
		return known
	}
	if len(s.relations) >= poolSize {
		clear(s.relations)
	}
	s.relations[relations[0]] = relations
	return relations
}

func (s *Shared) status(o *observation.State, before *Status) *Status {
	st := Status{
		Verdict: s.progresses.share(
			Verdict{Progress: o.Progress, ProgressMessage: o.ProgressMessage, JudgedBy: o.JudgedBy},
			before.Verdict,
		),
		StatusExtra:        statusExtra(o, before.StatusExtra),
		ObservedGeneration: o.ObservedGeneration,
		Conditions:         shareList(o.Conditions, before.Conditions, s.condition),
		Workload:           again(o.Workload, before.Workload),
	}
	if o.Pod != nil {
		st.Pod = s.pod(o.Pod, before.Pod)
	}
	if st.Verdict == before.Verdict && st.StatusExtra == before.StatusExtra &&
		st.ObservedGeneration == before.ObservedGeneration && same(st.Conditions, before.Conditions) &&
		st.Workload == before.Workload && st.Pod == before.Pod {
		return before
	}
	return kept(st)
}

func statusExtra(o *observation.State, before *StatusExtra) *StatusExtra {
	made := StatusExtra{
		Autoscaler: again(o.Autoscaler, before.Autoscaler),
		Revision:   again(o.Revision, before.Revision),
		Endpoints:  again(o.Endpoints, before.Endpoints),
	}
	if made == *before {
		return before
	}
	return made.Kept()
}

// again returns before if it is equal to v, otherwise a copy of v; nil if v is nil.
func again[T comparable](v, before *T) *T {
	switch {
	case v == nil:
		return nil
	case Equal(v, before):
		return before
	}
	return kept(*v)
}

func (s *Shared) pod(o *observation.Pod, before *PodState) *PodState {
	if before == nil {
		before = noPod
	}
	p := PodState{
		PodSpec:    s.podSpec(o, before.PodSpec),
		PodPhase:   s.phases.share(PodPhase{Phase: o.Phase, Reason: o.Reason, Message: o.Message}, before.PodPhase),
		PodExtra:   s.podExtra(o, before.PodExtra),
		Containers: shareList(o.Containers, before.Containers, s.container),
	}
	if p.PodSpec == before.PodSpec && p.PodPhase == before.PodPhase && p.PodExtra == before.PodExtra &&
		same(p.Containers, before.Containers) {
		return before
	}
	return kept(p)
}

func (s *Shared) podExtra(o *observation.Pod, before *PodExtra) *PodExtra {
	made := PodExtra{Init: shareList(o.Init, before.Init, s.container)}
	if !o.Scheduled.IsZero() {
		made.Scheduled = o.Scheduled.UnixNano()
	}
	if same(made.Init, before.Init) && made.Scheduled == before.Scheduled {
		return before
	}
	return made.Kept()
}

// noPod takes the place of the Pod before the first one.
var noPod = &PodState{PodSpec: &PodSpec{}, PodPhase: &PodPhase{}, PodExtra: noPodExtra}

func (s *Shared) podSpec(o *observation.Pod, before *PodSpec) *PodSpec {
	if before.describes(o) {
		return before
	}
	if known := s.specs[o.Node]; known != nil && known.describes(o) {
		return known
	}
	if len(s.specs) >= poolSize {
		clear(s.specs)
	}
	spec := &PodSpec{
		Node: s.str(o.Node), Scheduler: s.str(o.Scheduler), Volumes: o.Volumes,
		ReadinessGates: o.ReadinessGates, SchedulingGates: o.SchedulingGates,
	}
	s.specs[spec.Node] = spec
	return spec
}

// describes reports whether p has the values of o.
func (p *PodSpec) describes(o *observation.Pod) bool {
	return p.Node == o.Node && p.Scheduler == o.Scheduler && p.Volumes == o.Volumes &&
		slices.Equal(p.ReadinessGates, o.ReadinessGates) && slices.Equal(p.SchedulingGates, o.SchedulingGates)
}

// Ref returns r with shared copies of its recurring strings.
func (s *Shared) Ref(r object.Ref) object.Ref {
	r.Group, r.Version, r.Kind.Kind, r.Namespace = s.str(r.Group), s.str(r.Version), s.str(r.Kind.Kind), s.str(
		r.Namespace,
	)
	return r
}

func (s *Shared) str(v string) string { return *s.strings.share(v, nil) }

func (s *Shared) condition(c, before *observation.Condition) *observation.Condition {
	if known := s.conditions.find(c, before); known != nil {
		return known
	}
	made := *c
	made.Type, made.Status = s.str(c.Type), s.str(c.Status)
	made.Reason, made.Message = s.str(c.Reason), s.str(c.Message)
	return s.conditions.add(made)
}

func (s *Shared) manager(m, before *observation.Manager) *observation.Manager {
	if known := s.managers.find(m, before); known != nil {
		return known
	}
	made := *m
	made.Name, made.Operation, made.Subresource = s.str(m.Name), s.str(m.Operation), s.str(m.Subresource)
	return s.managers.add(made)
}

// container omits the ID, because no rule reads it, and shares the states. So equal containers are
// equal values.
func (s *Shared) container(c, before *observation.Container) *observation.Container {
	var state, last *observation.ContainerState
	if before != nil {
		state, last = before.State, before.Last
	}
	made := *c
	made.ID, made.State, made.Last = "", s.state(c.State, state), s.state(c.Last, last)
	if known := s.containers.find(&made, before); known != nil {
		return known
	}
	made.Name, made.Image = s.str(c.Name), s.str(c.Image)
	return s.containers.add(made)
}

func (s *Shared) state(c, before *observation.ContainerState) *observation.ContainerState {
	if c == nil {
		return nil
	}
	if known := s.states.find(c, before); known != nil {
		return known
	}
	return s.states.add(*c)
}

// shareList returns the list of the shared values. It is before itself if nothing changed. share
// returns the kept copy of a value; its second argument is the former value at the same place, or
// nil.
func shareList[T any](values []T, before []*T, share func(v, before *T) *T) []*T {
	var changed []*T
	for i := range values {
		var old *T
		if i < len(before) {
			old = before[i]
		}
		kept := share(&values[i], old)
		if changed == nil && kept != old {
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

// same reports whether two shared lists are the same list.
func same[T any](a, b []*T) bool {
	return len(a) == len(b) && (len(a) == 0 || &a[0] == &b[0])
}

// Equal reports whether two shared values are equal. A nil value equals nothing, not even nil.
func Equal[T comparable](a, b *T) bool {
	return a == b && a != nil || a != nil && b != nil && *a == *b
}

// Is returns a test for equality with the shared value v.
func Is[T comparable](v *T) func(*T) bool {
	return func(other *T) bool { return Equal(other, v) }
}
