// SPDX-License-Identifier: Apache-2.0

package queue

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.opentelemetry.io/otel/trace"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/controller/priorityqueue"
)

const s = time.Second

func TestWait(t *testing.T) {
	cases := map[string]struct {
		reason   string
		do       func(r *trial)
		want     []turn            // for both kinds
		wantOf   map[string][]turn // by kind, if they differ
		wantAsks int               // calls of the rate limiter, which has a delay of 7 s
	}{
		"Add": {
			reason: "an item is due when it is added",
			do: func(r *trial) {
				r.pass(1 * s)
				r.q.Add("a")
				r.pass(2 * s)
				r.work()
			},
			want: []turn{{1 * s, 3 * s, 1}},
		},
		"AddTwice": {
			reason: "merged adds are due with the first",
			do: func(r *trial) {
				r.q.Add("a")
				r.pass(1 * s)
				r.q.Add("a")
				r.pass(1 * s)
				r.work()
			},
			want: []turn{{0, 2 * s, 2}},
		},
		"AddAfter": {
			reason: "a requested delay is not a wait",
			do: func(r *trial) {
				r.q.AddAfter("a", 5*s)
				r.work()
			},
			want: []turn{{5 * s, 5 * s, 1}},
		},
		"AddAfterNothing": {
			reason: "a delay of 0 or below is a plain add",
			do: func(r *trial) {
				r.q.AddAfter("a", -1*s)
				r.q.AddAfter("a", 0)
				r.work()
			},
			want: []turn{{0, 0, 2}},
		},
		"AddAfterTwice": {
			reason: "the earlier of two due times counts, in any order",
			do: func(r *trial) {
				r.q.AddAfter("a", 5*s)
				r.q.AddAfter("a", 3*s)
				r.q.AddAfter("a", 4*s)
				r.work()
			},
			want: []turn{{3 * s, 3 * s, 3}},
		},
		"AddRateLimited": {
			reason: "the rate limiter is called once, and its delay is not a wait",
			do: func(r *trial) {
				r.q.AddRateLimited("a")
				r.pass(8 * s)
				r.work()
			},
			want: []turn{{7 * s, 8 * s, 1}}, wantAsks: 1,
		},
		"AddInProgress": {
			reason: "due when added, although Get cannot return it before Done",
			do: func(r *trial) {
				r.q.Add("a")
				item := r.get()
				r.pass(1 * s)
				r.q.Add("a")
				r.pass(1 * s)
				r.q.Add("a")
				r.pass(1 * s)
				r.q.Done(item)
				r.work()
			},
			want: []turn{{0, 0, 1}, {1 * s, 3 * s, 2}},
		},
		"RequeueInProgress": {
			reason: "a failed reconcile adds before Done, with a delay",
			do: func(r *trial) {
				r.q.Add("a")
				item := r.get()
				r.pass(1 * s)
				r.q.AddRateLimited("a")
				r.q.Done(item)
				r.work()
			},
			want: []turn{{0, 0, 1}, {8 * s, 8 * s, 1}}, wantAsks: 1,
		},
		"ReplacedDelay": {
			reason: "an add during a delay; client-go's queue returns the item twice",
			do: func(r *trial) {
				r.q.AddAfter("a", 5*s)
				r.pass(1 * s)
				r.q.Add("a")
				r.pass(1 * s)
				r.work()
				r.q.Add("end")
				r.pass(8 * s)
				for r.q.Len() > 0 {
					r.work()
				}
			},
			wantOf: map[string][]turn{
				"plain":    {{1 * s, 2 * s, 1}, {2 * s, 10 * s, 1}, {5 * s, 10 * s, 1}},
				"foreign":  {{1 * s, 2 * s, 2}, {2 * s, 10 * s, 1}, {10 * s, 10 * s, 0}},
				"priority": {{1 * s, 2 * s, 2}, {2 * s, 10 * s, 1}},
			},
		},
		"DelayBehindAnAdd": {
			reason: "a delayed add of a queued item; client-go's queue returns it again",
			do: func(r *trial) {
				r.q.Add("a")
				r.q.AddAfter("a", 5*s)
				r.pass(1 * s)
				r.work()
				r.pass(5 * s)
				for r.q.Len() > 0 {
					r.work()
				}
			},
			wantOf: map[string][]turn{
				"plain":    {{0, 1 * s, 1}, {5 * s, 6 * s, 1}},
				"foreign":  {{0, 1 * s, 2}, {6 * s, 6 * s, 0}},
				"priority": {{0, 1 * s, 2}},
			},
		},
		"DelayOver": {
			reason: "a second delayed add, after the first delay and before Get",
			do: func(r *trial) {
				r.q.AddAfter("a", 1*s)
				r.pass(2 * s)
				r.q.AddAfter("a", 3*s)
				r.pass(1 * s)
				r.work()
				r.pass(3 * s)
				for r.q.Len() > 0 {
					r.work()
				}
			},
			wantOf: map[string][]turn{
				"plain":    {{1 * s, 3 * s, 1}, {5 * s, 6 * s, 1}},
				"foreign":  {{1 * s, 3 * s, 2}, {6 * s, 6 * s, 0}},
				"priority": {{1 * s, 3 * s, 2}},
			},
		},
		"NothingBeforeDelay": {
			reason: "a delay of 0 looks like the end of a longer one; the turn counts both",
			do: func(r *trial) {
				r.q.AddAfter("a", 5*s)
				r.q.AddAfter("a", 0)
				r.pass(1 * s)
				r.work()
				r.pass(5 * s)
				for r.q.Len() > 0 {
					r.work()
				}
			},
			wantOf: map[string][]turn{
				"plain":    {{0, 1 * s, 2}, {6 * s, 6 * s, 0}},
				"foreign":  {{0, 1 * s, 2}, {6 * s, 6 * s, 0}},
				"priority": {{0, 1 * s, 2}},
			},
		},
		"DelayMeetsAdd": {
			reason: "an add after the end of a delay is part of the same turn",
			do: func(r *trial) {
				r.q.AddAfter("a", 1*s)
				r.pass(2 * s)
				r.q.Add("a")
				r.pass(1 * s)
				r.work()
			},
			want: []turn{{1 * s, 3 * s, 2}},
		},
	}
	for name, tc := range cases {
		for kind, newQueue := range kinds {
			t.Run(name+"/"+kind, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					limiter := &fixed{delay: 7 * s}
					r := &trial{t: t, q: newQueue(limiter), begun: time.Now()}
					tc.do(r)
					want := tc.want
					if want == nil {
						want = tc.wantOf[kind]
					}
					if diff := cmp.Diff(want, r.turns); diff != "" {
						t.Errorf("%s: -want +got:\n%s", tc.reason, diff)
					}
					if limiter.asked != tc.wantAsks {
						t.Errorf("the rate limiter was called %d times, want %d", limiter.asked, tc.wantAsks)
					}
					if n := bookOf(r.q).size(); n != 0 {
						t.Errorf("%d entries remain", n)
					}
					r.q.ShutDown()
				})
			})
		}
	}
}

