// SPDX-License-Identifier: Apache-2.0

package tree

import (
	"slices"
	"strings"
	"time"

	"github.com/kube-lifeline/lifeline/app/internal/change"
	"github.com/kube-lifeline/lifeline/app/internal/history"
	"github.com/kube-lifeline/lifeline/app/internal/index"
	"github.com/kube-lifeline/lifeline/app/internal/kind"
	"github.com/kube-lifeline/lifeline/app/internal/object"
	"github.com/kube-lifeline/lifeline/app/internal/observation"
	"github.com/kube-lifeline/lifeline/app/internal/reason"
	"github.com/kube-lifeline/lifeline/app/internal/span"
	"github.com/kube-lifeline/lifeline/app/internal/trail"
	"github.com/kube-lifeline/lifeline/internal/message"
)

// refusalText returns the reason of a refused write. A webhook may omit the reason.
func refusalText(w *observation.Write) string {
	switch {
	case w.Reason == "":
		return w.Message
	case w.Message == "":
		return w.Reason
	}
	return w.Reason + ": " + w.Message
}

// inVain returns the verdict on the refused requests of a trace: of a command that failed, or the refused
// evictions of a drain. It reports false if a later write made up for each of them.
func (b *Builder) inVain(l *change.Lineage) (verdict, bool) {
	var refused []change.Refused
	for _, r := range l.Reconciliations {
		for _, w := range r.Refused {
			if l.Run != nil || kind.Node.Is(r.Timeline.Ref.Kind) && w.Subresource == evictionOf {
				refused = append(refused, w)
			}
		}
	}
	if l.Run != nil {
		refused = append(refused, l.Refused...)
	}
	for _, w := range l.Loose {
		if w.Failed() && l.Run != nil {
			refused = append(refused, change.Refused{Write: w})
		}
	}
	if l.Run != nil && l.Run.ExitCode == 0 {
		return verdict{}, false
	}
	refused = slices.DeleteFunc(refused, func(w change.Refused) bool { return b.madeUp(l, w.Write) })
	if len(refused) == 0 || l.Run == nil && !b.endings.GaveUp(l) {
		return verdict{}, false
	}
	slices.SortStableFunc(refused, func(a, b change.Refused) int { return trail.CompareWrites(a.Write, b.Write) })
	last := refused[len(refused)-1]
	v := b.nameBudgets(deniedVerdict(b.audited(last.Write), refused))
	if node := b.known.EvictedFrom(index.Identify(last.Write), last.Write); node != "" && b.cordoned(node) {
		v.text = span.Bound(v.text + reason.AndState + "Node " + node + " stays cordoned")
		return v, true
	}
	return b.beside(v), true
}

// cordoned reports whether the Node is cordoned now.
func (b *Builder) cordoned(node string) bool {
	return slices.ContainsFunc(b.known.Named(change.NodeName(node)), func(t *change.Timeline) bool {
		last := t.Last()
		return t.Removal == nil && last != nil && last.Field("spec.unschedulable") != nil
	})
}

// nameBudgets names the budgets that refused an eviction, if the namespace has no others.
func (b *Builder) nameBudgets(v verdict) verdict {
	if !strings.Contains(v.text, reason.SeveralBudgets) {
		return v
	}
	if all := b.known.Budgets(v.refused.Namespace); len(all) == 2 {
		v.text = span.Bound(strings.Replace(v.text, reason.SeveralBudgets, "PodDisruptionBudgets "+all[0]+" and "+all[1]+
			" both select the Pod, and an eviction supports only one", 1))
	}
	return v
}

// audited returns the refused request of a command as the audit log has it, where its message says more.
func (b *Builder) audited(w *observation.Write) *observation.Write {
	q := b.refusalOf(w)
	if q == nil || q.Message == "" || q.Message == message.Withheld || w.Message != message.Withheld && w.Message != "" {
		return w
	}
	of := *w
	of.Reason, of.Message = q.Reason, q.Message
	return &of
}

