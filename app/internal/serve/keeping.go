// SPDX-License-Identifier: Apache-2.0

package serve

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"time"

	"go.opentelemetry.io/otel/trace"

	"github.com/kube-lifeline/lifeline/app/internal/lifecycle"
	"github.com/kube-lifeline/lifeline/app/internal/received"
	"github.com/kube-lifeline/lifeline/app/internal/store"
	"github.com/kube-lifeline/lifeline/app/internal/store/sqlite"
)

// retainEvery is the period of the removal of old traces.
const retainEvery = time.Minute

// openStore opens the cluster's store and restores a recorder from it.
func (s *server) openStore(ctx context.Context) (*restored, error) {
	dataDir := s.conf.Load().DataDir
	path, err := place(dataDir, s.cluster)
	if err != nil {
		return nil, err
	}
	var opening sqlite.Opening
	s.ledger, err = openLedger(ctx, func(ctx context.Context) (store.Store, error) {
		if _, err := place(dataDir, s.cluster); err != nil { // the directory may be deleted meanwhile
			return nil, err
		}
		st, err := sqlite.Open(ctx, path)
		if err != nil {
			return nil, err
		}
		opening = st.Opening()
		return st, nil
	})
	if errors.Is(err, store.ErrInUse) {
		s.log.Error("another lifeline serve has this store: end it, or set another dataDir", "store", path)
	}
	if err != nil {
		return nil, err
	}
	if opening.SetAside != "" {
		s.log.Error(
			"the store was damaged; it was set aside, and a new one was created",
			"setAside",
			opening.SetAside,
			errAttr(opening.Why),
		)
	}
	s.ledger.replaced = func(why error) { s.replaced(path, why, opening) }
	s.ledger.wrote = func(took time.Duration) { s.metrics.StoreWrite.Observe(took.Seconds()) }
	began := time.Now()
	o := s.recorderOptions()
	if o.Joining, err = s.newJoining(ctx); err != nil {
		return nil, errors.Join(err, s.ledger.close())
	}
	if o.Notices, err = s.newNotices(ctx); err != nil {
		return nil, errors.Join(err, s.ledger.close())
	}
	r, err := restore(ctx, s.ledger, o, time.Now().Add(maxAhead))
	if err != nil {
		return nil, errors.Join(err, s.ledger.close())
	}
	s.clock = newClock(time.Now, r.last, func(by time.Duration) {
		s.metrics.ClockJumps.Inc()
		s.log.Warn("the clock of this machine has jumped; times follow it slowly", "by", by.Round(time.Millisecond))
	})
	s.received = received.New(s.clock.Now())
	if r.discarded != nil {
		s.log.Warn("the saved state could not be restored: the cluster is read again", errAttr(r.discarded))
	}
	s.log.Info(
		"store opened",
		"path",
		path,
		"cluster",
		s.cluster,
		"openTraces",
		len(r.open),
		"replayed",
		r.observations,
		"took",
		time.Since(began).Round(time.Millisecond),
	)
	return r, nil
}

// replaced reports a store that was lost while the server ran, and reopened.
func (s *server) replaced(path string, why error, o sqlite.Opening) {
	var lost *store.LostError
	if !errors.As(why, &lost) && o.SetAside == "" {
		s.log.Warn("the store was reported as damaged but is intact; it stays in use", "store", path, errAttr(why))
		return
	}
	aside := o.SetAside
	if lost != nil {
		why, aside = lost, cmp.Or(aside, lost.SetAside)
	}
	s.metrics.StoresLost.Inc()
	s.state.set(func(st *state) { st.lost, st.lostAt = why, time.Now() })
	s.log.Error(
		"the store was lost while the server ran; a new one begins with the open traces",
		"store",
		path,
		errAttr(why),
		"setAside",
		aside,
		"do",
		"find out what changed the file; open traces continue, finished ones are lost unless setAside has them",
	)
}

func (s *server) recorderOptions() recorderOptions {
	c := s.conf.Load()
	settle := c.Engine.Settle.Duration
	if receives(c) {
		settle = max(settle, joinSettle)
	}
	return recorderOptions{
		Engine:    lifecycle.Options{Cluster: s.cluster, Settle: settle, Patience: c.Engine.Patience.Duration},
		Relations: s.declared,
		Sampling:  s.sampling,
		Waits:     s.waits,
		Sends:     s.sends,
		Counts:    &s.counts,
		Tells:     s.tells,
		Opened:    s.publishOpen(),
		Stored:    s.stored,
		Differs:   s.differs,
		Warn:      s.log.Warn,
	}
}

// differs reports open traces that differ from a derivation from nothing.
func (s *server) differs(ids []trace.TraceID) {
	s.metrics.EngineDifferences.Add(float64(len(ids)))
	if len(ids) > 0 {
		s.log.Error("open traces differ from those of a derivation from nothing; please report this",
			"traces", len(ids), "first", ids[0].String())
	}
}

// waits reports whether a look waits for watches that are behind.
func (s *server) waits() bool { return s.behind.check(s.watcher.Stats(), len(s.loop.in), time.Now()) }

func (s *server) sampling() sampling {
	c := s.conf.Load().Sampling
	return sampling{ratePerMillion: c.RatePerMillion, failed: c.KeepFailed, slower: c.KeepSlowerThan.Duration}
}

// retain removes traces beyond the limits of age and size, until ctx ends.
func (s *server) retain(ctx context.Context) error {
	ticker := time.NewTicker(retainEvery)
	defer ticker.Stop()
	for {
		c := s.conf.Load().Retention
		limits := store.Limits{Before: s.clock.Now().Add(-c.Age.Duration), Bytes: c.Size.Value()}
		pruned, err := s.ledger.prune(ctx, limits)
		if pruned.Traces > 0 {
			s.log.LogAttrs(
				ctx,
				slog.LevelInfo,
				"old traces removed",
				slog.Int64("traces", pruned.Traces),
				slog.Int64("bytes", pruned.Bytes),
			)
		}
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
