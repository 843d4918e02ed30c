// SPDX-License-Identifier: Apache-2.0

package serve

import (
	"context"
	"errors"
	"fmt"
	"time"

	"go.opentelemetry.io/otel/trace"

	"github.com/kube-lifeline/lifeline/app/internal/journal"
	"github.com/kube-lifeline/lifeline/app/internal/store"
)

const (
	// relistedState marks a journal whose list of kept traces is complete.
	relistedState = "kept-traces"
	// relistEvery is the period of the look for a new journal.
	relistEvery = time.Second
)

// relist completes each new journal, at the start and after a loss, until ctx ends.
func (s *server) relist(ctx context.Context) error {
	ticker := time.NewTicker(relistEvery)
	defer ticker.Stop()
	complete, told := -1, ""
	for {
		if n := s.journal.Renewals(); n != complete {
			err := s.complete(ctx)
			switch {
			case err == nil:
				complete, told = n, ""
			case !errors.Is(err, store.ErrUnavailable) && ctx.Err() == nil && err.Error() != told:
				told = err.Error()
				s.log.Warn("the new journal is not complete yet", errAttr(err))
			}
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return nil
		}
	}
}

// complete restores what a lost journal had and other places have: which entries are sent, and which
// traces are kept, the newest in the archive. Whether a kept trace was sent is unknown, so its later
// spans are sent if there is a backend.
func (s *server) complete(ctx context.Context) error {
	if _, err := s.journal.State(ctx, takenState); errors.Is(err, store.ErrNotFound) {
		return fmt.Errorf("%w: the next look fills the journal", store.ErrUnavailable)
	} else if err != nil {
		return err
	}
	if err := s.outbox.Reconcile(ctx); err != nil {
		return err
	}
	_, err := s.journal.State(ctx, relistedState)
	if !errors.Is(err, store.ErrNotFound) {
		return err
	}
	a, err := s.archive.Archive()
	if err != nil {
		return err
	}
	newest, err := a.List(ctx, store.Query{Limit: store.MaxPage})
	if err != nil {
		return err
	}
	ids := make([]trace.TraceID, len(newest.Traces))
	for n := range newest.Traces {
		ids[n] = newest.Traces[n].ID
	}
	now := s.clock.Now()
	if err := s.journal.Keep(ctx, ids, now, s.outbox.Wants()); err != nil {
		return err
	}
	return s.journal.Commit(ctx, &journal.Changes{AsOf: now, State: map[string][]byte{relistedState: {1}}})
}
