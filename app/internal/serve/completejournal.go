// SPDX-License-Identifier: Apache-2.0

package serve

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"go.opentelemetry.io/otel/trace"

	"github.com/kube-lifeline/lifeline/app/internal/archive"
	"github.com/kube-lifeline/lifeline/app/internal/export"
	"github.com/kube-lifeline/lifeline/app/internal/journal"
	"github.com/kube-lifeline/lifeline/app/internal/store"
)

const (
	// filledState marks a journal with the state of the loop. A replaced one lacks it until the next
	// look.
	filledState = "filled"
	// keptState marks a journal whose list of kept traces is complete.
	keptState = "kept-traces"
	// completeEvery is the period of the look for a new journal.
	completeEvery = time.Second
)

// completion completes new journals. It is for one goroutine.
type completion struct {
	journal *journal.Journal
	archive *archive.Writer
	outbox  *export.Outbox
	now     func() time.Time
	log     *slog.Logger
	// reconciled and complete are the numbers of renewals at the last success of each part; -1 before.
	reconciled, complete int
	// logged is the last logged error.
	logged string
}

func newCompletion(
	j *journal.Journal, a *archive.Writer, o *export.Outbox, now func() time.Time, log *slog.Logger,
) *completion {
	return &completion{journal: j, archive: a, outbox: o, now: now, log: log, reconciled: -1, complete: -1}
}

// run completes each new journal, at the start and after a loss, until ctx ends.
func (c *completion) run(ctx context.Context) error {
	ticker := time.NewTicker(completeEvery)
	defer ticker.Stop()
	for {
		if n := c.journal.Renewals(); n != c.complete {
			c.logOnce(ctx, c.restore(ctx, n))
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return nil
		}
	}
}

// logOnce logs a new error. Those of an absent archive and of a lost journal are logged elsewhere.
func (c *completion) logOnce(ctx context.Context, err error) {
	switch {
	case err == nil:
		c.logged = ""
	case errors.Is(err, store.ErrUnavailable), errors.Is(err, journal.ErrRenewed), ctx.Err() != nil:
	case err.Error() != c.logged:
		c.logged = err.Error()
		c.log.Warn("the new journal is not complete yet", errAttr(err))
	}
}

// restore restores from the outbox and the archive which entries are sent and which traces are kept,
// in the journal with that number of renewals. The archive gives its newest traces. Whether a kept
// trace was sent is unknown, so its later spans are sent if there is a backend.
//
// The outbox reads the whole log, so it is asked once. The archive is asked again after an error.
func (c *completion) restore(ctx context.Context, renewals int) error {
	if _, err := c.journal.State(ctx, filledState); errors.Is(err, store.ErrNotFound) {
		return fmt.Errorf("%w: the next look fills the journal", store.ErrUnavailable)
	} else if err != nil {
		return err
	}
	if c.reconciled != renewals {
		if err := c.outbox.Reconcile(ctx); err != nil {
			return err
		}
		c.reconciled = renewals
	}
	_, err := c.journal.State(ctx, keptState)
	if errors.Is(err, store.ErrNotFound) {
		err = c.keep(ctx, renewals)
	}
	if err == nil {
		c.complete = renewals
	}
	return err
}

// keep adds the newest traces of the archive to the list of kept ones, and marks the list as
// complete. A journal that was replaced meanwhile gets no mark.
func (c *completion) keep(ctx context.Context, renewals int) error {
	a, err := c.archive.Archive()
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
	now := c.now()
	if err := c.journal.Keep(ctx, ids, now, c.outbox.Wants()); err != nil {
		return err
	}
	return c.journal.Commit(
		ctx,
		&journal.Changes{AsOf: now, Renewals: &renewals, State: map[string][]byte{keptState: {1}}},
	)
}
