// SPDX-License-Identifier: Apache-2.0

package serve

import (
	"fmt"
	"iter"
	"slices"
	"sync"
	"testing"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kube-lifeline/lifeline/app/internal/object"
	"github.com/kube-lifeline/lifeline/app/internal/span"
)

// openOnes yields reconciliations of n objects in a namespace, each in its own trace.
func openOnes(namespace string, n int) iter.Seq2[object.Ref, trace.SpanContext] {
	return func(yield func(object.Ref, trace.SpanContext) bool) {
		for i := range n {
			id := trace.TraceID{0: 1, 12: byte(i >> 16), 13: byte(i >> 8), 14: byte(i), 15: 1}
			sc := trace.NewSpanContext(trace.SpanContextConfig{TraceID: id, SpanID: trace.SpanID{7: 1}})
			if !yield(object.Ref{Namespace: namespace, UID: types.UID(fmt.Sprint(namespace, "/", i))}, sc) {
				return
			}
		}
	}
}

func TestOpened(t *testing.T) {
	now := time.Now()
	for name, tc := range map[string]struct {
		reason    string
		namespace string // of the owners that are open
		from, uid string
		after     time.Duration
		open      bool
	}{
		"open":    {"", "demo", "demo", "demo/1", 0, true},
		"another": {"it is not open", "demo", "demo", "demo/2", 0, false},
		"another's": {
			"a forged owner UID gives no context",
			"demo",
			"mallory",
			"demo/1",
			0,
			false,
		},
		"no namespace": {"its owner is in a namespace", "demo", "", "demo/1", 0, false},
		"an owner in none": {
			"a dependant gets no context of a cluster-scoped owner: any tenant may name it",
			"",
			"demo",
			"/1",
			0,
			false,
		},
		"none owns none": {"", "", "", "/1", 0, true},
		"later":          {"a look may take long", "demo", "demo", "demo/1", openFor, true},
		"much later":     {"the loop stands still", "demo", "demo", "demo/1", openFor + 1, false},
	} {
		t.Run(name, func(t *testing.T) {
			var o opened
			if _, open := o.of(tc.from, types.UID(tc.uid), now); open {
				t.Error("it is open before anything was looked at")
			}
			o.publish(openOnes(tc.namespace, 2), nil, sampling{}, now)
			if _, open := o.of(tc.from, types.UID(tc.uid), now.Add(tc.after)); open != tc.open {
				t.Errorf("%s: open is %v", tc.reason, open)
			}
			o.publish(openOnes(tc.namespace, 0), nil, sampling{}, now.Add(time.Second))
			if _, open := o.of(tc.from, types.UID(tc.uid), now.Add(time.Second)); open {
				t.Error("it is open after it has ended")
			}
		})
	}
}

// TestOpenedSampling: the context's sampling flag equals the decision about its trace.
func TestOpenedSampling(t *testing.T) {
	began := func(i byte, sampled bool) *span.Trace {
		id := trace.TraceID{0: 1, 14: i, 15: 1}
		root := &span.Span{
			TraceID:      id,
			ID:           trace.SpanID{1},
			RemoteParent: true,
			Attributes:   []attribute.KeyValue{span.KeyParentSampled.Bool(sampled)},
		}
		return &span.Trace{ID: id, Spans: []*span.Span{root}}
	}
	for name, tc := range map[string]struct {
		rate int
		want [3]bool // of a trace that outside has sampled, has not, and of one of ours
	}{
		"all":  {1_000_000, [3]bool{true, false, true}},
		"none": {0, [3]bool{true, false, false}},
	} {
		t.Run(name, func(t *testing.T) {
			var o opened
			now := time.Now()
			o.publish(
				openOnes("demo", 3),
				[]*span.Trace{began(0, true), began(1, false)},
				sampling{ratePerMillion: tc.rate},
				now,
			)
			for i, want := range tc.want {
				sc, open := o.of("demo", types.UID(fmt.Sprint("demo/", i)), now)
				if !open || sc.IsSampled() != want || !sc.IsRemote() ||
					sc.TraceID() != (trace.TraceID{0: 1, 14: byte(i), 15: 1}) ||
					sc.SpanID() != (trace.SpanID{7: 1}) {
					t.Errorf("%d: %v, %v, want sampled %v", i, sc, open, want)
				}
			}
		})
	}
}

// TestOpenedAtOnce reads the table while it changes.
func TestOpenedAtOnce(t *testing.T) {
	var o opened
	now := time.Now()
	o.publish(openOnes("demo", 100), nil, sampling{}, now)
	var asking sync.WaitGroup
	for range 4 {
		asking.Go(func() {
			for range 1000 {
				if _, open := o.of("demo", "demo/99", now); !open {
					t.Error("it is not open for a moment")
				}
			}
		})
	}
	for range 100 {
		o.publish(openOnes("demo", 100), nil, sampling{}, now)
	}
	asking.Wait()
}

// TestOpenedAtLooks: while a change is active, each look publishes the span of each open
// reconciliation. Those of Pods' owners are among them. At the end none is open.
func TestOpenedAtLooks(t *testing.T) {
	seen := read(t, "../lifecycle/testdata/create.real.jsonl.gz")
	w := newWorld(t, t.TempDir())
	var o opened
	var now time.Time
	known := map[string]int{}
	r := newRecorder(w.Journal, w.options(recorderOptions{
		Opened: func(open iter.Seq2[object.Ref, trace.SpanContext], traces []*span.Trace) {
			o.publish(open, traces, sampling{ratePerMillion: 1_000_000}, now)
			for ref := range open {
				sc, is := o.of(ref.Namespace, ref.UID, now)
				if !is || !sc.IsSampled() || !contains(traces, sc, ref) {
					t.Errorf("%s: %v, %v has no span", ref, sc, is)
				}
				known[ref.Kind.Kind]++
			}
		},
	}))
	look := func(at time.Time) {
		now = at
		if err := r.look(t.Context(), at); err != nil {
			t.Fatal(err)
		}
	}
	for _, s := range seen {
		if s.Seen.Sub(now) > 200*time.Millisecond {
			look(s.Seen)
		}
		r.observe(s)
	}
	look(now.Add(time.Hour))
	if known["Deployment"] == 0 || known["ReplicaSet"] == 0 {
		t.Errorf("the open kinds: %v", known)
	}
	if left := o.table.Load().by; len(left) > 0 {
		t.Errorf("open in the end: %v", left)
	}
}

// contains reports whether the traces have a span of the object with that context.
func contains(traces []*span.Trace, sc trace.SpanContext, ref object.Ref) bool {
	return slices.ContainsFunc(traces, func(t *span.Trace) bool {
		return t.ID == sc.TraceID() &&
			slices.ContainsFunc(
				t.Spans,
				func(s *span.Span) bool { return s.ID == sc.SpanID() && s.Object.UID == ref.UID },
			)
	})
}

// BenchmarkOpened is what a look does for admission while 100,000 reconciliations
// are open.
func BenchmarkOpened(b *testing.B) {
	const n = 100_000
	refs, contexts := make([]object.Ref, 0, n), make([]trace.SpanContext, 0, n)
	for ref, sc := range openOnes("demo", n) {
		refs, contexts = append(refs, ref), append(contexts, sc)
	}
	open := func(yield func(object.Ref, trace.SpanContext) bool) {
		for i := range refs {
			if !yield(refs[i], contexts[i]) {
				return
			}
		}
	}
	var o opened
	b.ReportAllocs()
	for b.Loop() {
		o.publish(open, nil, sampling{ratePerMillion: 1_000_000}, time.Now())
	}
}
