// SPDX-License-Identifier: Apache-2.0

package storetest

import (
	"context"
	"errors"
	"sync"
	"testing"

	"go.opentelemetry.io/otel/trace"

	"github.com/kube-lifeline/lifeline/app/internal/span"
	"github.com/kube-lifeline/lifeline/app/internal/store"
)

func testCancelled(t *testing.T, open Open) {
	s, b := open(t), batch(1)
	b.Finished = []*span.Trace{change(1, 2)}
	put(t, s, b)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	late := batch(2)
	late.Finished = []*span.Trace{change(2, 2)}
	for name, call := range map[string]func() error{
		"Write":  func() error { return s.Write(ctx, late) },
		"Prune":  func() error { _, err := s.Prune(ctx, store.Limits{Bytes: 1}); return err },
		"Pin":    func() error { return s.Pin(ctx, b.Finished[0].ID, true) },
		"Forget": func() error { _, err := s.Forget(ctx, store.Selector{Namespace: "default"}); return err },
		"Trace":  func() error { _, err := s.Trace(ctx, store.Scope{}, b.Finished[0].ID); return err },
		"List":   func() error { _, err := s.List(ctx, store.Query{}); return err },
		"Writes": func() error { _, err := s.Writes(ctx, store.WriteQuery{}); return err },
		"Causes": func() error { _, err := s.Causes(ctx, store.Scope{}, trace.TraceID{1}); return err },
		"Between": func() error {
			_, err := s.Between(ctx, store.Scope{}, trace.TraceID{}, trace.TraceID{255}, 1)
			return err
		},
		"Stats": func() error { _, err := s.Stats(ctx, store.Scope{}); return err },
	} {
		if err := call(); !errors.Is(err, context.Canceled) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if got := stats(t, s); got.Traces != 1 || got.Revision != 1 {
		t.Errorf("a cancelled batch left %+v", got)
	}
	big := batch(3)
	for n := range 2000 {
		big.Finished = append(big.Finished, change(n, 3))
	}
	ctx = &countdown{Context: t.Context(), left: 500}
	if err := s.Write(ctx, big); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled on the way: %v", err)
	}
	if got := stats(t, s); got.Traces != 1 {
		t.Errorf("half a batch left %+v", got)
	}
	put(t, s, big)
	if got := stats(t, s); got.Traces != 2000 {
		t.Errorf("again: %+v", got)
	}
}

// countdown is a context that ends after a number of calls.
type countdown struct {
	context.Context
	mu   sync.Mutex
	left int
}

func (c *countdown) Err() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.left--; c.left < 0 {
		return context.Canceled
	}
	return nil
}

// testConcurrent reads while a writer writes and prunes. Every returned trace must be whole.
func testConcurrent(t *testing.T, open Open) {
	const readers, batches = 4, 60
	s := open(t)
	var wg sync.WaitGroup
	done := make(chan struct{})
	wg.Go(func() {
		defer close(done)
		for n := 1; n <= batches; n++ {
			b := batch(int64(n))
			b.Finished = []*span.Trace{change(n, 5)}
			b.Amendments = []*span.Trace{amendment(change(n-1, 5), "late")}
			if err := s.Write(t.Context(), b); err != nil {
				t.Error(err)
				return
			}
			if n%20 == 0 {
				if _, err := s.Prune(t.Context(), store.Limits{Before: second(n - 10)}); err != nil {
					t.Error(err)
					return
				}
			}
		}
	})
	for range readers {
		wg.Go(func() {
			for {
				select {
				case <-done:
					return
				default:
				}
				if err := look(t.Context(), s); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	wg.Wait()
}

// look reads the newest trace and checks that it is whole.
func look(ctx context.Context, s store.Archive) error {
	page, err := s.List(ctx, store.Query{Limit: 20})
	if err != nil {
		return err
	}
	for _, sum := range page.Traces {
		r, err := s.Trace(ctx, store.Scope{}, sum.ID)
		if errors.Is(err, store.ErrNotFound) {
			continue // pruned since
		}
		if err != nil {
			return err
		}
		if n := len(r.Trace.Spans); r.Spans != n || n != 5 && n != 6 {
			return errors.New("a trace is not whole")
		}
	}
	_, err = s.Stats(ctx, store.Scope{})
	return err
}
