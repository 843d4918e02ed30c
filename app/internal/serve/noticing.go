// SPDX-License-Identifier: Apache-2.0

package serve

import (
	"context"
	"errors"
	"log/slog"
	"sync"

	"github.com/kube-lifeline/lifeline/app/internal/config"
	"github.com/kube-lifeline/lifeline/app/internal/journal"
	"github.com/kube-lifeline/lifeline/app/internal/notice"
	"github.com/kube-lifeline/lifeline/app/internal/problem"
	"github.com/kube-lifeline/lifeline/app/internal/store"
)

// noticesState is the name of the saved notices in the store.
const noticesState = "notices"

// restoreNotices returns the notices saved in a journal; nil without a receiver.
func restoreNotices(
	ctx context.Context, j *journal.Journal, c *config.NoticesConfiguration, log *slog.Logger,
) (*notice.Board, error) {
	if len(c.Receivers) == 0 {
		return nil, nil
	}
	saved, err := j.State(ctx, noticesState)
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		return nil, err
	}
	var receivers []notice.Receiver
	for i := range c.Receivers {
		r := &c.Receivers[i]
		one := notice.Receiver{Name: r.Name, After: r.AfterOrDefault(c), Namespaces: r.Namespaces}
		for _, t := range r.TypesOrDefault() {
			one.Types = append(one.Types, notice.TypeOf(t))
		}
		receivers = append(receivers, one)
	}
	board, err := notice.NewBoard(receivers, saved)
	if err != nil {
		log.Warn("notices may be repeated or lost", errAttr(err))
	}
	return board, nil
}

// noticing is the part that delivers notices. Without a board it does nothing.
type noticing struct {
	senders []*notice.Sender
	log     *slog.Logger

	task
}

// newNoticing returns a noticing. It delivers while leads returns true.
func newNoticing(
	c *config.NoticesConfiguration, cluster string, board *notice.Board, leads func() bool, log *slog.Logger,
	fail func(error),
) *noticing {
	n := &noticing{log: log}
	n.task = task{name: "notices", run: n.run, fail: fail}
	if board == nil {
		return n
	}
	for _, r := range c.Receivers {
		n.senders = append(n.senders, &notice.Sender{
			Board: board, Name: r.Name, Format: notice.Format(r.Format), URL: r.URL, URLFile: r.URLFile,
			TokenFile: r.TokenFile, Cluster: cluster, Page: c.Page, Leads: leads, Log: log,
		})
	}
	return n
}

// completes sets the function that completes the causes of notices. It comes before Start.
func (n *noticing) completes(f func(context.Context, problem.Cause) problem.Cause) {
	for _, s := range n.senders {
		s.Cause = f
	}
}

// Start implements part.
func (n *noticing) Start(ctx context.Context) error {
	if len(n.senders) == 0 {
		return nil
	}
	for _, s := range n.senders {
		n.log.Info("notices go out", "receiver", s.Name, "format", string(s.Format))
	}
	return n.task.Start(ctx)
}

// run delivers to all receivers until ctx ends.
func (n *noticing) run(ctx context.Context) error {
	var all sync.WaitGroup
	for _, s := range n.senders {
		all.Go(func() { s.Run(ctx) })
	}
	all.Wait()
	return nil
}

// stats returns the counts of each receiver.
func (n *noticing) stats() []notice.Stats {
	var out []notice.Stats
	for _, s := range n.senders {
		out = append(out, s.Stats())
	}
	return out
}
