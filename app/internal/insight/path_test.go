// SPDX-License-Identifier: Apache-2.0

package insight_test

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kube-lifeline/lifeline/app/internal/insight"
	"github.com/kube-lifeline/lifeline/app/internal/object"
	"github.com/kube-lifeline/lifeline/app/internal/span"
	"github.com/kube-lifeline/lifeline/app/internal/span/spantest"
)

// add appends a span named name. Its times are exact unless a source is given.
func add(b *spantest.Builder, parent *span.Span, name string, start, end int, source ...span.TimeSource) *span.Span {
	s := b.Add(parent, name, "test", object.Ref{}, start, end)
	s.Start.Source, s.End.Source = span.TimeRequest, span.TimeRequest
	if len(source) > 0 {
		s.Start.Source, s.End.Source = source[0], source[0]
	}
	return s
}

func TestCriticalPath(t *testing.T) {
	cases := map[string]struct {
		reason string
		build  func(b *spantest.Builder)
		want   []string
	}{
		"empty": {
			reason: "a trace without spans has no path",
			build:  func(*spantest.Builder) {},
		},
		"root alone": {
			reason: "all its time is its own",
			build:  func(b *spantest.Builder) { add(b, nil, "root", 0, 10) },
			want:   []string{"root 0-10"},
		},
		"no length": {
			reason: "nothing was waited for",
			build: func(b *spantest.Builder) {
				root := add(b, nil, "root", 5, 5)
				add(b, root, "a", 0, 9)
			},
		},
		"condition": {
			reason: "what an object caused explains the wait for its condition; the condition only what nothing else " +
				"does",
			build: func(b *spantest.Builder) {
				root := add(b, nil, "run", 0, 100)
				h := add(b, root, "reconcile Head", 0, 100)
				add(b, h, "condition", 10, 95)
				add(b, h, "reconcile Child", 20, 60)
			},
			want: []string{
				"reconcile Head 0-10", "condition 10-20", "reconcile Child 20-60", "condition 60-95",
				"reconcile Head 95-100",
			},
		},
		"attachment": {
			reason: "the Pod waits for its volume, not for an object with a random name",
			build: func(b *spantest.Builder) {
				root := add(b, nil, "reconcile Pod", 0, 100)
				add(b, root, "reconcile VolumeAttachment", 10, 90)
				add(b, root, "attach", 10, 90)
				add(b, root, "sandbox", 90, 100)
			},
			want: []string{"reconcile Pod 0-10", "attach 10-90", "sandbox 90-100"},
		},
		"condition alone": {
			reason: "without anything that the object caused the condition is all there is to say",
			build: func(b *spantest.Builder) {
				root := add(b, nil, "reconcile Certificate", 0, 100)
				add(b, root, "condition", 10, 100)
			},
			want: []string{"reconcile Certificate 0-10", "condition 10-100"},
		},
		"rollout": {
			reason: "the old ReplicaSet waits for its turn: the new Pods are what it waits for; the last old Pod " +
				"outlives the Deployment's reconciliation",
			build: func(b *spantest.Builder) {
				root := add(b, nil, "run", 0, 100)
				d := add(b, root, "reconcile Deployment", 0, 80)
				to := add(b, d, "reconcile ReplicaSet", 0, 70)
				add(b, to, "reconcile Pod A", 0, 20)
				add(b, to, "reconcile Pod B", 30, 50)
				add(b, to, "reconcile Pod C", 60, 70)
				from := add(b, d, "reconcile old ReplicaSet", 20, 70)
				add(b, from, "reconcile Pod 1", 20, 35)
				add(b, from, "reconcile Pod 2", 50, 65)
				add(b, from, "reconcile Pod 3", 70, 100)
			},
			want: []string{
				"reconcile Pod A 0-20", "reconcile old ReplicaSet 20-30", "reconcile Pod B 30-50",
				"reconcile old ReplicaSet 50-60", "reconcile Pod C 60-70", "reconcile Pod 3 70-100",
			},
		},
		"sequence with gaps": {
			reason: "gaps are the parent's own",
			build: func(b *spantest.Builder) {
				root := add(b, nil, "root", 0, 100)
				add(b, root, "a", 10, 30)
				add(b, root, "b", 40, 90)
			},
			want: []string{"root 0-10", "a 10-30", "root 30-40", "b 40-90", "root 90-100"},
		},
		"deepest": {
			reason: "a child explains its parent's time",
			build: func(b *spantest.Builder) {
				root := add(b, nil, "root", 0, 100)
				a := add(b, root, "a", 0, 100)
				add(b, a, "a1", 20, 100)
			},
			want: []string{"a 0-20", "a1 20-100"},
		},
		"parallel": {
			reason: "only the child that ended last was waited for",
			build: func(b *spantest.Builder) {
				root := add(b, nil, "root", 0, 100)
				add(b, root, "short", 10, 50)
				add(b, root, "long", 10, 100)
			},
			want: []string{"root 0-10", "long 10-100"},
		},
		"overlap": {
			reason: "what still ran when the last began was not waited for by it",
			build: func(b *spantest.Builder) {
				root := add(b, nil, "root", 0, 100)
				add(b, root, "early", 0, 80)
				add(b, root, "late", 40, 100)
			},
			want: []string{"root 0-40", "late 40-100"},
		},
		"overlap within resolution": {
			reason: "moments seen over a watch may overlap by its delay",
			build: func(b *spantest.Builder) {
				root := add(b, nil, "root", 0, 1000)
				add(b, root, "pull", 0, 510, span.TimeWatch)
				add(b, root, "start", 500, 1000, span.TimeWatch)
			},
			want: []string{"pull 0-500", "start 500-1000"},
		},
		"outlives its parent": {
			reason: "only the common part counts, for grandchildren too",
			build: func(b *spantest.Builder) {
				root := add(b, nil, "root", 0, 100)
				a := add(b, root, "a", 50, 300)
				add(b, a, "a1", 60, 200)
			},
			want: []string{"root 0-50", "a 50-60", "a1 60-100"},
		},
		"begins before its parent": {
			reason: "only the common part counts",
			build: func(b *spantest.Builder) {
				root := add(b, nil, "root", 50, 100)
				add(b, root, "a", 0, 80)
			},
			want: []string{"a 50-80", "root 80-100"},
		},
		"open": {
			reason: "open spans reach to now",
			build: func(b *spantest.Builder) {
				root := add(b, nil, "root", 0, -1)
				add(b, root, "a", 10, 20)
				add(b, root, "b", 30, -1)
			},
			want: []string{"root 0-10", "a 10-20", "root 20-30", "b 30-1000"},
		},
		"retries": {
			reason: "attempts follow each other with waits between",
			build: func(b *spantest.Builder) {
				root := add(b, nil, "root", 0, 60)
				add(b, root, "start", 0, 10)
				add(b, root, "backoff", 10, 30)
				add(b, root, "start", 30, 60)
			},
			want: []string{"start 0-10", "backoff 10-30", "start 30-60"},
		},
		"no length among others": {
			reason: "a span without length takes none",
			build: func(b *spantest.Builder) {
				root := add(b, nil, "root", 0, 100)
				add(b, root, "zero", 100, 100)
				add(b, root, "a", 50, 100)
			},
			want: []string{"root 0-50", "a 50-100"},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			b := spantest.New(name)
			tc.build(b)
			got := words(insight.CriticalPath(b.Trace, spantest.At(1000).Time))
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s: -want +got:\n%s", tc.reason, diff)
			}
		})
	}
}

