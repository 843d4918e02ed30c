// SPDX-License-Identifier: Apache-2.0

package answer

import (
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/kube-lifeline/lifeline/app/internal/kind"
	"github.com/kube-lifeline/lifeline/app/internal/object"
	"github.com/kube-lifeline/lifeline/app/internal/reason"
	"github.com/kube-lifeline/lifeline/app/internal/store"
)

// NodeChange is a change of a node that the scheduler rejected, or of a quota that refused a Pod.
type NodeChange struct {
	// Node is the name of the node, or of the quota.
	Node string `json:"node"`
	// What is Cordoned, Tainted, Relabelled or Limited.
	What string `json:"what"`
	// Text says in words what happened to the node, and for a taint or labels, whether that was shortly before the
	// wait or during it. It has no full stop, and is not escaped.
	Text string `json:"text"`
	// At is the time of the write.
	At    time.Time `json:"at"`
	Cause Cause     `json:"cause"`
}

// Values of NodeChange.What. Limited is for a quota. A cordoned node is rejected because of that change. A new
// taint or other labels came shortly before the wait, or during it: the Pod may tolerate that taint, and need
// another label.
const (
	Cordoned   = "cordoned"
	Tainted    = "tainted"
	Relabelled = "relabelled"
	Limited    = "limited"
)

// shortly is the time before the wait in which a taint or a label counts.
const shortly = 10 * time.Minute

// Suspect is a rejected node, or a quota, whose changes may explain the rejection.
type Suspect struct {
	// Node is the name of the node; empty for any node.
	Node string
	// Quota is the quota, in place of a node; nil for a node.
	Quota *object.Ref
	// What is as in NodeChange. Since and Until bound the time of the change.
	What         string
	Since, Until time.Time
}

// Suspects returns the example nodes of reasons that a change of a node leads to, at most three for each.
func (a *Answer) Suspects() []Suspect {
	if a.Attempt == nil {
		return a.unnamed()
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
			s.Since = a.since().Add(-shortly)
		}
		for _, node := range r.Examples {
			s.Node = node
			out = append(out, s)
		}
	}
	return out
}

// byCategory are the changes of nodes by the category of a Pod without a node.
var byCategory = map[reason.Category]string{
	reason.UnschedulableCordon: Cordoned, reason.UnschedulableTaint: Tainted,
	reason.UnschedulableNodeSelector: Relabelled,
}

// exceeded matches the name of a quota in a refusal.
var exceeded = regexp.MustCompile(`exceeded quota: ([a-z0-9.-]+),`)

// unnamed returns any node, or the quota, whose change may have led to the reason. The scheduler gives no names of
// nodes. The change came shortly before the wait, or during it; a Pod that replaces a lost one waits for an older
// one, too.
func (a *Answer) unnamed() []Suspect {
	s := Suspect{What: byCategory[reason.Category(a.Category)]}
	if a.Category == string(reason.QuotaExceeded) {
		if found := exceeded.FindStringSubmatch(a.Reason); found != nil {
			s.What = Limited
			s.Quota = &object.Ref{
				Kind: kind.ResourceQuota.Kind, Namespace: a.Object.Namespace, Name: found[1],
			}
		}
	}
	if s.What == "" {
		return nil
	}
	if s.What != Cordoned && a.Cause.Heals == "" {
		s.Since = a.since().Add(-shortly)
	}
	return []Suspect{s}
}

// since returns the begin of the wait.
func (a *Answer) since() time.Time {
	if a.Since.IsZero() {
		return a.Start
	}
	return a.Since
}

// suspicions are the changes of nodes by the plugins that look at them.
var suspicions = map[string]string{
	"NodeUnschedulable": Cordoned, "TaintToleration": Tainted, "NodeAffinity": Relabelled,
}

// Object is the node, or the quota.
func (s *Suspect) Object() object.Ref {
	if s.Quota != nil {
		return *s.Quota
	}
	return object.Ref{Kind: kind.Node.Kind, Name: s.Node}
}

// Part is the part of the object with the change; empty for all parts.
func (s *Suspect) Part() string {
	switch {
	case s.Node != "" || s.Quota != nil:
		return ""
	case s.What == Relabelled:
		return "metadata"
	}
	return "desired"
}

// Find returns the write that explains the rejection, or nil. The writes are those of the object in the time of
// the suspect, the latest first. Of several objects, the latest change counts.
func (s *Suspect) Find(writes []store.Write) *store.Write {
	byName := map[string][]*store.Write{}
	for i := range writes {
		name := writes[i].Object.Name
		byName[name] = append(byName[name], &writes[i])
	}
	var latest *store.Write
	for _, of := range byName {
		if w := s.find(of); w != nil && (latest == nil || w.End.After(latest.End)) {
			latest = w
		}
	}
	return latest
}

// find is Find for the writes of one object.
func (s *Suspect) find(writes []*store.Write) *store.Write {
	gone := map[string]bool{}
	for _, w := range writes {
		if s.What == Limited && w.Verb == "create" {
			return w
		}
		if len(w.Changes) == 0 && w.Part != "observed" && w.Part != "bookkeeping" {
			return nil // the node is new, or its fields after the write are unknown
		}
		for _, c := range w.Changes {
			switch field, removed := fieldOf(s.What), c.Operation == "remove"; {
			case !under(c.Path, field):
			case s.What == Cordoned:
				if removed || c.To != "true" {
					return nil
				}
				return w
			case s.What == Relabelled, s.What == Limited:
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
		return "spec.taints"
	case Limited:
		return "spec.hard"
	}
	return "metadata.labels"
}

// under reports whether the path is that of the field, or below it.
func under(path, field string) bool {
	rest, below := strings.CutPrefix(path, field)
	return below && (rest == "" || rest[0] == '.' || rest[0] == '[')
}

// keepsOff reports whether the path of a taint's key is of a taint that keeps Pods off a node.
func keepsOff(path string) bool {
	return strings.HasSuffix(path, ",effect=NoSchedule].key") || strings.HasSuffix(path, ",effect=NoExecute].key")
}

// NodeWrite is the write of a suspect that explains the rejection.
type NodeWrite struct {
	Suspect
	store.Write
}

// Latest returns the latest write of each What, in the order of the first.
func Latest(writes []NodeWrite) []NodeWrite {
	var out []NodeWrite
	for _, w := range writes {
		same := func(other NodeWrite) bool { return other.What == w.What }
		switch i := slices.IndexFunc(out, same); {
		case i < 0:
			out = append(out, w)
		case out[i].End.Before(w.End):
			out[i] = w
		}
	}
	return out
}

// Add adds the change with the write. sum is the trace of the write.
func (a *Answer) Add(w NodeWrite, sum *store.Summary) {
	text := w.Write.Object.Kind.Kind + " " + w.Write.Object.Name + map[string]string{
		Cordoned: " was cordoned", Tainted: " got a taint", Relabelled: " got other labels",
		Limited: " got other limits",
	}[w.What]
	if w.Verb == "create" {
		text = w.Write.Object.Kind.Kind + " " + w.Write.Object.Name + " was created"
	}
	switch {
	case w.What == Cordoned, a.since().Sub(w.End) > shortly:
	case w.End.Before(a.since()):
		text = "Shortly before, " + text
	default:
		text = "Since then, " + text
	}
	a.Nodes = append(a.Nodes, NodeChange{w.Write.Object.Name, w.What, text, w.End, CauseOf(sum)})
}

// text says what happened to the node, and by which change.
func (n *NodeChange) text(now time.Time, namespace string) string {
	return shown(n.Text) + ": " + n.Cause.text(n.At, now, namespace) + "."
}
