// SPDX-License-Identifier: Apache-2.0

package serve

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/kube-lifeline/lifeline/app/internal/api"
	"github.com/kube-lifeline/lifeline/app/internal/jaeger"
	"github.com/kube-lifeline/lifeline/app/internal/journal"
	"github.com/kube-lifeline/lifeline/app/internal/source/watch"
	"github.com/kube-lifeline/lifeline/app/internal/span"
	"github.com/kube-lifeline/lifeline/app/internal/store"
)

// stuck is the time without a round of the loop after which the process counts as dead. An
// unwritable store does not stop the rounds.
const stuck = 2 * time.Minute

// stored reports a stored look to readers, the consumers of the log, live streams and metrics.
func (s *server) stored(l *look) {
	s.view.Publish(l.AsOf, l.Revision, l.open, l.fresh())
	items := make([]journal.Item, len(l.fresh()))
	for i, e := range l.fresh() {
		items[i] = e.Item
	}
	s.archive.Add(items...)
	s.outbox.Add(items...)
	finished := l.kept(false)
	updates := []api.Update{{AsOf: l.AsOf}} // also without changes
	add := func(traces []*span.Trace, open bool) {
		for _, t := range traces {
			updates = append(updates, api.Update{Trace: t, Open: open, AsOf: l.AsOf})
		}
	}
	add(l.changed, true)
	add(finished, false)
	for _, id := range l.withdrawn {
		updates = append(updates, api.Update{Trace: &span.Trace{ID: id}, Withdrawn: true, AsOf: l.AsOf})
	}
	s.hub.Publish(updates)
	s.count(l)
	s.state.set(func(st *state) { st.asOf, st.open, st.inputs = l.AsOf, len(l.prints), l.inputs.bytes })
}

// count sets the metrics of a stored look.
func (s *server) count(l *look) {
	now := s.clock.Now()
	s.metrics.EngineLook.Observe(l.took.Seconds())
	if l.seen > 0 {
		s.metrics.ObservationDelay.Observe(now.Sub(l.first).Seconds())
	}
	for _, t := range l.finished {
		s.metrics.TracesFinished.Inc(string(t.Outcome))
		s.metrics.SpansMade.Add(float64(len(t.Spans)))
	}
	finished := l.kept(false)
	for _, t := range finished {
		s.metrics.ConvergenceToStored.Observe(now.Sub(lastEnd(t)).Seconds())
	}
	for _, t := range l.kept(true) {
		s.metrics.SpansMade.Add(float64(len(t.Spans)))
	}
	s.metrics.TracesSampledOut.Add(float64(len(l.finished) - len(finished)))
}

// lastEnd returns the end of t's last span.
func lastEnd(t *span.Trace) time.Time {
	var end time.Time
	for _, s := range t.Spans {
		if s.End.After(end) {
			end = s.End.Time
		}
	}
	return end
}

// looked notes a round of the loop and its error.
func (s *server) looked(err error) {
	s.writable.set(err)
	s.state.set(func(st *state) {
		if st.trouble != nil && err == nil {
			s.log.Info("the journal is writable again")
		}
		if err == nil {
			st.logged = ""
		}
		st.looked, st.trouble = time.Now(), err
	})
}

// troubled logs the error of a failed look, once until it changes.
func (s *server) troubled(err error) {
	if errors.Is(err, journal.ErrRenewed) {
		return // renewed has logged it
	}
	advice := "the observations wait, nothing is lost"
	switch {
	case errors.Is(err, store.ErrFull):
		advice = "make room on the disk, or lower retention.size; " + advice
	case errors.Is(err, store.ErrReadOnly):
		advice = "make dataDir writable; " + advice
	case errors.Is(err, store.ErrDamaged):
		advice = "all state is written to a new journal"
	}
	s.state.set(func(st *state) {
		if text := err.Error(); text != st.logged {
			st.logged = text
			s.log.Error("cannot store the observations", errAttr(err), "do", advice)
		}
	})
}

