// SPDX-License-Identifier: Apache-2.0

package serve

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/kube-lifeline/lifeline/app/internal/database"
	"github.com/kube-lifeline/lifeline/app/internal/journal"
	"github.com/kube-lifeline/lifeline/app/internal/store"
	"github.com/kube-lifeline/lifeline/app/internal/store/sqlite"
)

// opener opens the archive for its writer, and reports its faults. Its methods are for the writer,
// except check.
type opener struct {
	dataDir, cluster string
	path             string
	log              *slog.Logger
	losses           *losses
	errors           prometheus.Counter
	replaced         *prometheus.CounterVec

	// reports has the reports of damage, and damage the last of them until the archive is open again.
	reports database.Reports
	damage  error
	// explained marks the present archive as new in place of a lost one, which losses has reported.
	explained, wasLost bool

	mu sync.Mutex
	// trouble is the error of the writer's last attempt.
	trouble error
}

// open opens the archive. A damaged one is set aside.
func (a *opener) open(ctx context.Context) (store.Archive, error) {
	if _, err := place(a.dataDir, a.cluster); err != nil { // the directory may be deleted meanwhile
		return nil, err
	}
	began := time.Now()
	opened, err := sqlite.Open(ctx, store.Config{Path: a.path, Damage: a.reports.Damage()})
	if err != nil {
		a.reports.Opened(database.Opening{}, err)
		return nil, err
	}
	o, reported := a.reports.Opened(opened.Opening(), nil), a.damage
	a.explained = a.wasLost || o.SetAside != ""
	a.damage, a.wasLost = nil, false
	switch {
	case o.SetAside == "" && reported != nil:
		a.log.Warn("the archive was reported as damaged, but a check finds nothing; it stays in use",
			"archive", a.path, errAttr(reported))
	case o.SetAside == "":
	case reported != nil:
		a.losses.lost("archive", a.path, reported, o)
	default:
		a.log.Error("the archive was damaged; it was set aside, and a new one was created",
			"setAside", o.SetAside, errAttr(o.Why))
	}
	a.log.Info("archive opened", "path", a.path, "took", time.Since(began).Round(time.Millisecond))
	return opened, nil
}

// differs reports that the archive and the journal do not belong together: a person has replaced one
// of the files while no server ran.
func (a *opener) differs(d journal.Difference) {
	if a.explained && d == journal.OtherArchive {
		return
	}
	a.replaced.WithLabelValues(string(d)).Inc()
	switch d {
	case journal.OtherArchive:
		a.log.Error("the archive is not that of the journal: it is new, or of another directory; traces that were "+
			"archived before are missing", "archive", a.path, "do", "stop the server and move the old file back, or "+
			"restore a backup; otherwise this archive continues")
	case journal.OlderArchive:
		a.log.Warn("the archive is older than the journal, as a restored backup is; the latest archived traces are "+
			"missing", "archive", a.path)
	case journal.OlderJournal:
		a.log.Error("the journal is older than the archive; it continues after the archive, and the changes in "+
			"between are read again as far as the API server has them", "archive", a.path,
			"do", "find out what changed the journal's file")
	}
}

// lost reports an archive that was lost or damaged while the server ran.
func (a *opener) lost(why error) {
	a.reports.Add(why)
	a.damage = why // open reports it
	var gone *store.LostError
	if errors.As(why, &gone) {
		a.damage, a.wasLost = nil, true
		a.losses.lost("archive", a.path, why, database.Opening{})
	}
}

// tried notes the result of the writer's last attempt, and logs each new error.
func (a *opener) tried(err error) {
	if err != nil {
		a.errors.Inc()
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	before := a.trouble
	a.trouble = err
	switch {
	case err == nil && before != nil:
		a.log.Info("the archive is writable again")
	case errors.Is(err, store.ErrDamaged): // losses has logged it
	case err != nil && (before == nil || before.Error() != err.Error()):
		a.log.Error("cannot write to the archive; finished traces wait in the journal",
			errAttr(err), "do", adviceFor(err))
	}
}

// adviceFor returns what to do about an error of the archive.
func adviceFor(err error) string {
	switch {
	case errors.Is(err, store.ErrFull):
		return "make room on the disk, or lower retention.size"
	case errors.Is(err, store.ErrReadOnly):
		return "make dataDir writable"
	case errors.Is(err, store.ErrForeign):
		return "move the file away, or set another dataDir"
	case errors.Is(err, store.ErrNewer):
		return "run a newer version of lifeline, or move the file away"
	case errors.Is(err, store.ErrInUse):
		return "end the other process"
	}
	return "see the error"
}

// check is a note of health.
func (a *opener) check() error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.trouble != nil {
		return fmt.Errorf("finished traces wait in the journal: %w", a.trouble)
	}
	return nil
}