// TestUntold checks that an item added directly to the inner queue also has a turn.
func TestUntold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		inner := workqueue.NewTypedRateLimitingQueue[string](&fixed{})
		r := &trial{t: t, q: Wrap(inner, &fixed{}), begun: time.Now()}
		inner.Add("a")
		r.pass(1 * s)
		r.work()
		if diff := cmp.Diff([]turn{{1 * s, 1 * s, 0}}, r.turns); diff != "" {
			t.Errorf("-want +got:\n%s", diff)
		}
		r.q.ShutDown()
	})
}

// TestAddWithOpts checks that the wrapper delays like the priority queue.
func TestAddWithOpts(t *testing.T) {
	high := 100
	cases := map[string]struct {
		reason string
		opts   priorityqueue.AddOpts
		want   turn
	}{
		"Now":         {"like Add", priorityqueue.AddOpts{}, turn{0, 0, 1}},
		"After":       {"like AddAfter", priorityqueue.AddOpts{After: 5 * s}, turn{5 * s, 5 * s, 1}},
		"RateLimited": {"as AddRateLimited", priorityqueue.AddOpts{RateLimited: true}, turn{7 * s, 7 * s, 1}},
		"LimitedAfter": {
			"the shorter delay: the requested one",
			priorityqueue.AddOpts{After: 5 * s, RateLimited: true},
			turn{5 * s, 5 * s, 1},
		},
		"LimitedLongAfter": {
			"the shorter delay: the limiter's",
			priorityqueue.AddOpts{After: 9 * s, RateLimited: true},
			turn{7 * s, 7 * s, 1},
		},
		"Priority": {
			"the priority is passed on",
			priorityqueue.AddOpts{RateLimited: true, Priority: &high},
			turn{7 * s, 7 * s, 1},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				limiter := &fixed{delay: 7 * s}
				q := kinds["priority"](limiter)
				bare := barePriority(&fixed{delay: 7 * s})
				begun := time.Now()

				q.(priorityqueue.PriorityQueue[string]).AddWithOpts(tc.opts, "a", "b")
				bare.AddWithOpts(tc.opts, "a", "b")
				for range 2 {
					item, priority, _ := q.(priorityqueue.PriorityQueue[string]).GetWithPriority()
					at := time.Since(begun)
					wait, _ := q.Wait(item)
					if diff := cmp.Diff(
						tc.want,
						turn{wait.Due.Sub(begun), wait.Dequeued.Sub(begun), wait.Adds},
					); diff != "" {
						t.Errorf("%s: -want +got:\n%s", tc.reason, diff)
					}
					q.Done(item)
					bareItem, barePriority, _ := bare.GetWithPriority()
					if item != bareItem || priority != barePriority || at != time.Since(begun) {
						t.Errorf("got %q with priority %d after %s; the untraced queue gives %q with %d after %s",
							item, priority, at, bareItem, barePriority, time.Since(begun))
					}
					bare.Done(bareItem)
				}
				q.ShutDown()
				bare.ShutDown()
			})
		})
	}
}

