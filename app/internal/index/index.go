// SPDX-License-Identifier: Apache-2.0

// Package index holds what was observed of the cluster: the objects by UID, owner, name, relation and Node, the
// commands and the requests without an object. It draws no conclusions. The Engine alone writes an Index, and
// the steps after it read its View.
package index

import (
	"maps"
	"slices"

	"go.opentelemetry.io/otel/trace"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kube-lifeline/lifeline/app/internal/change"
	"github.com/kube-lifeline/lifeline/app/internal/history"
	"github.com/kube-lifeline/lifeline/app/internal/kind"
	"github.com/kube-lifeline/lifeline/app/internal/object"
	"github.com/kube-lifeline/lifeline/app/internal/observation"
)

// Index is not safe for concurrent use. Create it with New.
type Index struct {
	objects map[types.UID]*change.Timeline
	// runs are the commands. refused are failed creates: writes without a stored object, by their trace
	// context and audit ID.
	runs    map[trace.TraceID]*observation.Run
	refused map[string]*observation.Write
	// attributes are those of Nodes for the spans of their Pods, by name.
	attributes map[string]*observation.Node
	// shared holds values that several objects have in common.
	shared *history.Shared
	// otherPods are the names of Pods that are not observed, by UID (see NamePods).
	otherPods map[types.UID]string
	lookups
}

// lookups follow from the timelines. They avoid a search through all objects.
type lookups struct {
	// dependants are the objects with an ownerReference, by the owner's UID.
	dependants map[types.UID][]*change.Timeline
	relations  relations
	// names are the timelines by the names of their objects; nil until first use.
	names map[Subject][]*change.Timeline
	nodes nodes
	// schedulers are those that have handled a Pod.
	schedulers schedulers
}

// New returns an empty Index.
func New() *Index {
	return &Index{
		objects: map[types.UID]*change.Timeline{},
		runs:    map[trace.TraceID]*observation.Run{},
		refused: map[string]*observation.Write{},

		attributes: map[string]*observation.Node{},
		shared:     history.NewShared(),
		lookups: lookups{
			dependants: map[types.UID][]*change.Timeline{}, relations: newRelations(), nodes: newNodes(),
			schedulers: newSchedulers(),
		},
	}
}

// Objects returns all objects. Only a restoration may change the map, and the same holds for Runs and Refused.
func (x *Index) Objects() map[types.UID]*change.Timeline { return x.objects }

// Runs returns the commands by their trace IDs.
func (x *Index) Runs() map[trace.TraceID]*observation.Run { return x.runs }

// Refused returns the requests without an object.
func (x *Index) Refused() map[string]*observation.Write { return x.refused }

// Shared returns the values that several objects have in common.
func (x *Index) Shared() *history.Shared { return x.shared }

// Unshare forgets the shared values. Those of forgotten observations are then free.
func (x *Index) Unshare() { x.shared = history.NewShared() }

// Timeline returns the timeline of the object, a new one if it is not known yet.
func (x *Index) Timeline(ref object.Ref) *change.Timeline {
	t := x.objects[ref.UID]
	if t == nil {
		t = &change.Timeline{Record: history.Record{Ref: x.shared.Ref(ref)}}
		x.objects[ref.UID] = t
	}
	return t
}

// Restore adds a saved timeline. Complete adds it to the look-ups.
func (x *Index) Restore(t *change.Timeline) { x.objects[t.Ref.UID] = t }

// Complete adds t to the look-ups, after its restoration.
func (x *Index) Complete(t *change.Timeline) {
	t.Above = nil
	t.SetRefers(nil)
	t.SetNames(nil)
	x.Reown(t)
	x.Relate(t, nil)
	x.nodes.note(t)
	x.schedulers.note(t)
}

// AddRun adds a command, or its end.
func (x *Index) AddRun(id trace.TraceID, r *observation.Run) { x.runs[id] = r }

// ForgetRun forgets a command.
func (x *Index) ForgetRun(id trace.TraceID) { delete(x.runs, id) }

