// SPDX-License-Identifier: Apache-2.0

package serve

import (
	"context"
	"errors"
	"log/slog"

	"github.com/kube-lifeline/lifeline/app/internal/config"
	"github.com/kube-lifeline/lifeline/app/internal/journal"
	"github.com/kube-lifeline/lifeline/app/internal/notice"
	"github.com/kube-lifeline/lifeline/app/internal/store"
)

// noticesState is the name of the saved notices in the store.
const noticesState = "notices"

// restoreNotices returns the notices saved in a journal; nil without a webhook.
func restoreNotices(
	ctx context.Context, j *journal.Journal, c config.NoticesConfiguration, log *slog.Logger,
) (*notice.Board, error) {
	if c.URL == "" {
		return nil, nil
	}
	saved, err := j.State(ctx, noticesState)
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		return nil, err
	}
	board, err := notice.NewBoard(c.StuckAfter.Duration, saved)
	if err != nil {
		log.Warn("notices may be repeated or lost", errAttr(err))
	}
	return board, nil
}

// noticing is the part that delivers notices to a webhook. Without a board it does nothing.
type noticing struct {
	conf   config.NoticesConfiguration
	sender *notice.Sender // nil without a board
	log    *slog.Logger

	task
}

// newNoticing returns a noticing. It delivers while leads returns true.
func newNoticing(
	c config.NoticesConfiguration, cluster string, board *notice.Board, leads func() bool, log *slog.Logger,
	fail func(error),
) *noticing {
	n := &noticing{conf: c, log: log}
	if board != nil {
		n.sender = &notice.Sender{
			Board: board, URL: c.URL, TokenFile: c.TokenFile, Cluster: cluster, Leads: leads, Warn: log.Warn,
		}
		n.task = task{name: "notices", run: n.sender.Run, fail: fail}
	}
	return n
}

// Start implements part.
func (n *noticing) Start(ctx context.Context) error {
	if n.sender == nil {
		return nil
	}
	n.log.Info("notices go out", "to", notice.Redacted(n.conf.URL), "stuckAfter", n.conf.StuckAfter.Duration.String())
	return n.task.Start(ctx)
}
