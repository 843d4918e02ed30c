// SPDX-License-Identifier: Apache-2.0

package ask

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"go.opentelemetry.io/otel/trace"

	"github.com/kube-lifeline/lifeline/app/internal/answer"
	"github.com/kube-lifeline/lifeline/app/internal/api"
	"github.com/kube-lifeline/lifeline/app/internal/reason"
	"github.com/kube-lifeline/lifeline/app/internal/render"
	"github.com/kube-lifeline/lifeline/app/internal/span"
	"github.com/kube-lifeline/lifeline/app/internal/span/spantest"
	"github.com/kube-lifeline/lifeline/app/internal/store"
)

// TestWords: ls, find, why, the tree and the API name each state of the one table with its word.
func TestWords(t *testing.T) {
	now := spantest.Epoch.Add(time.Hour)
	category := map[span.State]reason.Category{
		span.Stuck: reason.ImageNotFound, span.Held: reason.Paused, span.State(span.Failed): reason.JobFailed,
		span.State(span.Refused): reason.Invalid,
	}
	for _, w := range span.States() {
		if w.State == span.Recovered {
			continue // a remark beside an outcome
		}
		t.Run(string(w.State), func(t *testing.T) {
			open := w.State == span.Running || w.State == span.Held || w.State == span.Stuck
			outcome := span.Outcome(w.State)
			if open {
				outcome = span.Unfinished
			}
			tr := oneSpan(open, outcome, string(category[w.State]))
			sum := store.Summarize(tr, now)
			sum.Open = open
			wire := api.SummaryOf(&sum)
			texts := map[string]string{"API": string(wire.State)}
			var list, tree strings.Builder
			o := render.ListOptions{Options: render.Options{Now: now}}
			if err := render.List(&list, []store.Summary{sum}, o); err != nil {
				t.Fatal(err)
			}
			if err := render.Tree(&tree, []*span.Trace{tr}, render.Options{Now: now}); err != nil {
				t.Fatal(err)
			}
			texts["ls"], texts["tree"] = list.String(), tree.String()
			of := answer.Explain(tr, tr.Spans[0].Object, now)
			texts["why"] = of.Text(now, "default")
			if string(of.State) != string(w.State) {
				t.Errorf("why has the state %q", of.State)
			}
			found := api.Lifecycle{Open: open, Outcome: string(tr.Spans[0].Outcome), Values: map[string]any{}}
			if c := category[w.State]; c != "" {
				found.Values["reason"] = json.RawMessage(`"` + string(c) + `"`)
			}
			texts["find"] = outcomeOf(&found)
			for place, text := range texts {
				if !strings.Contains(text, string(w.State)) {
					t.Errorf("%s: no %q in %q", place, w.State, text)
				}
				for _, other := range []string{"waiting", "on its way", "somebody"} {
					if strings.Contains(text, other) {
						t.Errorf("%s: another word, %q, in %q", place, other, text)
					}
				}
			}
		})
	}
}

// oneSpan is a trace of one change of a Deployment.
func oneSpan(open bool, outcome span.Outcome, category string) *span.Trace {
	id := trace.TraceID{7}
	s := &span.Span{
		TraceID: id, ID: trace.SpanID{1}, Name: "reconcile Deployment", Service: "deployment-controller",
		Object: spantest.Ref("apps", "Deployment", "web"), Start: span.Time{Time: spantest.Epoch},
	}
	out := &span.Trace{ID: id, Outcome: outcome, Spans: []*span.Span{s}}
	if !open {
		s.End, s.Outcome = span.Time{Time: spantest.Epoch.Add(time.Minute)}, outcome
	}
	if category != "" {
		out.Reason = "Deployment web has a reason"
		if outcome == span.Refused {
			out.Reason = "the change of Deployment web was refused: spec.selector: field is immutable"
		}
		s.Attributes = append(s.Attributes, span.KeyReason.String(category), span.KeyReasonMessage.String(out.Reason))
	}
	return out
}
