// SPDX-License-Identifier: Apache-2.0

package serve

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/kube-lifeline/lifeline/app/internal/archive"
	"github.com/kube-lifeline/lifeline/app/internal/database"
	"github.com/kube-lifeline/lifeline/app/internal/journal"
	"github.com/kube-lifeline/lifeline/app/internal/received"
	"github.com/kube-lifeline/lifeline/app/internal/store"
	"github.com/kube-lifeline/lifeline/app/internal/store/sqlite"
	"github.com/kube-lifeline/lifeline/app/internal/view"
)

// archivePatience bounds the time for which the API waits for the archive at the start.
const archivePatience = 5 * time.Second

// openStorage opens the cluster's journal and restores a recorder from it. The archive is opened in
// the background.
func (s *server) openStorage(ctx context.Context) (*restored, error) {
	dir, err := place(s.conf.Load().DataDir, s.cluster)
	if err != nil {
		return nil, err
	}
	if err := s.openJournal(ctx, dir); err != nil {
		return nil, err
	}
	r, err := s.restore(ctx, dir)
	if err != nil {
		return nil, errors.Join(err, s.journal.Close())
	}
	return r, nil
}

// openJournal opens the journal and marks it as filled.
func (s *server) openJournal(ctx context.Context, dir string) error {
	path := journalFile(dir)
	j, err := journal.Open(ctx, path)
	if errors.Is(err, store.ErrNewer) || errors.Is(err, store.ErrForeign) {
		aside, moved := database.SetAside(path, "unusable", time.Now(), err)
		if moved != nil {
			return moved
		}
		s.log.Error("the journal cannot be used; it was set aside, and the cluster is read again",
			errAttr(err), "setAside", aside.SetAside)
		j, err = journal.Open(ctx, path)
	}
	if errors.Is(err, store.ErrInUse) {
		s.log.Error("another lifeline serve has this data directory: end it, or set another dataDir", "dataDir", dir)
	}
	if err != nil {
		return err
	}
	if o := j.Opening(); o.SetAside != "" {
		s.log.Error("the journal was damaged; it was set aside, and the cluster is read again",
			"setAside", o.SetAside, errAttr(o.Why))
	}
	j.Wrote = func(took time.Duration) { s.metrics.StoreWrite.Observe(took.Seconds()) }
	j.Renewed = func(why error, o database.Opening) { s.renewed(path, why, o) }
	if err := j.Commit(ctx, &journal.Changes{
		AsOf: time.Now(), State: map[string][]byte{filledState: {1}},
	}); err != nil {
		return errors.Join(err, j.Close())
	}
	s.journal = j
	return nil
}

// restore restores the recorder and what is in memory besides it.
func (s *server) restore(ctx context.Context, dir string) (*restored, error) {
	began := time.Now()
	o := s.recorderOptions()
	var err error
	if o.Joining, err = s.newJoining(ctx); err != nil {
		return nil, err
	}
	if o.Notices, err = s.newNotices(ctx); err != nil {
		return nil, err
	}
	left, err := s.journal.Pending(ctx, journal.Archive)
	if err != nil {
		return nil, err
	}
	s.view = view.New(s.journal.Read, func() (store.Reader, error) { return s.archive.Reader() })
	s.view.Cluster = s.cluster
	s.view.Restore(left)
	o.Held = s.view.Held
	r, err := restore(ctx, s.journal, o, time.Now().Add(maxAhead))
	if err != nil {
		return nil, err
	}
	s.clock = newClock(time.Now, r.last, func(by time.Duration) {
		s.metrics.ClockJumps.Inc()
		s.log.Warn("the clock of this machine has jumped; times follow it slowly", "by", by.Round(time.Millisecond))
	})
	s.received = received.New(s.clock.Now())
	s.archive = s.newArchive(dir, left)
	if r.discarded != nil {
		s.log.Warn("the saved state could not be restored: the cluster is read again", errAttr(r.discarded))
	}
	s.log.Info("journal opened", "dataDir", dir, "cluster", s.cluster, "waitForArchive", len(left),
		"replayed", r.observations, "took", time.Since(began).Round(time.Millisecond))
	return r, nil
}

// newArchive returns the writer of the archive.
func (s *server) newArchive(dir string, left []journal.Item) *archive.Writer {
	return archive.New(archive.Options{
		Open:     func(ctx context.Context) (store.Archive, error) { return s.openArchive(ctx, dir) },
		Log:      s.journal,
		Read:     s.view.Entry,
		Archived: s.view.Archived,
		Lost:     func(why error) { s.lostArchive(archiveFile(dir), why) },
		Wrote:    func(took time.Duration) { s.metrics.ArchiveWrite.Observe(took.Seconds()) },
		Refused: func(i journal.Item, why error) {
			s.log.Error("the archive refuses a finished trace; the trace is left out, and later ones follow",
				"trace", i.TraceID, "spans", i.Spans, errAttr(why))
		},
		Trouble: s.archiveTrouble,
		Now:     s.clock.Now,
	}, left)
}

