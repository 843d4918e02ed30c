// SPDX-License-Identifier: Apache-2.0

package ending

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"go.opentelemetry.io/otel/trace"

	"github.com/kube-lifeline/lifeline/app/internal/audit"
	"github.com/kube-lifeline/lifeline/app/internal/cause"
	"github.com/kube-lifeline/lifeline/app/internal/change"
	"github.com/kube-lifeline/lifeline/app/internal/history"
	"github.com/kube-lifeline/lifeline/app/internal/index"
	"github.com/kube-lifeline/lifeline/app/internal/observation"
	"github.com/kube-lifeline/lifeline/app/internal/placed"
	"github.com/kube-lifeline/lifeline/app/internal/span"
	"github.com/kube-lifeline/lifeline/app/internal/trail"
)

// Refusals places the refused writes of a group.
type Refusals struct {
	known   index.View
	placed  *placed.Changes
	trail   *trail.Trail
	scene   *cause.Scene
	endings *Endings
	cluster string
	// traces are the traces that contain refused writes.
	traces map[*trail.Refusal][]*change.Lineage
}

// NewRefusals returns Refusals without a refused write.
func NewRefusals(s *cause.Scene, e *Endings, cluster string) *Refusals {
	return &Refusals{
		known: s.Known, placed: s.Placed, trail: s.Trail, scene: s, endings: e, cluster: cluster,
	}
}

// Traces returns the traces that contain the refusal.
func (rf *Refusals) Traces(of *trail.Refusal) []*change.Lineage { return rf.traces[of] }

// Place adds each refused write to an open reconciliation: that of its object, or that of
// the owner for a refused creation. Any other change that was requested in vain becomes a separate
// trace. subjects are the objects of the refused writes, and members those of the group.
func (rf *Refusals) Place(subjects map[index.Subject]struct{}, members map[*change.Timeline]struct{}) {
	if len(subjects) == 0 {
		return
	}
	rf.traces = map[*trail.Refusal][]*change.Lineage{}
	seen := rf.requested(members)
	for id := range subjects {
		of := rf.trail.RefusalsOf(id)
		if of == nil {
			continue
		}
		for _, kind := range of.Kinds {
			for i, w := range kind.Writes {
				if rf.trail.Contradicted(w) || seen[w.AuditID] || kind.HandedOut {
					continue
				}
				repeats := 0
				if i == len(kind.Writes)-1 {
					repeats = kind.Repeats
				}
				rf.place(id, kind, change.Refused{Write: w, Repeats: repeats})
			}
		}
	}
}

// place adds one refused write of that kind.
func (rf *Refusals) place(id index.Subject, kind *trail.Refusal, w change.Refused) {
	if !w.Failed() { // a write to an object that was never observed
		rf.standAlone(kind, w)
		return
	}
	drain := rf.drainOf(id, w.Write)
	r := drain
	if r == nil {
		r = rf.openAt(id, w.Write)
	}
	switch {
	case drain != nil:
		r.Lineage.Latest = history.Later(r.Lineage.Latest, kind.Last.Add(evictionRetry))
	case r == nil && looksAgain(w.Write):
		return
	case r == nil && rf.placeInCommand(id, kind, w):
		return
	case r == nil:
		rf.standAlone(kind, w)
		return
	}
	r.Refused = append(r.Refused, w)
	rf.traces[kind] = append(rf.traces[kind], r.Lineage)
}

// Order sorts the refused writes of all traces.
func (rf *Refusals) Order() {
	for _, l := range rf.placed.Lines {
		for _, r := range l.Reconciliations {
			slices.SortFunc(r.Refused, compareRefused)
		}
		slices.SortFunc(l.Refused, compareRefused)
	}
}

func compareRefused(a, b change.Refused) int { return trail.CompareWrites(a.Write, b.Write) }

// requested returns the audit IDs of the requests that were observed outside the audit log.
func (rf *Refusals) requested(members map[*change.Timeline]struct{}) map[string]bool {
	out := map[string]bool{}
	for _, w := range rf.known.Refused() {
		out[w.AuditID] = true
	}
	for t := range members {
		for _, w := range t.Requests() {
			out[w.AuditID] = true
		}
	}
	delete(out, "")
	return out
}

