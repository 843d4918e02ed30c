// SPDX-License-Identifier: Apache-2.0

package answer

import (
	"testing"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"

	"github.com/kube-lifeline/lifeline/app/internal/span"
	"github.com/kube-lifeline/lifeline/app/internal/span/spantest"
)

// TestFirstBadRevision: the cause is the first bad revision, not a later scaling or a revision that changed nothing
// about the reason.
func TestFirstBadRevision(t *testing.T) {
	web := spantest.Ref("apps", "Deployment", "web")
	web.UID = "uid-web"
	const image, env, scale = "spec.template.spec.containers[name=app].image",
		"spec.template.spec.containers[name=app].env[name=A].value", "spec.replicas"
	// change is a trace of a change of that field by who; "" is a creation.
	change := func(n byte, who, field, category string, outcome span.Outcome) *span.Trace {
		root := &span.Span{
			TraceID: trace.TraceID{n}, ID: trace.SpanID{n}, Name: "reconcile Deployment", Object: web, Outcome: outcome,
			Start:      span.Time{Time: spantest.Epoch.Add(time.Duration(n) * time.Second)},
			Attributes: []attribute.KeyValue{span.KeyActorUser.String(who)},
		}
		if outcome != "" {
			root.End = span.Time{Time: root.Start.Add(time.Second)}
		}
		if category != "" {
			root.Attributes = append(root.Attributes, span.KeyReason.String(category))
		}
		verb := "create"
		if field != "" {
			root.Attributes = append(root.Attributes, span.KeyFields.StringSlice([]string{field}),
				span.KeyEdits.StringSlice([]string{"x"}))
			verb = "update"
		}
		write := &span.Span{
			TraceID: root.TraceID, ID: trace.SpanID{n, 1}, Parent: root.ID, Name: verb + " Deployment", Object: web,
			Start: root.Start, End: root.Start, Attributes: []attribute.KeyValue{span.KeyActorUser.String(who)},
		}
		return &span.Trace{ID: root.TraceID, Outcome: outcome, Spans: []*span.Span{root, write}}
	}
	// crashed adds a failed step of a Pod.
	crashed := func(tr *span.Trace) *span.Trace {
		tr.Spans = append(tr.Spans, &span.Span{
			TraceID: tr.ID, ID: trace.SpanID{9, 9}, Parent: tr.Spans[0].ID, Name: span.NameRunning,
			Status: span.StatusError, Start: tr.Spans[0].Start,
		})
		return tr
	}
	for name, tc := range map[string]struct {
		category, field string
		older           []*span.Trace
		want            string
	}{
		"scaling of a bad image": {"image_not_found", scale, []*span.Trace{
			change(8, "joe", scale, "image_not_found", ""), change(7, "ann", image, "image_not_found", ""),
			change(6, "old", image, "", span.Converged),
		}, "ann"},
		"another bad image before": {"image_not_found", scale, []*span.Trace{
			change(8, "ann", image, "image_not_found", ""), change(7, "old", image, "image_not_found", span.Superseded),
		}, "ann"},
		"a bad image now": {"image_not_found", image, []*span.Trace{
			change(8, "ann", image, "image_not_found", ""),
		}, "jane"},
		"crashes since an earlier revision": {"crash_loop", env, []*span.Trace{
			crashed(change(8, "joe", env, "", span.Superseded)), crashed(change(7, "ann", image, "", span.Superseded)),
			change(6, "old", image, "", span.Converged),
		}, "ann"},
		"a good revision before": {"crash_loop", scale, []*span.Trace{
			change(8, "old", image, "", span.Converged),
		}, "jane"},
		"an early replacement": {"crash_loop", env, []*span.Trace{
			change(8, "old", image, "", span.Superseded),
		}, "jane"},
		"bad from the start": {"crash_loop", scale, []*span.Trace{
			change(8, "ann", "", "crash_loop", ""), change(7, "old", "", "crash_loop", span.Failed),
		}, "ann"},
		"another kind of reason": {"unschedulable", scale, []*span.Trace{
			change(8, "ann", image, "unschedulable", ""),
		}, "jane"},
	} {
		t.Run(name, func(t *testing.T) {
			a := Answer{
				State: Stuck, Category: tc.category, Object: web,
				Cause: Cause{Who: "jane", Verb: "patch", Object: web, Fields: []string{tc.field}},
			}
			if of, search := a.Revised(); search {
				for _, tr := range tc.older {
					if of != web || !a.Earlier(tr, now) {
						break
					}
				}
			}
			if a.Cause.Who != tc.want {
				t.Errorf("got %+v, want the change of %s", a.Cause, tc.want)
			}
		})
	}
}
