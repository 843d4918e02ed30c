// SPDX-License-Identifier: Apache-2.0

package answer

import (
	"strings"
	"time"

	"github.com/kube-lifeline/lifeline/app/internal/kind"
	"github.com/kube-lifeline/lifeline/app/internal/object"
	"github.com/kube-lifeline/lifeline/app/internal/store"
)

// NodeChange is a change of a node that the scheduler rejected.
type NodeChange struct {
	Node string `json:"node"`
	// What is Cordoned, Tainted or Relabelled.
	What string `json:"what"`
	// At is the time of the write.
	At    time.Time `json:"at"`
	Cause Cause     `json:"cause"`
}

// Values of NodeChange.What. A cordoned node is rejected because of that change. A new taint or other
// labels came shortly before: the Pod may tolerate that taint, and need another label.
const (
	Cordoned   = "cordoned"
	Tainted    = "tainted"
	Relabelled = "relabelled"
)

// shortly is the time before the wait in which a taint or a label counts.
const shortly = 10 * time.Minute

// Suspect is a rejected node whose changes may explain the rejection.
type Suspect struct {
	Node string
	// What is as in NodeChange. Since and Until bound the time of the change.
	What         string
	Since, Until time.Time
}

// Suspects returns the example nodes of reasons that a change of a node leads to, at most three for each.
func (a *Answer) Suspects() []Suspect {
	if a.Attempt == nil {
		return nil
	}
	var out []Suspect
	asked := map[string]bool{}
	for _, r := range a.Attempt.Rejections {
		s := Suspect{Until: a.Attempt.End}
		if s.What = suspicions[r.Plugin]; s.What == "" || asked[s.What] {
			continue
		}
		asked[s.What] = true
		if s.What != Cordoned {
			since := a.Since
			if since.IsZero() {
				since = a.Start
			}
			s.Since = since.Add(-shortly)
		}
		for _, node := range r.Examples {
			s.Node = node
			out = append(out, s)
		}
	}
	return out
}

// suspicions are the changes of nodes by the plugins that look at them.
var suspicions = map[string]string{
	"NodeUnschedulable": Cordoned, "TaintToleration": Tainted, "NodeAffinity": Relabelled,
}

// Object is the node.
func (s *Suspect) Object() object.Ref { return object.Ref{Kind: kind.Node.Kind, Name: s.Node} }

// Find returns the write that explains the rejection, or nil. The writes are those of the node in the time of
// the suspect, the latest first.
func (s *Suspect) Find(writes []store.Write) *store.Write {
	gone := map[string]bool{}
	for i := range writes {
		w := &writes[i]
		if len(w.Changes) == 0 && w.Part != "observed" && w.Part != "bookkeeping" {
			return nil // the node is new, or its fields after the write are unknown
		}
		for _, c := range w.Changes {
			switch field, removed := fieldOf(s.What), c.Operation == "remove"; {
			case !strings.HasPrefix(c.Path, field):
			case s.What == Cordoned:
				if removed || c.To != "true" {
					return nil
				}
				return w
			case s.What == Relabelled:
				return w
			case removed:
				gone[c.Path] = true
			case strings.HasSuffix(c.Path, "].key") && keepsOff(c.Path) && !gone[c.Path]:
				return w
			}
		}
		if w.MoreChanges > 0 {
			return nil // the field may be among them
		}
	}
	return nil
}

func fieldOf(what string) string {
	switch what {
	case Cordoned:
		return "spec.unschedulable"
	case Tainted:
		return "spec.taints["
	}
	return "metadata.labels["
}

// keepsOff reports whether the path of a taint's key is of a taint that keeps Pods off a node.
func keepsOff(path string) bool {
	return strings.HasSuffix(path, ",effect=NoSchedule].key") || strings.HasSuffix(path, ",effect=NoExecute].key")
}

// Add adds the change with write w of a suspect. sum is the trace of the write. Of several changes of a kind, the
// latest counts.
func (a *Answer) Add(s Suspect, w *store.Write, sum *store.Summary) {
	for i := range a.Nodes {
		if n := &a.Nodes[i]; n.What == s.What {
			if n.At.Before(w.End) {
				*n = NodeChange{s.Node, s.What, w.End, CauseOf(sum)}
			}
			return
		}
	}
	a.Nodes = append(a.Nodes, NodeChange{s.Node, s.What, w.End, CauseOf(sum)})
}

// text says what happened to the node, and by which change.
func (n *NodeChange) text(now time.Time, namespace string) string {
	text := map[string]string{
		Cordoned: "Node " + n.Node + " was cordoned", Tainted: "Shortly before, Node " + n.Node + " got a taint",
		Relabelled: "Shortly before, Node " + n.Node + " got other labels",
	}[n.What]
	return shown(text) + ": " + n.Cause.text(n.At, now, namespace) + "."
}
