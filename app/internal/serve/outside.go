// SPDX-License-Identifier: Apache-2.0

package serve

import (
	"fmt"
	"time"

	"github.com/kube-lifeline/lifeline/app/internal/export"
	"github.com/kube-lifeline/lifeline/app/internal/source/watch"
)

// outageAfter is the shortest reported outage of the API server. A restart takes some seconds.
const outageAfter = 10 * time.Second

// reaching and delivering report problems of other systems. The server stays ready: its stored
// traces are readable, it loses nothing, and another server would be no better.
func (s *server) reaching() error {
	if away := s.away(); away > 0 {
		return fmt.Errorf(
			"not reached for %s: stored traces are readable, and the changes of this time follow later",
			away.Round(time.Second),
		)
	}
	return nil
}

// away is the duration of the API server's outage; 0 without one, or before outageAfter.
func (s *server) away() time.Duration {
	// The error of watching has more detail.
	if s.running.Load() && s.watching() == nil {
		if away := outage(s.watcher.Stats(), s.clock.Now()); away >= outageAfter {
			return away
		}
	}
	return 0
}

func (s *server) delivering() error {
	if !s.running.Load() {
		return nil
	}
	return undelivered(s.outbox.Stats())
}

// outage is the time since the API server's last sign of life; 0 without a right to watch anything.
// Without a connected watch it starts at the end of the last one. A hung API server keeps watches
// connected for a while, so silence counts as well.
func outage(stats watch.Stats, now time.Time) time.Duration {
	var last time.Time
	connected := false
	for _, r := range stats.Resources {
		connected = connected || r.Connected > 0
		if r.Behind.After(last) {
			last = r.Behind
		}
	}
	switch heard := stats.Heard; {
	case connected:
		last = heard
	case !heard.IsZero() && heard.Before(last):
		last = heard
	}
	if last.IsZero() {
		return 0
	}
	return max(0, now.Sub(last))
}

// undelivered returns the backend's error and its last success, if spans wait and the last attempt
// failed.
func undelivered(o export.OutboxStats) error {
	if o.Holding || o.Spans == 0 || o.LastError == nil || !o.LastFailure.After(o.LastSuccess) {
		return nil
	}
	accepted := "has accepted none yet"
	if !o.LastSuccess.IsZero() {
		accepted = "last accepted some at " + o.LastSuccess.UTC().Format(time.RFC3339)
	}
	return fmt.Errorf("%d spans wait for %s, which %s: %w", o.Spans, o.Endpoint, accepted, o.LastError)
}
