// SPDX-License-Identifier: Apache-2.0

package view

import (
	"context"
	"time"

	"github.com/kube-lifeline/lifeline/app/internal/store"
)

// briefTime is the time in which the answer to a search is no costly question.
const briefTime = 200 * time.Millisecond

// limits bound the costly questions.
type limits struct {
	*store.Limiter
	// briefTime is the constant of that name; tests change it.
	briefTime time.Duration
}

// search answers with do. A costly query that takes longer than briefTime becomes a costly question: it
// begins again, within the limits of questions.
func (l *limits) search(ctx context.Context, costly bool, do func(context.Context) error) error {
	if !costly {
		return do(ctx)
	}
	brief, cancel := context.WithTimeout(ctx, l.briefTime)
	defer cancel()
	err := do(brief)
	if err == nil || brief.Err() == nil || ctx.Err() != nil {
		return err
	}
	return l.Do(ctx, do)
}