// startArchive starts the archive's writer. The returned function ends it: it writes the rest and
// closes the archive.
func (s *server) startArchive() (end func() error) {
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	writer := s.archive // a test replaces the field
	go func() { ended <- writer.Run(ctx) }()
	return func() error { cancel(); return <-ended }
}

// openArchive opens the archive. A damaged one is set aside.
func (s *server) openArchive(ctx context.Context, dir string) (store.Archive, error) {
	if _, err := place(s.conf.Load().DataDir, s.cluster); err != nil { // the directory may be deleted meanwhile
		return nil, err
	}
	began := time.Now()
	a, err := sqlite.Open(ctx, store.Config{
		Path: archiveFile(dir), Damage: s.archiveReports.Damage(),
	})
	if err != nil {
		s.archiveReports.Opened(database.Opening{}, err)
		return nil, err
	}
	o, reported := s.archiveReports.Opened(a.Opening(), nil), s.archiveDamage
	s.archiveDamage = nil
	switch {
	case o.SetAside == "" && reported != nil:
		s.log.Warn("the archive was reported as damaged, but a check finds nothing; it stays in use",
			"archive", archiveFile(dir), errAttr(reported))
	case o.SetAside == "":
	case reported != nil:
		s.lost("archive", archiveFile(dir), reported, o)
	default:
		s.log.Error("the archive was damaged; it was set aside, and a new one was created",
			"setAside", o.SetAside, errAttr(o.Why))
	}
	s.log.Info("archive opened", "path", archiveFile(dir), "took", time.Since(began).Round(time.Millisecond))
	return a, nil
}

// lostArchive reports an archive that was lost or damaged while the server ran.
func (s *server) lostArchive(path string, why error) {
	s.archiveReports.Add(why)
	s.archiveDamage = why // openArchive reports it
	var gone *store.LostError
	if errors.As(why, &gone) {
		s.archiveDamage = nil
		s.lost("archive", path, why, database.Opening{})
	}
}

// renewed reports a journal that was lost while the server ran, and reopened.
func (s *server) renewed(path string, why error, o database.Opening) {
	var gone *store.LostError
	if !errors.As(why, &gone) && o.SetAside == "" {
		s.log.Warn("the journal was reported as damaged, but a check finds nothing; it stays in use",
			"journal", path, errAttr(why))
		return
	}
	s.lost("journal", path, why, o)
}

// lost reports the journal or the archive, lost or damaged while the server ran.
func (s *server) lost(what, path string, why error, o database.Opening) {
	aside := o.SetAside
	var gone *store.LostError
	if errors.As(why, &gone) {
		why, aside = gone, cmp.Or(aside, gone.SetAside)
	}
	gap := "open traces continue; spans that were not sent yet are lost"
	if what == "archive" {
		gap = "its traces, except those that can be read from setAside"
	}
	s.metrics.StoresLost.Inc()
	s.state.set(func(st *state) { st.lost, st.lostAt = why, time.Now() })
	s.log.Error("the "+what+" was lost while the server ran; a new one begins", what, path, errAttr(why),
		"setAside", aside, "lost", gap, "do", "find out what changed the file")
}

// archiveTrouble notes the result of the last attempt of the archive's writer, and logs each new error.
func (s *server) archiveTrouble(err error) {
	if err != nil {
		s.metrics.StoreErrors.Inc()
	}
	s.state.set(func(st *state) {
		before := st.archiveTrouble
		st.archiveTrouble = err
		switch {
		case err == nil && before != nil:
			s.log.Info("the archive is writable again")
		case errors.Is(err, store.ErrDamaged): // lost has logged it
		case err != nil && (before == nil || before.Error() != err.Error()):
			s.log.Error("cannot write to the archive; finished traces wait in the journal",
				errAttr(err), "do", adviceFor(err))
		}
	})
}

// adviceFor returns what to do about an error of the archive.
func adviceFor(err error) string {
	switch {
	case errors.Is(err, store.ErrFull):
		return "make room on the disk, or lower retention.size"
	case errors.Is(err, store.ErrReadOnly):
		return "make dataDir writable"
	case errors.Is(err, store.ErrForeign):
		return "move the file away: the server creates a new one; or set another dataDir"
	case errors.Is(err, store.ErrNewer):
		return "run a newer version of lifeline, or move the file away"
	case errors.Is(err, store.ErrInUse):
		return "end the other process"
	}
	return "see the error"
}

// archiving is a note of health.
func (s *server) archiving() (err error) {
	s.state.set(func(st *state) {
		if st.archiveTrouble != nil {
			err = fmt.Errorf("finished traces wait in the journal: %w", st.archiveTrouble)
		}
	})
	return err
}
