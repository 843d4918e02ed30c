// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"iter"
	"maps"

	"go.opentelemetry.io/otel/trace"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kube-lifeline/lifeline/app/internal/change"
	"github.com/kube-lifeline/lifeline/app/internal/index"
	"github.com/kube-lifeline/lifeline/app/internal/span"
	"github.com/kube-lifeline/lifeline/app/internal/trail"
	"github.com/kube-lifeline/lifeline/app/internal/tree"
)

// group holds the data that must be derived together (rule G1): objects with possible spans,
// commands and refused writes. Owners, trace contexts or names connect them. A refresh derives only
// the groups that have changed. Groups merge when a connection appears. Compaction divides them
// again.
type group struct {
	members  map[*change.Timeline]struct{}
	runs     map[trace.TraceID]struct{}
	refusals map[index.Subject]struct{}
	// uids, lines and names are the keys of the group.
	uids  []types.UID
	lines []trace.TraceID
	names []index.Subject

	// derived is the last derivation; nil after a change. It also expires with time (see ending.Clock).
	derived *derivation
	// built are the open traces of derived; nil until they are built.
	built []*span.Trace
	// kept are the spans of Pods that the next look may use again.
	kept tree.Kept
	// compacted means that nothing has changed since the last compaction.
	compacted bool
}

// groups are all groups, and their keys.
type groups struct {
	known index.View
	trail *trail.Trail
	// rebuild is Options.Rebuild: all present objects are needed together. whole means the same for all
	// objects: tests compare this with several groups.
	rebuild, whole bool
	// joined is called for each new member.
	joined func(*change.Timeline)

	all map[*group]struct{}
	// of has the group of each member.
	of     map[*change.Timeline]*group
	byUID  map[types.UID]*group
	byLine map[trace.TraceID]*group
	byName map[index.Subject]*group
	// nodeGone means that a Node was forgotten. Spans of its Pods may still show its attributes.
	nodeGone bool
}

func newGroups(known index.View, tr *trail.Trail, rebuild bool, joined func(*change.Timeline)) *groups {
	return &groups{
		known: known, trail: tr, rebuild: rebuild, joined: joined,

		all:    map[*group]struct{}{},
		of:     map[*change.Timeline]*group{},
		byUID:  map[types.UID]*group{},
		byLine: map[trace.TraceID]*group{},
		byName: map[index.Subject]*group{},
	}
}

func (gs *groups) add() *group {
	g := &group{
		members:  map[*change.Timeline]struct{}{},
		runs:     map[trace.TraceID]struct{}{},
		refusals: map[index.Subject]struct{}{},
	}
	gs.all[g] = struct{}{}
	return g
}

// change discards the results of the group, so that it is derived again.
func (g *group) change() { g.derived, g.built, g.compacted = nil, nil, false }

// changeAll discards the results of all groups.
func (gs *groups) changeAll() {
	for g := range gs.all {
		g.change()
		g.kept.Reset()
	}
}

// ofLine returns the group of the trace, or nil.
func (gs *groups) ofLine(id trace.TraceID) *group {
	if gs.inOne() {
		return gs.one()
	}
	return gs.byLine[id]
}

// remove removes t. nodeGone means that the attributes of a Node went with it.
func (gs *groups) remove(t *change.Timeline, nodeGone bool) {
	if g := gs.of[t]; g != nil {
		delete(g.members, t)
		delete(gs.of, t)
		g.change()
	}
	gs.nodeGone = gs.nodeGone || nodeGone
}

// showLostNodes discards the results of all groups if a Node was forgotten.
func (gs *groups) showLostNodes() {
	if gs.nodeGone {
		gs.changeAll()
		gs.nodeGone = false
	}
}

// clear removes all groups.
func (gs *groups) clear() {
	clear(gs.all)
	clear(gs.of)
	clear(gs.byUID)
	clear(gs.byLine)
	clear(gs.byName)
}

func (g *group) size() int { return len(g.members) + len(g.runs) + len(g.refusals) }

// merge merges two groups and returns the result.
func (gs *groups) merge(a, b *group) *group {
	if a.size() < b.size() {
		a, b = b, a
	}
	for t := range b.members {
		gs.of[t] = a
		a.members[t] = struct{}{}
	}
	maps.Copy(a.runs, b.runs)
	maps.Copy(a.refusals, b.refusals)
	for _, k := range b.uids {
		gs.byUID[k] = a
	}
	for _, k := range b.lines {
		gs.byLine[k] = a
	}
	for _, k := range b.names {
		gs.byName[k] = a
	}
	a.uids, a.lines, a.names = append(a.uids, b.uids...), append(a.lines, b.lines...), append(a.names, b.names...)
	delete(gs.all, b)
	a.change()
	b.change()
	return a
}

// dissolve removes the group. Its members then belong to no group.
func (gs *groups) dissolve(g *group) {
	for t := range g.members {
		delete(gs.of, t)
	}
	for _, k := range g.uids {
		delete(gs.byUID, k)
	}
	for _, k := range g.lines {
		delete(gs.byLine, k)
	}
	for _, k := range g.names {
		delete(gs.byName, k)
	}
	delete(gs.all, g)
}

// shrink copies the maps, to free the memory of deleted entries.
func (gs *groups) shrink() {
	gs.of = shrunk(gs.of)
	gs.all, gs.byUID, gs.byLine, gs.byName = shrunk(gs.all), shrunk(gs.byUID), shrunk(gs.byLine), shrunk(gs.byName)
}

func shrunk[K comparable, V any](m map[K]V) map[K]V {
	out := make(map[K]V, len(m))
	maps.Copy(out, m)
	return out
}

func (gs *groups) tieUID(g *group, uid types.UID) *group {
	return tieTo(gs, g, gs.byUID, uid, func(g *group) *[]types.UID { return &g.uids })
}

func (gs *groups) tieLine(g *group, id trace.TraceID) *group {
	if !id.IsValid() {
		return g
	}
	return tieTo(gs, g, gs.byLine, id, func(g *group) *[]trace.TraceID { return &g.lines })
}

func (gs *groups) tieName(g *group, name index.Subject) *group {
	return tieTo(gs, g, gs.byName, name, func(g *group) *[]index.Subject { return &g.names })
}

// tieTo adds the key to the group. It merges the group with any other group of that key, and
// returns the result.
func tieTo[K comparable](gs *groups, g *group, by map[K]*group, key K, keys func(*group) *[]K) *group {
	switch other := by[key]; other {
	case nil:
		by[key] = g
		*keys(g) = append(*keys(g), key)
	case g:
	default:
		return gs.merge(g, other)
	}
	return g
}

// members yields the timelines of all groups.
func (gs *groups) members() iter.Seq[*change.Timeline] {
	return func(yield func(*change.Timeline) bool) {
		for g := range gs.all {
			for t := range g.members {
				if !yield(t) {
					return
				}
			}
		}
	}
}