func TestCriticalPathOfApply(t *testing.T) {
	got := insight.Shares(insight.CriticalPath(spantest.Apply(), spantest.Epoch))
	var text []string
	for _, s := range got {
		text = append(text, fmt.Sprintf("%s %d%%", s.Label, s.Percent))
	}
	want := []string{"pull image nginx:1.27 69%", "readiness 21%", "sandbox 5%", "other 5%"}
	if diff := cmp.Diff(want, text); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// TestCriticalPathProperties checks properties of every trace, even a malformed one.
func TestCriticalPathProperties(t *testing.T) {
	for seed := range uint64(2000) {
		check(t, random(rand.New(rand.NewPCG(seed, 1))))
	}
}

func FuzzCriticalPath(f *testing.F) {
	f.Add(uint64(1), uint64(2))
	f.Fuzz(func(t *testing.T, a, b uint64) { check(t, random(rand.New(rand.NewPCG(a, b)))) })
}

// random returns a trace of spans with random bounds and parents, cycles included.
func random(r *rand.Rand) *span.Trace {
	b := spantest.New("random")
	sources := []span.TimeSource{span.TimeRequest, span.TimeEvent, span.TimeWatch, span.TimeObject}
	root := add(b, nil, "s", r.IntN(100), r.IntN(200)-1)
	all := []*span.Span{root}
	for range r.IntN(20) {
		s := add(b, all[r.IntN(len(all))], "s", r.IntN(200), r.IntN(3000)-20)
		s.Start.Source, s.End.Source = sources[r.IntN(4)], sources[r.IntN(4)]
		all = append(all, s)
	}
	for range r.IntN(3) {
		all[r.IntN(len(all))].Parent = all[r.IntN(len(all))].ID
	}
	return b.Trace
}

func check(t *testing.T, trace *span.Trace) {
	t.Helper()
	now := spantest.At(500).Time
	path := insight.CriticalPath(trace, now)
	root := trace.Root()
	if root == nil {
		if path != nil {
			t.Fatalf("a trace without a root has a path: %v", words(path))
		}
		return
	}
	var sum time.Duration
	at := root.Start.Time
	for _, seg := range path {
		if !seg.Start.Equal(at) || !seg.End.After(seg.Start) {
			t.Fatalf("segments are not in order without gap or overlap: %v", words(path))
		}
		at = seg.End
		sum += seg.Duration()
	}
	if want := max(0, root.Duration(now)); sum != want {
		t.Fatalf("segments sum to %v, the root takes %v: %v", sum, want, words(path))
	}
	percent := 0
	for _, s := range insight.Shares(path) {
		percent += s.Percent
	}
	if len(path) > 0 && percent != 100 {
		t.Fatalf("percentages sum to %d: %v", percent, words(path))
	}
}

func words(path []insight.Segment) []string {
	var out []string
	ms := func(at time.Time) int64 { return at.Sub(spantest.Epoch).Milliseconds() }
	for _, seg := range path {
		out = append(out, fmt.Sprintf("%s %d-%d", seg.Span.Name, ms(seg.Start), ms(seg.End)))
	}
	return out
}

func BenchmarkCriticalPath(b *testing.B) {
	trace := spantest.Many(1000)
	b.ReportAllocs()
	for b.Loop() {
		insight.CriticalPath(trace, spantest.Epoch)
	}
}