// openAt returns the open reconciliation at the time of the refused request, or nil. It is the last
// that had begun by then and had not ended.
func (rf *Refusals) openAt(id index.Subject, w *observation.Write) *change.Reconciliation {
	var timelines []*change.Timeline
	switch {
	case id.UID != "":
		timelines = append(timelines, rf.known.Object(id.UID))
	case id.Owner != "":
		timelines = append(timelines, rf.known.Object(id.Owner))
	default:
		timelines = rf.known.BySubject(id)
	}
	var found *change.Reconciliation
	for _, t := range timelines {
		if t == nil {
			continue
		}
		for _, r := range rf.placed.Of(t) {
			if r.Timeline.Past != nil && r.First().Version == nil && r.ArrivedFrom == nil && r.Done {
				continue // remembered, and already handed out
			}
			if rf.trail.Start(r).At().After(w.End.Add(audit.Skew)) {
				continue
			}
			rf.endings.Conclude(r)
			if r.Done && r.Ended.At.At().Before(w.Start.Add(-audit.Skew)) {
				continue
			}
			if found != nil && found.Timeline != t {
				return nil // ambiguous: both objects are possible
			}
			found = r
		}
	}
	return found
}

// evictionRetry is the time after which kubectl drain repeats a refused eviction.
const evictionRetry = 5 * time.Second

// GaveUp reports whether kubectl drain would have repeated the last refused eviction of the trace by now.
func (e *Endings) GaveUp(l *change.Lineage) bool { return e.clock.Passed(l.Latest, 0) }

// drainOf returns the cordon of the drain to which a refused eviction belongs, or nil.
func (rf *Refusals) drainOf(id index.Subject, w *observation.Write) *change.Reconciliation {
	if node := rf.known.EvictedFrom(id, w); node != "" && !w.Unauthenticated {
		return cause.Drain(rf.scene, node, w.User, w.End)
	}
	return nil
}

// placeInCommand adds a refused eviction to the trace of the command that drains the Node: the same program
// wrote the Node before, and the command had not ended. Commands announce no refused requests.
func (rf *Refusals) placeInCommand(id index.Subject, kind *trail.Refusal, w change.Refused) bool {
	node := rf.known.EvictedFrom(id, w.Write)
	if node == "" || w.UserAgent == "" || w.Unauthenticated {
		return false
	}
	var of *change.Lineage
	for _, l := range rf.placed.Lines {
		if l.Run == nil || !l.Run.End.IsZero() && w.Start.After(l.Run.End) ||
			of != nil && l.Run.Start.Before(of.Run.Start) {
			continue
		}
		if slices.ContainsFunc(l.Loose, func(q *observation.Write) bool {
			return q.Kind.Kind == change.NodeName(node).Kind && q.Name == node && !q.Failed() &&
				q.UserAgent == w.UserAgent && !q.Start.After(w.Start)
		}) {
			of = l
		}
	}
	if of == nil {
		return false
	}
	of.Refused = append(of.Refused, w)
	rf.traces[kind] = append(rf.traces[kind], of)
	return true
}

// looksAgain reports whether a refused request only makes a controller read the object again. Such
// a request is not an intended change.
func looksAgain(w *observation.Write) bool {
	switch {
	case w.Controller != "", w.Subresource == "status", w.Subresource == "finalize":
		return true
	case w.Code == 404 && history.RequestVerb(w) == history.Deleted:
		return true // the object is already gone, as requested
	case audit.IsComponent(w.User):
		return true
	case strings.HasPrefix(w.User, "system:serviceaccount:"):
		return w.Code == 409
	}
	return false
}

// RefusedID returns the ID of the separate trace of a refused change. It is derived from the first
// request of its kind. A write to an unobserved object has the ID that an observer of the object derives
// (rule C6).
func RefusedID(cluster string, kind *trail.Refusal) trace.TraceID {
	first := kind.Writes[0]
	if !first.Failed() && first.UID != "" {
		return span.DeriveTraceID(cluster, string(first.UID), history.RequestVerb(first).String(), which(first))
	}
	return span.DeriveTraceID(cluster, "refused", first.AuditID, first.Start.UTC().Format(time.RFC3339Nano))
}

// which names the write of a request among those of its verb (rules I).
func which(q *observation.Write) string {
	switch verb := history.RequestVerb(q); {
	case verb == history.Deleted:
		return ""
	case verb == history.Created:
		return "1"
	case q.Generation > 0:
		return strconv.FormatInt(q.Generation, 10)
	}
	return "@" + strconv.FormatUint(q.ResourceVersion, 10)
}

// standAlone makes a refused change a separate trace.
func (rf *Refusals) standAlone(kind *trail.Refusal, w change.Refused) {
	id := RefusedID(rf.cluster, kind)
	l := rf.placed.Lines[id]
	if l == nil {
		l = &change.Lineage{ID: id, First: ^uint64(0), Vain: true}
		rf.placed.Lines[id] = l
	}
	l.Refused = append(l.Refused, w)
	l.Latest = history.Later(l.Latest, kind.Last)
	rf.traces[kind] = append(rf.traces[kind], l)
}