func (s *server) waitFor(what string) { s.state.set(func(st *state) { st.waitsFor = what }) }

// alive, watching and storing are the checks of health.
func (s *server) alive() error {
	var looked time.Time
	s.state.set(func(st *state) { looked = st.looked })
	if since := time.Since(looked); !looked.IsZero() && since > stuck {
		return fmt.Errorf("the loop has made no progress for %s", since.Round(time.Second))
	}
	return nil
}

func (s *server) watching() (err error) {
	s.state.set(func(st *state) {
		if st.waitsFor != "" {
			err = errors.New("waiting for " + st.waitsFor)
		}
	})
	if err == nil && s.running.Load() && blind(s.watcher.Stats()) {
		return errBlind
	}
	return err
}

// errBlind is the lack of every right to watch.
var errBlind = errors.New("nothing may be watched: give the user of the kubeconfig, or the ServiceAccount, " +
	"the rights that `lifeline rbac` prints")

// blind reports whether there are resources to watch and all are forbidden.
func blind(stats watch.Stats) bool {
	streams, unreadable := 0, 0
	for _, r := range stats.Resources {
		streams += r.Streams
		unreadable += r.Unreadable
	}
	return streams > 0 && streams == unreadable
}

func (s *server) storing() (err error) {
	s.state.set(func(st *state) { err = st.trouble })
	return err
}

// lossNoted is the time for which readiness mentions a lost file.
const lossNoted = time.Hour

// keeping is a note of health: after a loss, a new journal or archive has begun.
func (s *server) keeping() (err error) {
	s.state.set(func(st *state) {
		if since := time.Since(st.lostAt); st.lost != nil && since < lossNoted {
			err = fmt.Errorf("a new file began %s ago: %w", since.Round(time.Second), st.lost)
		}
	})
	return err
}

// newAPI returns the API over all traces.
func (s *server) newAPI() (*api.Server, error) {
	c := s.conf.Load().API
	all := store.NewGate(s.view, store.Whole).For(store.Scope{})
	access := func(*http.Request) store.Access { return all } // every client of the listener may see everything
	return api.New(api.Options{
		Access:     access,
		Hub:        &s.hub,
		Cluster:    s.cluster,
		Info:       s.info,
		Sources:    s.sources,
		MaxStreams: c.MaxStreams,
		Hosts:      []string{hostOf(c.Address)},
		Clock:      s.clock.Now,
		Log:        s.log,
		Metrics:    s.metrics,
		Runs:       http.HandlerFunc(s.announced),
		Others: jaeger.Handlers(jaeger.Options{
			Access: access, Cluster: s.cluster, Clock: s.clock.Now, Log: s.log,
		}),
	})
}

// openAPI opens the API after the first look, when the archive is open or after a few seconds without
// it.
func (s *server) openAPI(ctx context.Context, handler http.Handler, address string) error {
	patience := time.NewTimer(archivePatience)
	defer patience.Stop()
	select {
	case <-s.archive.Opened():
	case <-patience.C:
	case <-ctx.Done():
		return nil
	}
	select {
	case <-s.view.Begun():
	case <-ctx.Done():
		return nil
	}
	s.gate.open(handler)
	s.log.Info("API listens", "address", address)
	return nil
}

// answering is a check of health.
func (s *server) answering() error {
	if s.gate.handler() == nil {
		return errors.New("waiting for the first look and the archive")
	}
	return nil
}

func (s *server) info() api.Info {
	c := s.conf.Load().Replicas
	i := api.Info{
		Version:  s.opts.Version,
		Cluster:  s.cluster,
		Identity: s.member.identity,
		Mode:     c.Mode,
		Leading:  s.member.leads(),
	}
	s.state.set(func(st *state) {
		if i.AsOf = st.asOf; !st.watching.IsZero() {
			since := st.watching.UTC()
			i.WatchingSince = &since
		}
	})
	return i
}
