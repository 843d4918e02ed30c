// SPDX-License-Identifier: Apache-2.0

package api

import (
	"context"
	"net/http"
	"net/http/httptest"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.opentelemetry.io/otel/trace"

	"github.com/kube-lifeline/lifeline/app/internal/span/spantest"
	"github.com/kube-lifeline/lifeline/app/internal/store"
)

// TestTurns: few whole traces are read at a time.
func TestTurns(t *testing.T) {
	const clients = 20
	v, id := filled(t), spantest.Rollout().ID
	var now, most atomic.Int64
	slow := &faulty{Reader: v, trace: func(ctx context.Context, id trace.TraceID) (*store.Record, error) {
		if n := now.Add(1); n > most.Load() {
			most.Store(n)
		}
		defer now.Add(-1)
		time.Sleep(5 * time.Millisecond)
		return v.Trace(ctx, store.Scope{}, id)
	}}
	s := start(t, Options{Access: all(slow)})
	var all sync.WaitGroup
	for range clients {
		all.Go(func() {
			if res, body := s.get(t, "/api/v1/traces/"+id.String()+"/why"); res.StatusCode != http.StatusOK {
				t.Errorf("status %d: %s", res.StatusCode, body)
			}
		})
	}
	all.Wait()
	if n := most.Load(); n > int64(turns) {
		t.Errorf("%d traces were read at a time, want at most %d", n, turns)
	}
}

// TestSharedTree: a tree that was read after a request came answers the request.
func TestSharedTree(t *testing.T) {
	v, id := filled(t), spantest.Rollout().ID
	reads := 0
	counted := &faulty{Reader: v, trace: func(ctx context.Context, id trace.TraceID) (*store.Record, error) {
		reads++
		return v.Trace(ctx, store.Scope{}, id)
	}}
	s := start(t, Options{Access: all(counted)})
	req, err := s.request(httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", nil))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		reason string
		read   time.Duration
		want   int
	}{
		{"an older tree may lack a change", -time.Hour, 1},
		{"another request read it meanwhile", time.Hour, 0},
	} {
		tree, err := s.traces.arrange(req, id)
		if err != nil {
			t.Fatal(err)
		}
		tree.read, reads = time.Now().Add(c.read), 0
		if _, err := s.traces.arrange(req, id); err != nil || reads != c.want {
			t.Errorf("%s: %d reads, want %d; %v", c.reason, reads, c.want, err)
		}
		s.traces.trees.put(id, &arranged{}, 1)
	}
}

// TestTurnEnds: a request that waits too long for its turn gets an answer.
func TestTurnEnds(t *testing.T) {
	s := start(t, Options{})
	for range turns {
		s.traces.turns <- struct{}{}
	}
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	if _, err := s.traces.turn(ctx); err == nil {
		t.Error("there is a further turn")
	}
}
