// SPDX-License-Identifier: Apache-2.0

package serve

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/kube-lifeline/lifeline/app/internal/archive"
	"github.com/kube-lifeline/lifeline/app/internal/config"
	"github.com/kube-lifeline/lifeline/app/internal/journal"
	"github.com/kube-lifeline/lifeline/app/internal/span"
	"github.com/kube-lifeline/lifeline/app/internal/store"
)

// retainEvery is the period of the removal of old traces.
const retainEvery = time.Minute

// retention removes old traces.
type retention struct {
	settings *settings
	journal  *journal.Journal
	archive  *archive.Writer
	now      func() time.Time
	// errors counts failed removals.
	errors prometheus.Counter
	log    *slog.Logger
}

// run removes traces beyond the limits of age, outcome and size, until ctx ends.
func (r *retention) run(ctx context.Context) error {
	ticker := time.NewTicker(retainEvery)
	defer ticker.Stop()
	for {
		limits := limits(r.settings, r.now)()
		err := r.prune(ctx, limits)
		err = errors.Join(err, r.journal.GiveBack(ctx, earliest(limits)))
		if err != nil && ctx.Err() == nil {
			r.errors.Inc()
			r.log.Warn("cannot remove old traces", errAttr(err))
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return nil
		}
	}
}

// limits returns a function with the limits of the settings in effect, at the time of the clock.
func limits(of *settings, now func() time.Time) func() store.Limits {
	return func() store.Limits { return limitsOf(&of.Load().Retention, now()) }
}

// limitsOf returns the limits of a configuration at the time now.
func limitsOf(c *config.RetentionConfiguration, now time.Time) store.Limits {
	out := store.Limits{
		Before: now.Add(-c.Age.Duration), Bytes: c.Size.Value(), Rollups: now.Add(-c.Rollups.Duration),
	}
	for outcome, age := range c.Ages() {
		if out.Outcomes == nil {
			out.Outcomes = map[span.Outcome]time.Time{}
		}
		out.Outcomes[span.Outcome(outcome)] = now.Add(-age)
	}
	if before, set := out.Outcomes[span.Failed]; set {
		out.Outcomes[span.Refused] = before
	}
	return out
}

// earliest returns the end of the oldest traces that may be kept.
func earliest(l store.Limits) time.Time {
	out := l.Before
	for _, before := range l.Outcomes {
		if before.Before(out) {
			out = before
		}
	}
	return out
}

// prune removes old traces from the archive. Without one, it does nothing.
func (r *retention) prune(ctx context.Context, limits store.Limits) error {
	a, err := r.archive.Archive()
	if err != nil {
		return nil //nolint:nilerr // the archive's writer has reported it
	}
	pruned, err := a.Prune(ctx, limits)
	if pruned.Traces+pruned.Rollups > 0 {
		r.log.LogAttrs(ctx, slog.LevelInfo, "old traces removed", slog.Int64("traces", pruned.Traces),
			slog.Int64("rollups", pruned.Rollups), slog.Int64("bytes", pruned.Bytes))
	}
	r.archive.Damaged(a, err)
	return err
}
