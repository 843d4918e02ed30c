// SPDX-License-Identifier: Apache-2.0

package insight

import (
	"testing"

	"go.opentelemetry.io/otel/trace"

	"github.com/kube-lifeline/lifeline/app/internal/span"
	"github.com/kube-lifeline/lifeline/app/internal/span/spantest"
)

func TestRoutine(t *testing.T) {
	write := func(name string, change func(*span.Span)) *span.Span {
		s := &span.Span{ID: trace.SpanID{2}, Parent: trace.SpanID{1}, Name: name, End: span.Time{Time: spantest.Epoch}}
		change(s)
		return s
	}
	refused := func(code int) func(*span.Span) {
		return func(s *span.Span) {
			s.Status, s.Outcome = span.StatusError, span.Refused
			s.Attributes = append(s.Attributes, span.KeyStatusCode.Int(code))
		}
	}
	part := func(name string) func(*span.Span) {
		return func(s *span.Span) { s.Attributes = append(s.Attributes, span.KeyPart.String(name)) }
	}
	for name, tc := range map[string]struct {
		reason  string
		outcome span.Outcome
		of      *span.Span
		want    bool
	}{
		"status": {"a status is no change", span.Converged, write("patch Pod", func(s *span.Span) {
			s.Attributes = append(s.Attributes, span.KeySubresource.String("status"))
		}), true},
		"bookkeeping":  {"nor a revision", span.Converged, write("update Deployment", part("bookkeeping")), true},
		"desired":      {"a desired state is", span.Converged, write("update Deployment", part("desired")), false},
		"conflict":     {"a lost race is sent again", span.Converged, write("update Pod", refused(409)), true},
		"last word":    {"a refused change is the story", span.Refused, write("apply Pod", refused(409)), false},
		"quota":        {"another refusal explains", span.Unfinished, write("create Pod", refused(403)), false},
		"no write":     {"a phase is none", span.Converged, write("schedule", part("observed")), false},
		"creation":     {"a creation is shown", span.Converged, write("create Pod", part("desired")), false},
		"unknown part": {"also without its part", span.Converged, write("create Pod", func(*span.Span) {}), false},
	} {
		t.Run(name, func(t *testing.T) {
			root := &span.Span{ID: trace.SpanID{1}, Name: "reconcile Deployment"}
			tr := &span.Trace{Outcome: tc.outcome, Spans: []*span.Span{root, tc.of}}
			if got := Routine(tr, tc.of); got != tc.want {
				t.Errorf("%s: got %v", tc.reason, got)
			}
		})
	}
}
