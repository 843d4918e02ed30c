// SPDX-License-Identifier: Apache-2.0

package serve

import (
	"context"
	"errors"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/kube-lifeline/lifeline/app/internal/shift"
	"github.com/kube-lifeline/lifeline/app/internal/store"
)

const (
	// firstReport is the time from the start to the first report, and between attempts while the archive is not open.
	firstReport = time.Minute
	// restFactor bounds the processor time of reports: the pause after one is that many times as long.
	restFactor = 20
)

// latestReport is the last report about what got slower; nil before the first, and while there are none.
type latestReport struct{ atomic.Pointer[shift.Report] }

// regressing is the part that computes the report of what got slower, again and again.
type regressing struct {
	settings *settings
	// compute returns the report of a range of time.
	compute func(ctx context.Context, since, until time.Time) (*shift.Report, error)
	// publish gets each report, and nil when there are none any more.
	publish func(*shift.Report)
	now     func() time.Time
	// wait returns after a pause, or with the end of ctx.
	wait func(ctx context.Context, d time.Duration)
	log  *slog.Logger

	// fault is the text of the last error; empty after a report.
	fault string
}

// run computes reports until ctx ends.
func (r *regressing) run(ctx context.Context) error {
	pause := firstReport
	for {
		r.wait(ctx, pause)
		select {
		case <-ctx.Done():
			return nil
		default:
			pause = r.next(ctx)
		}
	}
}

// next computes a report, unless they are switched off, and returns the pause until the next.
func (r *regressing) next(ctx context.Context) time.Duration {
	c := r.settings.Load().Regressions
	if !c.Enabled {
		r.publish(nil)
		return firstReport
	}
	began := r.now()
	report, err := r.compute(ctx, began.Add(-c.Period.Duration), began)
	took := r.now().Sub(began)
	switch {
	case err == nil:
		r.fault = ""
		r.publish(report)
	case ctx.Err() != nil:
	case errors.Is(err, store.ErrUnavailable), errors.Is(err, store.ErrBusy):
		return firstReport
	case r.fault != err.Error(): // the report of before stays
		r.fault = err.Error()
		r.log.Warn("cannot compute what got slower", errAttr(err))
	}
	return max(c.Interval.Duration, restFactor*took)
}

// pauseFor waits for a pause, or for the end of ctx.
func pauseFor(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}