// AddRefused adds a request without an object.
func (x *Index) AddRefused(w *observation.Write) { x.refused[refusedKey(w)] = w }

// ForgetRefused forgets a request without an object.
func (x *Index) ForgetRefused(key string) { delete(x.refused, key) }

func refusedKey(w *observation.Write) string {
	if key := w.TraceParent + w.AuditID; key != "" {
		return key
	}
	return w.Start.String() + w.Ref.String()
}

// Put is the result of an added version.
type Put struct {
	// Versions and Baselines count the new versions, and those of them from before the start.
	Versions, Baselines int
	// Absorbed counts the superseded versions of an EndpointSlice that were forgotten.
	Absorbed uint64
	// Quiet means that no conclusion can have changed.
	Quiet bool
	// Above are the owners before.
	Above []object.Owner
	// Doubtful are other objects of the same name. The requests that name it may now be for either object.
	Doubtful []*change.Timeline
}

// Put adds the version in o to t. grouped means that conclusions about t are under way. absorb means that
// superseded versions of EndpointSlices are not needed.
func (x *Index) Put(t *change.Timeline, o *observation.Observation, grouped, absorb bool) Put {
	var p Put
	p.Doubtful = x.unname(t)
	p.Versions, p.Baselines = t.State(o, x.shared)
	x.nodes.note(t)
	x.schedulers.note(t)
	if absorb && t.Audits == nil && kind.EndpointSlice.Is(t.Ref.Kind) {
		p.Absorbed = t.Absorb()
		if p.Absorbed > 0 && !grouped && t.Idle(false) {
			p.Quiet = true
			p.Doubtful = append(p.Doubtful, x.name(t)...)
			return p
		}
	}
	p.Above = t.Above
	x.Reown(t)
	p.Doubtful = append(p.Doubtful, x.name(t)...)
	x.Relate(t, t.At(o.State.ResourceVersion))
	return p
}

// PutGone adds the removal of the object of t. It reports whether it is the first one, and the doubtful
// objects (see Put).
func (x *Index) PutGone(t *change.Timeline, o *observation.Observation) (first bool, doubtful []*change.Timeline) {
	first = t.Removal == nil
	doubtful = x.unname(t)
	t.Gone(o)
	x.nodes.note(t)
	x.schedulers.note(t)
	return first, append(doubtful, x.name(t)...)
}

// Remove removes t. It reports whether the attributes of a Node went with it, and the doubtful objects (see Put).
func (x *Index) Remove(t *change.Timeline) (nodeGone bool, doubtful []*change.Timeline) {
	x.disown(t)
	x.unrelate(t)
	doubtful = x.unname(t)
	x.nodes.remove(t)
	delete(x.objects, t.Ref.UID)
	return x.forgetNode(t), doubtful
}

// Reown updates the index after a possible change of the owners of t.
func (x *Index) Reown(t *change.Timeline) {
	owners := t.NewestOwners()
	if slices.Equal(t.Above, owners) {
		t.Above = owners
		return
	}
	x.disown(t)
	t.Above = owners
	for _, o := range owners {
		x.dependants[o.UID] = append(x.dependants[o.UID], t)
	}
}

// disown removes t from the dependants of its owners.
func (x *Index) disown(t *change.Timeline) {
	for _, o := range t.Above {
		left := slices.DeleteFunc(x.dependants[o.UID], func(d *change.Timeline) bool { return d == t })
		if len(left) == 0 {
			delete(x.dependants, o.UID)
			continue
		}
		x.dependants[o.UID] = left
	}
	t.Above = nil
}

// Matches returns the numbers of pairs of objects found related since the start, by the relation in
// the configuration. A pair counts again after a change of a key.
func (x *Index) Matches() map[string]uint64 { return maps.Clone(x.relations.matches) }

// NamePods gives the names of Pods that are not observed, by UID. Messages of the scheduler name a Pod by
// its UID. The names are not saved.
func (x *Index) NamePods(names map[types.UID]string) { x.otherPods = names }
