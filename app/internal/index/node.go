// SPDX-License-Identifier: Apache-2.0

package index

import (
	"github.com/kube-lifeline/lifeline/app/internal/change"
	"github.com/kube-lifeline/lifeline/app/internal/kind"
	"github.com/kube-lifeline/lifeline/app/internal/kind/judge"
	"github.com/kube-lifeline/lifeline/app/internal/observation"
)

// nodes are the Nodes by name.
type nodes struct {
	// newest is the newest one of several with one name. turned are the names of those that are new, or gone, or
	// whose readiness has changed since the last call of TakeTurned.
	newest map[string]*nodeState
	turned map[string]bool
	// lacking are the names that no Node has; nil if Nodes are observed (see LackNodes).
	lacking map[string]bool
}

// nodeState is a Node, with the status of its condition Ready.
type nodeState struct {
	timeline *change.Timeline
	ready    string
}

func newNodes() nodes {
	return nodes{newest: map[string]*nodeState{}, turned: map[string]bool{}}
}

// Nodes returns the attributes of all Nodes. Only a restoration may change the map.
func (x *Index) Nodes() map[string]*observation.Node { return x.attributes }

// LackNodes gives the names that no Node has, for an observer that does not read all Nodes.
func (x *Index) LackNodes(names map[string]bool) { x.nodes.lacking = names }

// SetNode records the attributes of a Node. It reports whether they are new.
func (x *Index) SetNode(name string, n *observation.Node) bool {
	known := x.attributes[name]
	x.attributes[name] = n
	return known == nil || *known != *n
}

// forgetNode forgets the attributes of a Node, unless another Node has its name now. It reports whether
// it did.
func (x *Index) forgetNode(t *change.Timeline) bool {
	if !kind.Node.Is(t.Ref.Kind) || x.attributes[t.Ref.Name] == nil {
		return false
	}
	for _, other := range x.objects {
		if other != t && other.Ref.Kind == t.Ref.Kind && other.Ref.Name == t.Ref.Name {
			return false
		}
	}
	delete(x.attributes, t.Ref.Name)
	return true
}

// TakeTurned returns the names of the Nodes that are new, or gone, or whose readiness has changed since the last
// call; nil without one.
func (x *Index) TakeTurned() map[string]bool {
	if len(x.nodes.turned) == 0 {
		return nil
	}
	out := x.nodes.turned
	x.nodes.turned = map[string]bool{}
	return out
}

// note adds t, if it is a Node. It notes a new Node, a new readiness, and a removal.
func (n *nodes) note(t *change.Timeline) {
	last := t.Last()
	if last == nil || !kind.Node.Is(t.Ref.Kind) {
		return
	}
	name, now, before := t.Ref.Name, nodeState{timeline: t}, nodeState{}
	if known := n.newest[name]; known != nil && known.timeline.Last() != nil {
		if known.timeline.Last().ResourceVersion > last.ResourceVersion {
			return
		}
		before = *known
	}
	if c := last.Condition(judge.PodReady); c != nil && t.Removal == nil {
		now.ready = c.Status
	}
	n.newest[name] = &now
	if before.timeline == nil || t.Removal != nil || now.ready != before.ready && !(now.works() && before.works()) {
		n.turned[name] = true
	}
}

// remove removes t, if it is the newest Node of its name.
func (n *nodes) remove(t *change.Timeline) {
	if known := n.newest[t.Ref.Name]; known != nil && known.timeline == t {
		delete(n.newest, t.Ref.Name)
	}
}

// works reports whether no Pod has the Node as its reason: it is ready, or nothing is known of it.
func (n *nodeState) works() bool { return n.ready == "True" || n.ready == "" }