// beside adds the state of its object to the verdict on a refused request. The state is that at the time of the
// request, or the first one that was observed.
func (b *Builder) beside(v verdict) verdict {
	w := v.refused
	if w == nil || w.Name == "" || w.Subresource != "" {
		return v
	}
	var of *change.Timeline
	for _, t := range b.known.BySubject(index.NameOf(w)) {
		if t.Last() != nil && (w.UID == "" || w.UID == t.Ref.UID) && !t.Versions[0].Seen.After(w.End.Add(maxBeside)) {
			of = t
		}
	}
	if of == nil {
		return v
	}
	at := of.Versions[0]
	for _, version := range of.Versions {
		if !version.Seen.After(w.End) {
			at = version
		}
	}
	v.text = span.Bound(v.text + reason.AndState + reason.StateAt(at))
	return v
}

// maxBeside is the time after a request in which the first observation of its object shows the state at the request.
const maxBeside = 10 * time.Second

// refusalOf returns the request of the audit log that is the refused request w of a command, or nil.
func (b *Builder) refusalOf(w *observation.Write) *observation.Write {
	if !w.Failed() || w.AuditID == "" {
		return nil
	}
	subjects := []index.Subject{index.Identify(w), index.NameOf(w)}
	for _, t := range b.known.BySubject(index.NameOf(w)) {
		subjects = append(subjects, index.Subject{UID: t.Ref.UID})
	}
	for _, id := range subjects {
		of := b.trail.RefusalsOf(id)
		if of == nil {
			continue
		}
		for _, alike := range of.Kinds {
			for _, q := range alike.Writes {
				if q.AuditID == w.AuditID {
					return q
				}
			}
		}
	}
	return nil
}

// evictionOf is the subresource of a Pod's eviction.
const evictionOf = "eviction"

// deniedVerdict is the verdict on a change whose request w was refused. refused are all refused requests.
func deniedVerdict(w *observation.Write, refused []change.Refused) verdict {
	r := reason.Denied(w)
	others := map[string]bool{}
	for _, other := range refused {
		if other.Name != w.Name || other.Kind != w.Kind {
			others[other.Kind.Kind+" "+other.Namespace+"/"+other.Name] = true
		}
	}
	var same []change.Refused
	for _, other := range refused {
		if other.Name == w.Name && other.Kind == w.Kind {
			same = append(same, other)
		}
	}
	return verdict{
		outcome: span.Refused, text: span.Bound(r.Text + tried(same) + Others(len(others))), reason: r, refused: w,
	}
}

// madeUp reports whether a later write of the trace changed the object of the refused request q as q asked, or
// its object is gone.
func (b *Builder) madeUp(l *change.Lineage, q *observation.Write) bool {
	is := func(o *object.Ref) bool {
		return o.Kind.Kind == q.Kind.Kind && o.Group == q.Group && o.Namespace == q.Namespace && o.Name == q.Name
	}
	for _, w := range l.Loose {
		if !w.Failed() && is(&w.Ref) && !w.End.Before(q.End) {
			return true
		}
	}
	for _, r := range l.Reconciliations {
		if is(&r.Timeline.Ref) && r.Last().At.At().After(q.Start) {
			return true
		}
	}
	if history.RequestVerb(q) != history.Deleted {
		return false
	}
	timelines := []*change.Timeline{b.known.Object(q.UID)}
	if q.UID == "" {
		timelines = b.known.BySubject(index.Identify(q))
	}
	for _, t := range timelines {
		if t == nil {
			continue
		}
		if last := t.Last(); t.Removal != nil || last != nil && !last.Deleting.IsZero() {
			return true
		}
	}
	return false
}

// RefusedSpan returns the span of a refused write, or of a write to an object that was never observed.
func RefusedSpan(r change.Refused, l *change.Lineage) *span.Span {
	s := AuditSpan(l, r.Write)
	if !r.Failed() {
		s.Outcome, s.Facts = unseenOutcome(r), Requested(s, r.Write)
		return s
	}
	s.Status, s.Outcome = span.StatusError, span.Refused
	if r.Repeats > 0 {
		s.Attributes = append(s.Attributes, span.KeyRepeats.Int(r.Repeats))
	}
	return s
}

// unseenOutcome returns the outcome of a write to an object that was never observed.
func unseenOutcome(r change.Refused) span.Outcome {
	if history.RequestVerb(r.Write) == history.Deleted {
		return span.Deleted
	}
	return span.Unfinished
}
