// SPDX-License-Identifier: Apache-2.0

package stitch_test

import (
	"strings"
	"testing"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"

	"github.com/kube-lifeline/lifeline/app/internal/span"
	"github.com/kube-lifeline/lifeline/app/internal/stitch"
)

const schedulerScope = "github.com/kube-lifeline/lifeline/scheduler"

// attempt adds a scheduler's attempt for a Pod, with its cycle.
func attempt(f *foreign, id by, pod string, start, end float64) *span.Span {
	out := f.add("kube-scheduler@cp", "i", "scheduling attempt", id, 0, start, end,
		attribute.String("k8s.pod.uid", string(uid(pod))))
	out.Origin.Scope.Name = schedulerScope
	f.add("kube-scheduler@cp", "i", "scheduling cycle", by{id.trace, id.span + 1}, id.span, start+1, end-1)
	return out
}

func TestAttemptsOfAScheduler(t *testing.T) {
	inPhase := "schedule > scheduling attempt (identity)"
	for name, test := range map[string]struct {
		reason string
		spans  func(f *foreign, s story, pod *span.Span)
		ours   func(s story, pod *span.Span) story
		want   string
	}{
		"by UID": {
			reason: "the Pod has no context",
			spans:  func(f *foreign, _ story, _ *span.Span) { attempt(f, by{1, 1}, "web-1", 21, 38) },
			want:   inPhase,
		},
		"by the Pod's context": {
			reason: "the context names the Pod's reconciliation",
			spans: func(f *foreign, s story, pod *span.Span) {
				below(attempt(f, by{1, 1}, "web-1", 21, 38), s.ID, pod.ID, f)
			},
			want: "schedule > scheduling attempt (annotation)",
		},
		"by an unknown context": {
			reason: "the Pod's context is of another tool",
			spans: func(f *foreign, _ story, _ *span.Span) {
				attempt(f, by{1, 1}, "web-1", 21, 38).Parent = trace.SpanID{1}
			},
			want: inPhase,
		},
		"a later reconciliation": {
			reason: "a Pod is scheduled in the reconciliation with the phase",
			spans:  func(f *foreign, _ story, _ *span.Span) { attempt(f, by{1, 1}, "web-1", 21, 38) },
			ours: func(s story, pod *span.Span) story {
				s.add(pod, "reconcile Pod", pod.Object, 30, 4000)
				return s
			},
			want: inPhase,
		},
		"another scope": {
			reason: "the name alone does not make a span a scheduler's",
			spans: func(f *foreign, _ story, _ *span.Span) {
				attempt(f, by{1, 1}, "web-1", 21, 38).Origin.Scope.Name = "another"
			},
		},
		"another Pod": {
			spans: func(f *foreign, _ story, _ *span.Span) { attempt(f, by{1, 1}, "web-2", 21, 38) },
		},
	} {
		t.Run(name, func(t *testing.T) {
			s, _, pod := web()
			if test.ours != nil {
				s = test.ours(s, pod)
			}
			var f foreign
			test.spans(&f, s, pod)
			joined := join(stitch.Options{}, &f, s.Trace)[0]
			check(t, s.Trace, joined)
			got := ""
			for _, edge := range edgesOf(joined) {
				if strings.Contains(edge, "> scheduling attempt") {
					got = edge
				}
			}
			if got != test.want {
				t.Errorf("joined by %q, want %q: %s", got, test.want, test.reason)
			}
		})
	}
}

// below moves an attempt and its cycle below a span of ours.
func below(s *span.Span, of trace.TraceID, parent trace.SpanID, f *foreign) {
	for _, other := range f.list {
		other.TraceID, other.Origin.TraceID = of, of
	}
	s.Parent, s.Origin.Parent = parent, parent
}

// TestAttemptBeforeItsPhase has a scheduler that sees the Pod before the API server has answered its
// creator. That proves no wrong clock.
func TestAttemptBeforeItsPhase(t *testing.T) {
	s, _, pod := web()
	for _, own := range s.Spans {
		if own.Name == span.NameSchedule {
			own.Start = span.Time{Time: at(25), Source: span.TimeAudit}
		}
		if own == pod {
			own.Start.Source = span.TimeAudit
		}
	}
	var f foreign
	attempt(&f, by{1, 1}, "web-1", 21, 38)
	got := find(t, join(stitch.Options{}, &f, s.Trace)[0], "scheduling attempt", true)
	if !got.Start.Time.Equal(at(21)) {
		t.Errorf("it was moved to %v", got.Start)
	}
}
