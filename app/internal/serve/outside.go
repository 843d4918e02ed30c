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
	// What watching says tells more.
	if s.running.Load() && s.watching() == nil {
		if away := outage(s.watcher.Stats(), s.clock.Now()); away >= outageAfter {
			return fmt.Errorf("not reached for %s: what is stored can be read, and what happens meanwhile is caught up with later", away.Round(time.Second))
		}
	}
	return nil
}

func (s *server) delivering() error {
	if !s.running.Load() {
		return nil
	}
	return undelivered(s.outbox.Stats())
}

// outage is for how long no watch has shown the present; 0 if one does, or if none
// may.
func outage(stats watch.Stats, now time.Time) time.Duration {
	var last time.Time
	for _, r := range stats.Resources {
		if r.Connected > 0 {
			return 0
		}
		if r.Behind.After(last) {
			last = r.Behind
		}
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
