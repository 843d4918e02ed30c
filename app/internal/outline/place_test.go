// SPDX-License-Identifier: Apache-2.0

package outline

import (
	"strings"
	"testing"

	"go.opentelemetry.io/otel/trace"

	"github.com/kube-lifeline/lifeline/app/internal/span"
	"github.com/kube-lifeline/lifeline/app/internal/span/spantest"
)

// TestWay: the keys of the steps to each span open lists that have it.
func TestWay(t *testing.T) {
	for _, tr := range []*span.Trace{spantest.Many(1000), spantest.Joined(), spantest.Rollout()} {
		tree := New(tr, spantest.At(100_000).Time)
		opened := map[Key]map[trace.SpanID]bool{}
		for _, s := range tr.Spans {
			way := tree.Way(s.ID)
			if len(way) == 0 || way[len(way)-1].Span.ID != s.ID {
				t.Fatalf("got the way %v to %s", way, s.ID)
			}
			for _, step := range way {
				if opened[step.Key] == nil {
					n, err := tree.Open(step.Key)
					if err != nil {
						t.Fatal(err)
					}
					opened[step.Key] = map[trace.SpanID]bool{}
					for _, c := range n.Children {
						if c.Span != nil {
							opened[step.Key][c.Span.ID] = true
						}
					}
				}
				if !opened[step.Key][step.Span.ID] {
					t.Fatalf("%s of %s does not have %s", step.Key, s.ID, step.Span.ID)
				}
			}
		}
	}
	many := spantest.Many(20)
	tree := New(many, spantest.At(100_000).Time)
	if key := tree.Group(many.Spans[len(many.Spans)-1].ID); key != tree.Way(many.Spans[len(many.Spans)-1].ID)[3].Key {
		t.Errorf("got group %s", key)
	}
	if key := tree.Group(many.Spans[0].ID); key != (Key{}) {
		t.Errorf("got group %s of a root", key)
	}
	if way := New(spantest.Apply(), spantest.Epoch).Way(trace.SpanID{9}); way != nil {
		t.Errorf("got a way to no span: %v", way)
	}
}

// TestFind: a search also finds hidden spans, in the order of the tree, and counts all.
func TestFind(t *testing.T) {
	tr := spantest.Many(1000)
	tree := New(tr, spantest.At(100_000).Time)
	list, count := tree.Find(func(s *span.Span) bool { return strings.HasSuffix(s.Object.Name, "-0500") }, 3)
	if count != 6 || len(list) != 3 || list[0].Name != "reconcile Pod" || list[1].Name != "schedule" {
		t.Errorf("got %d in %v", count, list)
	}
	if _, count := tree.Find(func(*span.Span) bool { return true }, 0); count != len(tr.Spans) {
		t.Errorf("got %d spans, want %d", count, len(tr.Spans))
	}
	joined := spantest.Joined()
	list, _ = New(joined, spantest.At(100_000).Time).Find(func(s *span.Span) bool { return s.Service == "etcd" }, 9)
	if len(list) != 1 || list[0].Origin == nil {
		t.Errorf("got %v", list)
	}
}
