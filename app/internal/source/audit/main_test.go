// SPDX-License-Identifier: Apache-2.0

package audit

import (
	"context"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/kube-lifeline/lifeline/app/internal/observation"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var start = time.Date(2026, 5, 4, 3, 2, 1, 0, time.UTC)

// sink collects observations, or refuses them with an error.
type sink struct {
	mu     sync.Mutex
	taken  []*observation.Observation
	refuse error
	// came receives the size of each accepted batch.
	came chan int
}

func newSink() *sink { return &sink{came: make(chan int, 1000)} }

func (s *sink) take(_ context.Context, batch []*observation.Observation) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.refuse != nil {
		return s.refuse
	}
	s.taken = append(s.taken, batch...)
	s.came <- len(batch)
	return nil
}

func (s *sink) fail(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.refuse = err
}

// ids returns the audit IDs of the accepted writes, in order.
func (s *sink) ids() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []string
	for _, o := range s.taken {
		out = append(out, o.Write.AuditID)
	}
	return out
}

// newSource returns a Source for s with a fixed clock.
func newSource(tb testing.TB, s *sink, change func(*Config)) *Source {
	tb.Helper()
	c := Config{Sink: s.take, Now: func() time.Time { return start }}
	if change != nil {
		change(&c)
	}
	source, err := New(c)
	if err != nil {
		tb.Fatal(err)
	}
	return source
}
