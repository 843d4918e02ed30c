// SPDX-License-Identifier: Apache-2.0

package serve

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/kube-lifeline/lifeline/app/internal/store"
)

// retainEvery is the period of the removal of old traces.
const retainEvery = time.Minute

// retain removes traces beyond the limits of age and size, until ctx ends.
func (s *server) retain(ctx context.Context) error {
	ticker := time.NewTicker(retainEvery)
	defer ticker.Stop()
	for {
		c := s.conf.Load().Retention
		limits := store.Limits{Before: s.clock.Now().Add(-c.Age.Duration), Bytes: c.Size.Value()}
		err := s.prune(ctx, limits)
		err = errors.Join(err, s.journal.GiveBack(ctx, limits.Before))
		if err != nil && ctx.Err() == nil {
			s.metrics.StoreErrors.Inc()
			s.log.Warn("cannot remove old traces", errAttr(err))
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return nil
		}
	}
}

// prune removes old traces from the archive. Without one, it does nothing.
func (s *server) prune(ctx context.Context, limits store.Limits) error {
	a, err := s.archive.Archive()
	if err != nil {
		return nil //nolint:nilerr // the archive's writer has reported it
	}
	pruned, err := a.Prune(ctx, limits)
	if pruned.Traces > 0 {
		s.log.LogAttrs(ctx, slog.LevelInfo, "old traces removed",
			slog.Int64("traces", pruned.Traces), slog.Int64("bytes", pruned.Bytes))
	}
	if errors.Is(err, store.ErrDamaged) {
		return nil // the writer finds it, too
	}
	return err
}
