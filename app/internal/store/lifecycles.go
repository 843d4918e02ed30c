// SPDX-License-Identifier: Apache-2.0

package store

import (
	"cmp"
	"strings"
	"time"

	"go.opentelemetry.io/otel/trace"

	"github.com/kube-lifeline/lifeline/app/internal/insight"
	"github.com/kube-lifeline/lifeline/app/internal/question"
	"github.com/kube-lifeline/lifeline/app/internal/span"
)

// LifecyclesOf returns the lifecycles of a trace at the time asOf, in the order of their spans: one
// for each span of a reconciliation. An open one has no outcome, and extends to asOf. A finished
// trace may have open spans, too: see Finish.
func LifecyclesOf(t *span.Trace, asOf time.Time) []Lifecycle {
	var out []Lifecycle
	at := map[trace.SpanID]int{}
	heals := ""
	if root := t.Root(); root != nil {
		heals = insight.Attribute(root, span.KeyHeals)
	}
	for _, s := range t.Spans {
		if _, known := at[s.ID]; known || s.Origin != nil || !s.IsReconciliation() {
			continue
		}
		l := Lifecycle{Span: s.ID}
		l.Trace, l.Object, l.Heals = t.ID, s.Object, heals
		l.Object.Version = ""
		l.Actor, l.User = insight.Attribute(s, span.KeyActor), insight.Attribute(s, span.KeyActorUser)
		l.Outcome, l.Reason = string(s.Outcome), insight.Attribute(s, span.KeyReason)
		l.Start, l.Duration = s.Start.Time, max(0, s.Duration(asOf))
		if writes := WritesOf(s); len(writes) > 0 {
			l.Verb, l.Actor = writes[0].Verb, cmp.Or(l.Actor, writes[0].Actor)
		}
		at[s.ID] = len(out)
		out = append(out, l)
	}
	for _, s := range t.Spans {
		i, child := at[s.Parent]
		phase := phaseOf[s.Name]
		if !child || phase == "" || s.Origin != nil {
			continue
		}
		l := &out[i]
		if l.Phases == nil {
			l.Phases = map[string]time.Duration{}
		}
		l.Phases[phase] = max(l.Phases[phase], s.Duration(asOf))
		if phase == "readiness" && l.Outcome == string(span.Converged) {
			l.Phases["startup"] = max(0, s.End.Sub(l.Start))
		}
		l.Node = cmp.Or(l.Node, insight.Attribute(s, span.KeyNode))
		if image := insight.Attribute(s, span.KeyImage); image != "" && !strings.Contains(
			" "+strings.Join(l.Images, " ")+" ", " "+image+" ") {
			l.Images = append(l.Images, image)
		}
		for _, kv := range s.Attributes {
			if kv.Key == span.KeyVolumes {
				l.Volumes = new(kv.Value.AsInt64())
			}
		}
	}
	return out
}

// Finish marks the open ones among the lifecycles of a finished trace as unfinished.
func Finish(all []Lifecycle) {
	for i := range all {
		all[i].Outcome = cmp.Or(all[i].Outcome, string(span.Unfinished))
	}
}

// phaseOf has the names of the phases in questions by those of their spans.
var phaseOf = func() map[string]string {
	out := map[string]string{}
	for _, p := range question.Phases() {
		if p.Span != "" {
			out[p.Span] = p.Name
		}
	}
	return out
}()
