// SPDX-License-Identifier: Apache-2.0

package serve

import (
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/kube-lifeline/lifeline/app/internal/api"
	"github.com/kube-lifeline/lifeline/app/internal/source/watch"
	"github.com/kube-lifeline/lifeline/app/internal/span"
	"github.com/kube-lifeline/lifeline/app/internal/store"
)

// stuck is the time without a round of the loop after which the process counts as dead. An
// unwritable store does not stop the rounds.
const stuck = 2 * time.Minute

// stored reports a stored look to live streams and metrics.
func (s *server) stored(l *look) {
	b := l.batch
	var updates []api.Update
	add := func(traces []*span.Trace, open bool) {
		for _, t := range traces {
			updates = append(updates, api.Update{Trace: t, Open: open, AsOf: b.AsOf})
		}
	}
	add(b.Open, true)
	add(b.Finished, false)
	for _, id := range b.Withdrawn {
		updates = append(updates, api.Update{Trace: &span.Trace{ID: id}, Withdrawn: true, AsOf: b.AsOf})
	}
	s.hub.Publish(updates)

	now := s.clock.Now()
	s.metrics.EngineLook.Observe(l.took.Seconds())
	if l.seen > 0 {
		s.metrics.ObservationDelay.Observe(now.Sub(l.first).Seconds())
	}
	for _, t := range l.finished {
		s.metrics.TracesFinished.Inc(string(t.Outcome))
		s.metrics.SpansMade.Add(float64(len(t.Spans)))
	}
	for _, t := range b.Finished {
		s.metrics.ConvergenceToStored.Observe(now.Sub(lastEnd(t)).Seconds())
	}
	for _, t := range b.Amendments {
		s.metrics.SpansMade.Add(float64(len(t.Spans)))
	}
	s.metrics.TracesSampledOut.Add(float64(len(l.finished) - len(b.Finished)))
	s.state.set(func(st *state) { st.asOf, st.open, st.journal = b.AsOf, len(l.prints), l.journal.bytes })
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
			s.log.Info("the store is writable again")
		}
		if err == nil {
			st.logged = ""
		}
		st.looked, st.trouble = time.Now(), err
	})
}

// troubled logs the error of a failed look, once until it changes.
func (s *server) troubled(err error) {
	if errors.Is(err, errRenewed) {
		return // replaced has logged it
	}
	advice := "the observations wait, nothing is lost"
	switch {
	case errors.Is(err, store.ErrFull):
		advice = "make room on the disk, or lower retention.size; " + advice
	case errors.Is(err, store.ErrReadOnly):
		advice = "make dataDir writable; " + advice
	case errors.Is(err, store.ErrDamaged):
		advice = "a full snapshot is written to a new store"
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

// lossNoted is the time for which readiness mentions a lost store.
const lossNoted = time.Hour

// keeping is a note of health: after a loss, the stored traces begin with the new store.
func (s *server) keeping() (err error) {
	s.state.set(func(st *state) {
		if since := time.Since(st.lostAt); st.lost != nil && since < lossNoted {
			err = fmt.Errorf("a new store began %s ago with the open traces: %w", since.Round(time.Second), st.lost)
		}
	})
	return err
}

// serveAPI starts the API over the store.
func (s *server) serveAPI(address string) error {
	c := s.conf.Load().API
	server, err := api.New(api.Options{
		Store:      s.ledger,
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
	})
	if err != nil {
		return err
	}
	s.gate.open(server)
	s.log.Info("API listens", "address", address)
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
