// SPDX-License-Identifier: Apache-2.0

package serve

import (
	"context"
	"fmt"
	"time"

	"github.com/kube-lifeline/lifeline/app/internal/config"
	"github.com/kube-lifeline/lifeline/app/internal/export"
	"github.com/kube-lifeline/lifeline/app/internal/observation"
	"github.com/kube-lifeline/lifeline/app/internal/store"
	"github.com/kube-lifeline/lifeline/app/internal/telemetry"
)

// openOutbox starts to send the entries of the log. A server that may not lead holds them until it
// leads.
func (s *server) openOutbox(ctx context.Context) (err error) {
	c := s.conf.Load()
	s.outbox, err = export.OpenOutbox(context.WithoutCancel(ctx), export.OutboxOptions{
		Options: export.Options{
			Endpoint: c.OTLP.Endpoint, Setting: "otlp.endpoint", Cluster: s.cluster,
			Warn: func(format string, args ...any) { s.log.Warn(fmt.Sprintf(format, args...)) },
		},
		Log:      s.journal,
		MaxSpans: c.OTLP.Outbox.MaxSpans, MaxAge: c.OTLP.Outbox.MaxAge.Duration,
		Hold: c.Replicas.Mode != config.ModeSingle,
		Now:  s.clock.Now,
	})
	if err != nil {
		return err
	}
	if to := s.outbox.Endpoint(); to != "" {
		s.log.Info("spans go out", "to", to, "waiting", s.outbox.Stats().Spans)
	}
	return nil
}

// closeOutbox sends as much as possible; the rest waits in the log. Spans without a change are
// not stored: their loss is logged, and is no error.
func (s *server) closeOutbox() error {
	ctx, cancel := context.WithTimeout(context.Background(), sendPatience)
	defer cancel()
	err := s.outbox.Close(ctx)
	if lost := s.passing.Close(ctx); lost != nil {
		s.log.Warn("some spans that belong to no change were not sent", errAttr(lost))
	}
	if left := s.outbox.Stats().Spans; left > 0 {
		s.log.Warn("spans that were not sent wait in the journal for the next start", "spans", left)
	}
	return err
}

// refresh sets the metrics with counts of other parts, at each scrape.
func (s *server) refresh(t *telemetry.Metrics) {
	s.state.set(func(st *state) {
		t.OpenTraces.Set(float64(st.open))
		t.JournalBytes.Set(float64(st.inputs))
	})
	s.refreshAdmitter()
	if !s.running.Load() {
		return
	}
	s.refreshReceived(t)
	s.refreshNotices(t)
	s.refreshAudit(t)
	o := s.outbox.Stats()
	t.SpansExported.Raise(float64(o.Exported))
	t.SpansRefused.Raise(float64(o.Refused))
	var dropped int64
	for reason, n := range o.Dropped {
		t.SpansDropped.Raise(float64(n), string(reason))
		dropped += n
	}
	t.OutboxSpans.Set(float64(o.Spans))
	age := time.Duration(0)
	if !o.Oldest.IsZero() {
		age = max(0, s.clock.Now().Sub(o.Oldest))
	}
	t.OutboxOldest.Set(age.Seconds())
	t.Deliver(o.Exported, dropped, o.Refused, int64(o.Spans))
	for _, of := range s.relations() {
		t.RelationMatches.Raise(float64(of.Matches), of.Name)
		t.RelationKeyless.Raise(float64(of.Causes.Keyless), of.Name, "from")
		t.RelationKeyless.Raise(float64(of.Effects.Keyless), of.Name, "to")
	}
	w := s.watcher.Stats()
	t.ImpossibleTimes.Raise(float64(w.ImpossibleTimes), string(observation.SourceWatch))
	t.SourceLag.WithLabelValues(string(observation.SourceWatch)).Set(max(w.Lag, s.away()).Seconds())
	for _, r := range w.Resources {
		t.WatchRequests.Raise(float64(r.Lists), r.Resource.String(), "list")
		t.WatchRequests.Raise(float64(r.Watches), r.Resource.String(), "watch")
		t.WatchDelay.WithLabelValues(r.Resource.String()).Set(r.Delay.Seconds())
		for kind, n := range r.Errors {
			t.WatchErrors.Raise(float64(n), r.Resource.String(), kind)
		}
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	if stats, err := s.view.Stats(ctx, store.Scope{}); err == nil {
		t.StoreBytes.Set(float64(stats.Bytes))
		t.StoreTraces.Set(float64(stats.Traces))
	}
	a := s.archive.Stats()
	t.ArchiveWaiting.Set(float64(a.Bytes))
	t.ArchiveDropped.Raise(float64(a.Dropped))
}
