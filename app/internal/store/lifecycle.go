// SPDX-License-Identifier: Apache-2.0

package store

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"go.opentelemetry.io/otel/trace"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kube-lifeline/lifeline/app/internal/kind"
	"github.com/kube-lifeline/lifeline/app/internal/object"
	"github.com/kube-lifeline/lifeline/app/internal/question"
	"github.com/kube-lifeline/lifeline/app/internal/span"
)

// LifecyclesOf returns the lifecycles of a trace at the time asOf, in the order of their spans: one
// for each span of a reconciliation. An open one has no outcome, and extends to asOf. A finished
// trace may have open spans, too: see Finish.
func LifecyclesOf(t *span.Trace, asOf time.Time) []Lifecycle {
	t = span.Revise(t)
	tree := newTree(t)
	steps := map[trace.SpanID][]question.Step{}
	n := 0
	for _, s := range t.Spans {
		if tree[s.ID] != s {
			continue // an ID names one span
		}
		if isLifecycle(s) {
			n++
			continue
		}
		phase := phaseNames[s.Name]
		if phase == "" || s.Origin != nil {
			continue
		}
		if up := tree.reconciliationAbove(s); up != nil {
			steps[up.ID] = append(steps[up.ID], question.Step{Phase: phase, Start: s.Start.Time, End: s.End.Time})
		}
	}
	root := t.Root()
	out := make([]Lifecycle, 0, n)
	for _, s := range t.Spans {
		if !isLifecycle(s) || tree[s.ID] != s {
			continue
		}
		l := lifecycleOf(s, asOf)
		l.Values, l.Steps = question.Source{Span: s, Root: root}.Values(), steps[s.ID]
		l.measure(asOf)
		if l.startsUp() {
			l.setPhase(startup, l.readyAt().Sub(s.Start.Time))
		}
		out = append(out, l)
	}
	return out
}

// Finish marks the open ones among the lifecycles of a finished trace as unfinished.
func Finish(all []Lifecycle) {
	for i := range all {
		all[i].finish()
	}
}

func (l *Lifecycle) finish() { l.Outcome = cmp.Or(l.Outcome, string(span.Unfinished)) }

// startup is the phase without spans of its own.
const startup = "startup"

// phaseNames has the names of the phases in questions by those of their spans.
var phaseNames = func() map[string]string {
	out := map[string]string{}
	for _, p := range question.Phases() {
		if p.Span != "" {
			out[p.Span] = p.Name
		}
	}
	return out
}()

// isLifecycle reports whether s is the reconciliation of an object.
func isLifecycle(s *span.Span) bool { return s.Origin == nil && s.IsReconciliation() }

// tree finds spans by their IDs.
type tree map[trace.SpanID]*span.Span

func newTree(t *span.Trace) tree {
	out := make(tree, len(t.Spans))
	for _, s := range t.Spans {
		if out[s.ID] == nil {
			out[s.ID] = s
		}
	}
	return out
}

// parent returns the parent in the trace, or nil.
func (t tree) parent(s *span.Span) *span.Span {
	if s.RemoteParent {
		return nil
	}
	return t[s.Parent]
}

// reconciliationAbove returns the nearest reconciliation above s with the same object, or nil.
func (t tree) reconciliationAbove(s *span.Span) *span.Span {
	const deepest = 64 // spans of other components may form a cycle
	up := s
	for range deepest {
		if up = t.parent(up); up == nil {
			return nil
		}
		if isLifecycle(up) {
			break
		}
	}
	if !isLifecycle(up) || up.Object.UID != s.Object.UID {
		return nil
	}
	return up
}

// lifecycleOf returns the lifecycle of a span, without its phases and the data for questions.
func lifecycleOf(s *span.Span, asOf time.Time) Lifecycle {
	l := Lifecycle{Span: s.ID}
	l.Trace, l.Object, l.Outcome = s.TraceID, validRef(s.Object), valid(string(s.Outcome))
	l.Start, l.Duration = s.Start.Time, max(0, s.Duration(asOf))
	return l
}

// valid returns s as an archive keeps it.
func valid(s string) string { return strings.ToValidUTF8(s, "\uFFFD") }

// validRef returns r as an archive keeps it: without the version of its kind.
func validRef(r object.Ref) object.Ref {
	r.Group, r.Version, r.Kind.Kind = valid(r.Group), "", valid(r.Kind.Kind)
	r.Namespace, r.Name = valid(r.Namespace), valid(r.Name)
	r.UID = types.UID(valid(string(r.UID)))
	return r
}

// measure sets the lengths of the phases: those of the unions of their spans.
func (l *Lifecycle) measure(asOf time.Time) {
	done := map[string]bool{}
	for i, s := range l.Steps {
		if done[s.Phase] {
			continue
		}
		done[s.Phase] = true
		l.setPhase(s.Phase, union(l.Steps[i:], s.Phase, asOf))
	}
}

func (l *Lifecycle) setPhase(name string, length time.Duration) {
	if l.Phases == nil {
		l.Phases = make(map[string]time.Duration, 8)
	}
	l.Phases[name] = max(0, length)
}

// union returns the length of the union of the steps of one phase.
func union(steps []question.Step, phase string, asOf time.Time) time.Duration {
	type interval struct{ from, to time.Time }
	var all []interval
	for _, s := range steps {
		if s.Phase != phase {
			continue
		}
		to := s.End
		if to.IsZero() {
			to = asOf
		}
		all = append(all, interval{s.Start, to})
	}
	slices.SortFunc(all, func(a, b interval) int { return a.from.Compare(b.from) })
	var length time.Duration
	var until time.Time
	for i, one := range all {
		if i > 0 && one.from.Before(until) {
			one.from = until
		}
		if i == 0 || one.to.After(until) {
			until = one.to
			length += max(0, one.to.Sub(one.from))
		}
	}
	return length
}

// startsUp reports whether the lifecycle is that of a new Pod that became Ready. The readiness of
// others ends with the lifecycle.
func (l *Lifecycle) startsUp() bool {
	return kind.Pod.Is(l.Object.Kind) && l.Text("verb") == "create" && l.Outcome == string(span.Converged) &&
		!l.readyAt().IsZero()
}

// readyAt returns the end of the readiness; zero without one.
func (l *Lifecycle) readyAt() time.Time {
	var at time.Time
	for _, s := range l.Steps {
		if s.Phase == phaseNames[span.NameReadiness] && s.End.After(at) {
			at = s.End
		}
	}
	return at
}
