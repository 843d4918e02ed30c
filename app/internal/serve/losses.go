// SPDX-License-Identifier: Apache-2.0

package serve

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/kube-lifeline/lifeline/app/internal/database"
	"github.com/kube-lifeline/lifeline/app/internal/store"
)

// lossNoted is the time for which readiness mentions a lost file.
const lossNoted = time.Hour

// losses reports journals and archives that were lost while the server ran. It is safe for
// concurrent use.
type losses struct {
	log   *slog.Logger
	count prometheus.Counter

	mu sync.Mutex
	// last is the last loss, and at its time.
	last error
	at   time.Time
}

// renewed reports a journal that was lost or reported as damaged, and reopened.
func (l *losses) renewed(path string, why error, o database.Opening) {
	var gone *store.LostError
	if !errors.As(why, &gone) && o.SetAside == "" {
		l.log.Warn("the journal was reported as damaged, but a check finds nothing; it stays in use",
			"journal", path, errAttr(why))
		return
	}
	l.lost("journal", path, why, o)
}

// lost reports a lost or damaged journal or archive.
func (l *losses) lost(what, path string, why error, o database.Opening) {
	aside := o.SetAside
	var gone *store.LostError
	if errors.As(why, &gone) {
		why, aside = gone, cmp.Or(aside, gone.SetAside)
	}
	gap := "open traces continue; spans that were not sent yet are lost"
	if what == "archive" {
		gap = "its traces, except those that can be read from setAside"
	}
	l.count.Inc()
	l.mu.Lock()
	l.last, l.at = why, time.Now()
	l.mu.Unlock()
	l.log.Error("the "+what+" was lost while the server ran; a new one begins", what, path, errAttr(why),
		"setAside", aside, "lost", gap, "do", "find out what changed the file")
}

// check is a note of health: after a loss, a new journal or archive has begun.
func (l *losses) check() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if since := time.Since(l.at); l.last != nil && since < lossNoted {
		return fmt.Errorf("a new file began %s ago: %w", since.Round(time.Second), l.last)
	}
	return nil
}
