// SPDX-License-Identifier: Apache-2.0

package queue

import (
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
)

// TestNothingLeft puts 100,000 keys through, under -short 20,000, some of them twice and with delays. No entry and no
// large map may remain.
func TestNothingLeft(t *testing.T) {
	const workers = 4
	keys := 100_000
	if testing.Short() {
		keys = 20_000
	}
	for kind, newQueue := range kinds {
		t.Run(kind, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				limiter := &fixed{delay: time.Millisecond}
				q := newQueue(limiter)
				var failed sync.Map
				var turns atomic.Int64
				var group sync.WaitGroup
				for range keys {
					n := turns.Add(1)
					key := fmt.Sprintf("key-%d", n)
					switch n % 3 {
					case 0:
						q.Add(key)
					case 1:
						q.AddAfter(key, time.Duration(n)*time.Microsecond)
					case 2:
						q.From(spanContext(1)).Add(key)
					}
				}
				if kind == "plain" && bookOf(q).size() != keys {
					t.Errorf("the book has %d entries for %d keys in the queue", bookOf(q).size(), keys)
				}
				turns.Store(0)
				for range workers {
					group.Go(func() {
						for {
							key, shutdown := q.Get()
							if shutdown {
								return
							}
							turns.Add(1)
							if _, again := failed.LoadOrStore(key, true); !again && len(key)%2 == 0 {
								q.AddRateLimited(key)
							} else {
								q.Forget(key)
							}
							q.Done(key)
						}
					})
				}
				time.Sleep(time.Minute) // fake time
				synctest.Wait()
				if turns.Load() < int64(keys) {
					t.Errorf("%d turns for %d keys", turns.Load(), keys)
				}
				b := bookOf(q)
				b.mu.Lock()
				if len(b.entries) != 0 || b.entries != nil {
					t.Errorf("%d entries remain, or their map does", len(b.entries))
				}
				b.mu.Unlock()
				q.ShutDown()
				group.Wait()
			})
		})
	}
}

func TestShutDown(t *testing.T) {
	cases := map[string]struct {
		reason string
		kind   string
		down   func(q Queue[string])
		turns  []string
	}{
		"Plain": {
			reason: "queued items still have turns with waits; delayed items are dropped",
			kind:   "plain", down: func(q Queue[string]) { q.ShutDown() }, turns: []string{"a", "b", "busy"},
		},
		"Priority": {
			reason: "the queue returns no more items",
			kind:   "priority", down: func(q Queue[string]) { q.ShutDown() },
		},
		"Foreign": {
			reason: "the same",
			kind:   "foreign", down: func(q Queue[string]) { q.ShutDown() }, turns: []string{"a", "b", "busy"},
		},
		"PlainDrain": {
			reason: "the same",
			kind:   "plain",
			down: func(q Queue[string]) {
				go q.ShutDownWithDrain() // waits for busy
				synctest.Wait()
			},
			turns: []string{"a", "b", "busy"},
		},
		"PriorityDrain": {
			reason: "the same",
			kind:   "priority", down: func(q Queue[string]) { q.ShutDownWithDrain() },
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				limiter := &fixed{}
				r := &trial{t: t, q: kinds[tc.kind](limiter), begun: time.Now()}
				r.q.Add("busy")
				busy := r.get()
				r.q.Add("a")
				r.q.AddAfter("b", 1*s)
				r.q.AddAfter("c", 3600*s)
				r.q.Add(busy) // queued again by Done
				r.pass(2 * s)
				tc.down(r.q)
				r.q.Add("late")
				r.q.AddAfter("late", 1*s)
				if !r.q.ShuttingDown() {
					t.Error("the queue is not shutting down")
				}

				if _, ok := r.q.Wait(busy); !ok {
					t.Error("no wait is recorded for the turn in progress")
				}
				r.q.Done(busy)
				var got []string
				for {
					item, shutdown := r.q.Get()
					if shutdown {
						break
					}
					if wait, _ := r.q.Wait(item); wait.Adds != 1 || wait.Dequeued.Sub(r.begun) != 2*s {
						t.Errorf("%s: wait = %+v", item, wait)
					}
					got = append(got, item)
					r.q.Done(item)
				}
				slices.Sort(got)
				if diff := cmp.Diff(tc.turns, got); diff != "" {
					t.Errorf("%s: -want +got:\n%s", tc.reason, diff)
				}
				if n := bookOf(r.q).size(); n != 0 {
					t.Errorf("%d entries remain", n)
				}
				if tc.kind != "priority" {
					r.q.ShutDown() // a client-go goroutine outlives a drain
				}
			})
		})
	}
}

// TestConcurrent adds and works from many goroutines, in real time. Each add must count in one
// turn, and a worker must get the data of the right turn.
func TestConcurrent(t *testing.T) {
	const adders, workers, adds, keys = 4, 4, 2_000, 50
	for kind, newQueue := range kinds {
		t.Run(kind, func(t *testing.T) {
			limiter := &fixed{delay: time.Millisecond}
			q := newQueue(limiter)
			var counted atomic.Int64
			all := make(chan struct{})
			var working, adding sync.WaitGroup
			for range workers {
				working.Go(func() {
					for {
						key, shutdown := q.Get()
						if shutdown {
							return
						}
						wait, ok := q.Wait(key)
						if !ok || wait.Due.After(wait.Dequeued) || len(wait.Triggers) > MaxTriggers {
							t.Errorf("%s: %v %+v", key, ok, wait)
						}
						q.Done(key)
						if wait.Adds > 0 && counted.Add(int64(wait.Adds)) == adders*adds {
							close(all)
						}
					}
				})
			}
			for a := range adders {
				adding.Go(func() {
					for n := range adds {
						key := fmt.Sprintf("key-%d", n%keys)
						switch n % 4 {
						case 0:
							q.Add(key)
						case 1:
							q.From(spanContext(byte(a + 1))).Add(key)
						case 2:
							q.AddAfter(key, time.Duration(n%7)*time.Millisecond)
						case 3:
							q.AddRateLimited(key)
						}
					}
				})
			}
			adding.Wait()
			select {
			case <-all:
			case <-time.After(2 * time.Minute):
				t.Errorf("%d of %d adds counted", counted.Load(), adders*adds)
			}
			q.ShutDown()
			working.Wait()
			if n := bookOf(q).size(); n != 0 {
				t.Errorf("%d entries remain", n)
			}
		})
	}
}
