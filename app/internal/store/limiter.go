// SPDX-License-Identifier: Apache-2.0

package store

import (
	"context"
	"fmt"
	"runtime"
	"time"
)

// busyTime is the longest wait for a place among the costly questions.
const busyTime = 3 * time.Second

// MaxQuestions returns the number of questions at the same time. At most half of the processors answer questions,
// but at least one does: the others are for the observation of the cluster.
func MaxQuestions() int { return min(2, max(1, runtime.GOMAXPROCS(0)/2)) }

// Limiter bounds costly questions: their number at the same time, and the time of each. NewLimiter makes
// one with the limits of this package. It is safe for concurrent use.
type Limiter struct {
	// Places has a token for each running question.
	Places chan struct{}
	// Time bounds one question. It must not change while one runs.
	Time time.Duration
}

// NewLimiter returns a Limiter of MaxQuestions and MaxQuestionTime.
func NewLimiter() *Limiter {
	return &Limiter{Places: make(chan struct{}, MaxQuestions()), Time: MaxQuestionTime}
}

// Do answers a question with do. The error is ErrBusy if no place is free in time, and wraps ErrTooLong
// if the question has not ended by its time.
func (l *Limiter) Do(ctx context.Context, do func(context.Context) error) error {
	timed, cancel := context.WithTimeoutCause(ctx, l.Time, ErrTooLong)
	defer cancel()
	if err := l.enter(timed); err != nil {
		return err
	}
	defer func() { <-l.Places }()
	err := do(timed)
	if ended := context.Cause(timed); err != nil && ended != nil {
		return fmt.Errorf("%w: %w", ended, err)
	}
	return err
}

// enter takes a place.
func (l *Limiter) enter(ctx context.Context) error {
	select {
	case l.Places <- struct{}{}:
		return nil
	default:
	}
	wait := time.NewTimer(min(busyTime, l.Time/2))
	defer wait.Stop()
	select {
	case l.Places <- struct{}{}:
		return nil
	case <-wait.C:
		return fmt.Errorf("%w: ask again in a moment", ErrBusy)
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
