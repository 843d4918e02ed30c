// SPDX-License-Identifier: Apache-2.0

package notice

import (
	"context"
	"errors"
	"slices"
	"time"
)

// repetition repeats the alerts of present problems and regressions for an Alertmanager.
type repetition struct {
	sender *Sender
	of     *receiver
	due    time.Time
}

// work returns the next repetition. Without one, it returns the time of the next, or zero.
func (r *repetition) work(ctx context.Context, now time.Time) (do func(), due time.Time) {
	if r.sender.Format != Alertmanager || !r.of.wants(Started) && !r.of.wants(Slower) {
		return nil, time.Time{}
	}
	if now.Before(r.due) {
		return nil, r.due
	}
	r.due = now.Add(repeatEvery)
	active := r.sender.Board.active(r.of)
	if len(active) == 0 {
		return nil, r.due
	}
	return func() {
		if err := r.sender.repeat(ctx, active, now); err != nil && ctx.Err() == nil {
			r.sender.failed.Add(1)
			r.sender.fails(err)
		}
	}, time.Time{}
}

// repeat sends alerts again.
func (s *Sender) repeat(ctx context.Context, active []Notice, now time.Time) error {
	to, token, err := s.target()
	if err != nil {
		return err
	}
	for i := range active {
		active[i] = *s.completed(ctx, &active[i])
	}
	var all []error
	for some := range slices.Chunk(active, maxAlerts) {
		body, err := alerts(some, s.origin(""), now)
		if err == nil {
			err = s.post(ctx, to, token, "application/json", body)
		}
		all = append(all, err)
	}
	return errors.Join(all...)
}
