// SPDX-License-Identifier: Apache-2.0

package serve

import (
	"context"
	"errors"
	"time"

	"github.com/kube-lifeline/lifeline/app/internal/config"
	"github.com/kube-lifeline/lifeline/app/internal/notice"
	"github.com/kube-lifeline/lifeline/app/internal/span"
	"github.com/kube-lifeline/lifeline/app/internal/store"
	"github.com/kube-lifeline/lifeline/app/internal/telemetry"
)

// noticesState is the name of the saved notices in the store.
const noticesState = "notices"

// newNotices returns the notices saved in the store; nil without a webhook.
func (s *server) newNotices(ctx context.Context) (*notice.Board, error) {
	c := s.conf.Load().Notices
	if c.URL == "" {
		return nil, nil
	}
	saved, err := s.journal.State(ctx, noticesState)
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		return nil, err
	}
	board, err := notice.NewBoard(c.StuckAfter.Duration, saved)
	if err != nil {
		s.log.Warn("notices may be repeated or lost", errAttr(err))
	}
	return board, nil
}

// sendNotices delivers the notices until ctx ends.
func (s *server) sendNotices(up *tasks, board *notice.Board) {
	if board == nil {
		return
	}
	c := s.conf.Load().Notices
	s.notices = &notice.Sender{
		Board: board, URL: c.URL, TokenFile: c.TokenFile, Cluster: s.cluster, Leads: s.tells, Warn: s.log.Warn,
	}
	s.log.Info("notices go out", "to", notice.Redacted(c.URL), "stuckAfter", c.StuckAfter.Duration.String())
	up.start("notices", s.notices.Run)
}

// tells reports whether this server delivers notices.
func (s *server) tells() bool {
	return s.conf.Load().Replicas.Mode == config.ModeSingle || s.member.leads()
}

// refreshNotices sets the metrics of failed and stuck changes, and of notices.
func (s *server) refreshNotices(t *telemetry.Metrics) {
	t.ChangesStuck.Reset()
	s.counts.Each(
		func(l notice.Labels, n int64) {
			t.ChangesStuck.WithLabelValues(l.Kind, l.Category, l.Namespace).Set(float64(n))
		},
		func(l notice.Labels, n int64) { t.ChangesFailed.Raise(float64(n), l.Kind, l.Category, l.Namespace) },
	)
	stats := s.notices.Stats()
	for typ, n := range stats.Sent {
		t.NoticesSent.Raise(float64(n), string(typ))
	}
	t.NoticesLost.Raise(float64(stats.Refused), "refused")
	t.NoticesLost.Raise(float64(stats.Dropped), "full")
	t.NoticesWaiting.Set(float64(stats.Waiting))
}

// tell adds the notices that are due.
func (r *recorder) tell(l *look, finished, open []*span.Trace, now time.Time) {
	if r.Counts != nil {
		r.Counts.Look(open, finished)
	}
	if r.Notices != nil {
		r.Notices.Look(now, open, finished, !r.Tells())
		r.saveNotices(l, false)
	}
}

// saveNotices adds the notices to the look, if they have changed or always.
func (r *recorder) saveNotices(l *look, always bool) {
	data, changed, err := r.Notices.State()
	if err != nil {
		r.Warn("the notices cannot be saved: a restart may repeat or lose some", errAttr(err))
		return
	}
	if changed || always {
		l.State[noticesState] = data
	}
}