// TestDynamicType checks the dynamic type, because controller-runtime tests it at run time.
func TestDynamicType(t *testing.T) {
	for kind, newQueue := range kinds {
		q := newQueue(&fixed{})
		for what, got := range map[string]any{"Wrap": q, "From": q.From()} {
			if _, is := got.(priorityqueue.PriorityQueue[string]); is != (kind == "priority") {
				t.Errorf("%s of a %s queue: is a PriorityQueue = %v", what, kind, is)
			}
		}
		q.ShutDown()
	}
}

func TestForget(t *testing.T) {
	for kind, newQueue := range kinds {
		limiter := &fixed{}
		q := newQueue(limiter)
		q.AddRateLimited("a")
		if got := q.NumRequeues("a"); got != 1 {
			t.Errorf("%s: requeues: want 1, got %d", kind, got)
		}
		item, _ := q.Get()
		q.Forget(item)
		if _, ok := q.Wait(item); !ok || limiter.forgotten != 1 {
			t.Errorf(
				"%s: Forget cleared the limiter %d times, want 1; turn recorded = %v, want true",
				kind,
				limiter.forgotten,
				ok,
			)
		}
		q.Done(item)
		q.ShutDown()
	}
}

func TestTriggers(t *testing.T) {
	var many []trace.SpanContext
	for n := range byte(10) {
		many = append(many, spanContext(n+1))
	}
	cases := map[string]struct {
		reason  string
		add     func(q Queue[string])
		want    []trace.SpanContext
		dropped int
	}{
		"None": {reason: "an add without a trigger", add: func(q Queue[string]) { q.Add("a") }},
		"Invalid": {
			reason: "an object without a context is not a trigger",
			add:    func(q Queue[string]) { q.From(trace.SpanContext{}).Add("a") },
		},
		"One": {
			reason: "the trigger is recorded",
			add:    func(q Queue[string]) { q.From(many[0]).Add("a") },
			want:   many[:1],
		},
		"Delayed": {
			reason: "also with a delay",
			add:    func(q Queue[string]) { q.From(many[0]).AddAfter("a", s) },
			want:   many[:1],
		},
		"Limited": {
			reason: "also with the limiter's",
			add:    func(q Queue[string]) { q.From(many[0]).AddRateLimited("a") },
			want:   many[:1],
		},
		"Ambiguous": {
			reason: "adds of other items do not count",
			add:    func(q Queue[string]) { q.From(many[0]).Add("b"); q.From(many[1]).Add("a") },
			want:   many[1:2],
		},
		"Distinct": {
			reason: "a repeated trigger counts once",
			add: func(q Queue[string]) {
				q.From(many[1], many[0]).Add("a")
				q.From(many[1]).Add("a")
				q.From(many[2]).Add("a")
			},
			want: []trace.SpanContext{many[1], many[0], many[2]},
		},
		"Bounded": {
			reason: "the first are stored, the rest counted",
			add: func(q Queue[string]) {
				for _, sc := range many {
					q.From(sc).Add("a")
				}
			},
			want: many[:MaxTriggers], dropped: 2,
		},
		"BoundedAtOnce": {
			reason: "also in one add",
			add:    func(q Queue[string]) { q.From(many...).Add("a") },
			want:   many[:MaxTriggers], dropped: 2,
		},
		"DelayOver": {
			reason: "triggers of a finished delay and of an add are merged",
			add: func(q Queue[string]) {
				q.From(many[0]).AddAfter("a", s)
				time.Sleep(2 * s)
				synctest.Wait()
				q.From(many[1]).Add("a")
			},
			want: many[:2],
		},
	}
	for name, tc := range cases {
		for kind, newQueue := range kinds {
			t.Run(name+"/"+kind, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					limiter := &fixed{delay: s}
					q := newQueue(limiter)
					tc.add(q)
					var got Wait
					for item := ""; item != "a"; q.Done(item) {
						synctest.Wait()
						item, _ = q.Get()
						got, _ = q.Wait(item)
					}
					if diff := cmp.Diff(tc.want, got.Triggers); diff != "" {
						t.Errorf("%s: -want +got:\n%s", tc.reason, diff)
					}
					if got.Dropped != tc.dropped {
						t.Errorf("dropped: want %d, got %d", tc.dropped, got.Dropped)
					}
					q.ShutDown()
				})
			})
		}
	}
}

func TestPriorityFrom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := kinds["priority"](&fixed{})
		high := 7
		q.From(spanContext(1)).(priorityqueue.PriorityQueue[string]).AddWithOpts(
			priorityqueue.AddOpts{Priority: &high},
			"a",
		)
		item, priority, _ := q.From().(priorityqueue.PriorityQueue[string]).GetWithPriority()
		wait, ok := q.Wait(item)
		if !ok || priority != high {
			t.Errorf("priority: want %d, got %d (wait recorded = %v)", high, priority, ok)
		}
		if diff := cmp.Diff([]trace.SpanContext{spanContext(1)}, wait.Triggers); diff != "" {
			t.Errorf("-want +got:\n%s", diff)
		}
		q.Done(item)
		q.ShutDown()
	})
}
