// SPDX-License-Identifier: Apache-2.0

package serve

import (
	"fmt"
	"time"

	"github.com/kube-lifeline/lifeline/app/internal/export"
	"github.com/kube-lifeline/lifeline/app/internal/source/watch"
)

// outageAfter is how long the API server may be away before that is told: when
// it restarts, it is so for some seconds.
const outageAfter = 10 * time.Second

// reaching and delivering tell what is wrong outside. The server is ready all the
// same: what it has stored can be read, and it loses nothing; who would be sent
// elsewhere finds no other that is better off.
func (s *server) reaching() error {
	if away := s.away(); away > 0 {
		return fmt.Errorf(
			"not reached for %s: what is stored can be read, and what happens meanwhile is caught up with later",
			away.Round(time.Second),
		)
	}
	return nil
}

// away is for how long the API server has been away; 0 if it is there, or not away
// for outageAfter yet.
func (s *server) away() time.Duration {
	// What watching says tells more.
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

// outage is for how long the API server has shown nothing; 0 if nothing may be
// watched. Without a connected watch it began when the last one ended. A hung API
// server keeps watches connected for a while, so silence counts as well.
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

// undelivered says since when and why the backend takes no spans, if some wait
// and the last attempt has failed.
func undelivered(o export.OutboxStats) error {
	if o.Holding || o.Spans == 0 || o.LastError == nil || !o.LastFailure.After(o.LastSuccess) {
		return nil
	}
	last := "never"
	if !o.LastSuccess.IsZero() {
		last = "last at " + o.LastSuccess.UTC().Format(time.RFC3339)
	}
	return fmt.Errorf("%d spans wait for %s, which took some %s: %w", o.Spans, o.Endpoint, last, o.LastError)
}
