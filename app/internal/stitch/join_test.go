// SPDX-License-Identifier: Apache-2.0

package stitch_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.opentelemetry.io/otel/attribute"

	"github.com/kube-lifeline/lifeline/app/internal/span"
	"github.com/kube-lifeline/lifeline/app/internal/stitch"
)

func TestJoinChangesNothingGiven(t *testing.T) {
	ours, _, _ := web()
	r := captured{spans: all()}
	before, theirs := document(ours.Trace), document(&span.Trace{Spans: r.spans})
	s := stitch.New(stitch.Options{})
	s.Accept(r.spans, now)
	first := s.Join(ours.Trace, false, now)
	if again := s.Join(ours.Trace, false, now); again != first {
		t.Error("nothing has changed, and yet it was made anew")
	}
	if diff := cmp.Diff(before, document(ours.Trace)); diff != "" {
		t.Errorf("ours: -want +got:\n%s", diff)
	}
	if diff := cmp.Diff(theirs, document(&span.Trace{Spans: r.spans})); diff != "" {
		t.Errorf("theirs: -want +got:\n%s", diff)
	}
	other := newStory("other")
	other.add(nil, "reconcile Deployment", ref("apps", "Deployment", "other"), 0, 10)
	if s.Join(other.Trace, false, now) != other.Trace {
		t.Error("a trace to which nothing belongs is not returned itself")
	}
}

// TestServerLink: a write's link to the API server's span is removed if that span is in the trace.
// Otherwise it stays.
func TestServerLink(t *testing.T) {
	theirs := by{1, 1}
	for name, c := range map[string]struct {
		mode stitch.Mode
		to   by
		want []string
	}{
		"joined":    {stitch.Rewrite, theirs, nil},
		"elsewhere": {stitch.Rewrite, by{2, 1}, []string{"server"}},
		"linked":    {stitch.Link, theirs, []string{"server", "joined"}},
	} {
		t.Run(name, func(t *testing.T) {
			ours, _, _ := web()
			write := find(t, ours.Trace, "create Deployment", false)
			write.Links = []span.Link{
				{TraceID: c.to.traceID(), SpanID: c.to.spanID(), Reason: span.LinkServer},
			}
			var f foreign
			f.request(theirs, "POST deployments", "audit-deployment", 1, 4)
			var got []string
			for _, l := range find(t, join(stitch.Options{Mode: c.mode}, &f, ours.Trace)[0], "create Deployment",
				false).Links {
				got = append(got, l.Reason)
			}
			if !slices.Equal(got, c.want) {
				t.Errorf("its links are %q, want %q", got, c.want)
			}
			if len(write.Links) != 1 {
				t.Errorf("what was given has changed: %v", write.Links)
			}
		})
	}
}

// TestOneIDTwoSpans: of two spans with the same IDs, the same one stays in any order.
func TestOneIDTwoSpans(t *testing.T) {
	var f foreign
	one := f.add("operator", "i", "work", by{9, 1}, 0, 1, 2, attribute.String("a", "x"), attribute.Int("b", 1))
	one.Links = []span.Link{link(by{1, 0}.traceID(), by{1, 1}.spanID())}
	for name, change := range map[string]func(*span.Span){
		"value": func(s *span.Span) {
			s.Attributes = []attribute.KeyValue{attribute.String("a", "y"), s.Attributes[1]}
		},
		"key":       func(s *span.Span) { s.Attributes = []attribute.KeyValue{s.Attributes[0], attribute.Int("c", 1)} },
		"parent":    func(s *span.Span) { s.Parent = by{9, 2}.spanID() },
		"message":   func(s *span.Span) { s.Message = "why" },
		"status":    func(s *span.Span) { s.Status = span.StatusError },
		"event":     func(s *span.Span) { s.Events = []span.Event{{Name: "e"}} },
		"where to":  func(s *span.Span) { s.Links = []span.Link{link(by{1, 0}.traceID(), by{1, 2}.spanID())} },
		"more":      func(s *span.Span) { s.Attributes = append(slices.Clip(s.Attributes), attribute.Int("c", 1)) },
		"no change": func(*span.Span) {},
	} {
		t.Run(name, func(t *testing.T) {
			other := *one
			change(&other)
			var got [2]string
			for i, order := range [][]*span.Span{{one, &other}, {&other, one}} {
				s := stitch.New(stitch.Options{})
				s.Accept(order, now)
				passed := s.Expire(now.Add(time.Hour))
				if len(passed) != 1 || len(passed[0].Spans) != 1 {
					t.Fatalf("%d traces passed", len(passed))
				}
				stayed := passed[0].Spans[0]
				got[i] = document(passed[0]) + fmt.Sprint(stayed.Status, stayed.Message, stayed.Events)
			}
			if diff := cmp.Diff(got[0], got[1]); diff != "" {
				t.Errorf("-one order +the other:\n%s", diff)
			}
		})
	}
}
