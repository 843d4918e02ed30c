// SPDX-License-Identifier: Apache-2.0

package serve

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/kube-lifeline/lifeline/app/internal/archive"
	"github.com/kube-lifeline/lifeline/app/internal/config"
	"github.com/kube-lifeline/lifeline/app/internal/database"
	"github.com/kube-lifeline/lifeline/app/internal/journal"
	"github.com/kube-lifeline/lifeline/app/internal/store"
	"github.com/kube-lifeline/lifeline/app/internal/view"
)

// storage is the part with a cluster's data: the journal, the recorder restored from it, the archive,
// and the view over all. Its writer of the archive runs from Start to Stop, and opens the archive in
// the background. Stop closes the journal, too.
type storage struct {
	dir      string
	journal  *journal.Journal
	recorder *restored
	clock    *clock
	view     *view.View
	archive  *archive.Writer
	opener   *opener

	writing background
	ended   error
}

// storageOptions configure a storage. Held of Recorder is set by openStorage, and Notices from its
// configuration.
type storageOptions struct {
	DataDir, Cluster string
	Recorder         recorderOptions
	Notices          *config.NoticesConfiguration
	Losses           *losses
	Metrics          *storageMetrics
	Archive          *archive.Metrics
	Log              *slog.Logger
}

// openStorage opens the cluster's journal and restores the recorder from it.
func openStorage(ctx context.Context, o *storageOptions) (*storage, error) {
	dir, err := place(o.DataDir, o.Cluster)
	if err != nil {
		return nil, err
	}
	s := &storage{dir: dir}
	if s.journal, err = openJournal(ctx, dir, o); err != nil {
		return nil, err
	}
	if err := s.restore(ctx, o); err != nil {
		return nil, errors.Join(err, s.journal.Close())
	}
	return s, nil
}

// openJournal opens the journal and marks it as filled.
func openJournal(ctx context.Context, dir string, o *storageOptions) (*journal.Journal, error) {
	path := journalFile(dir)
	j, err := journal.Open(ctx, path)
	if errors.Is(err, store.ErrNewer) {
		return nil, fmt.Errorf("%w: run that version again; docs/upgrade.md has the way to an older one", err)
	}
	if errors.Is(err, store.ErrForeign) {
		aside, moved := database.SetAside(path, "unusable", time.Now(), err)
		if moved != nil {
			return nil, moved
		}
		o.Log.Error("the journal cannot be used; it was set aside, and the cluster is read again",
			errAttr(err), "setAside", aside.SetAside)
		j, err = journal.Open(ctx, path)
	}
	if errors.Is(err, store.ErrInUse) {
		o.Log.Error("another lifeline serve has this data directory: end it, or set another dataDir", "dataDir", dir)
	}
	if err != nil {
		return nil, err
	}
	if opening := j.Opening(); opening.SetAside != "" {
		o.Log.Error("the journal was damaged; it was set aside, and the cluster is read again",
			"setAside", opening.SetAside, errAttr(opening.Why))
	}
	j.Wrote = func(took time.Duration) { o.Metrics.write.Observe(took.Seconds()) }
	j.Renewed = func(why error, opening database.Opening) { o.Losses.renewed(path, why, opening) }
	if err := markFilled(ctx, j); err != nil {
		return nil, errors.Join(err, j.Close())
	}
	return j, nil
}

// markFilled marks a new journal as filled. A known one needs no write: the server must start on a full disk.
func markFilled(ctx context.Context, j *journal.Journal) error {
	if _, err := j.State(ctx, filledState); !errors.Is(err, store.ErrNotFound) {
		return err
	}
	return j.Commit(ctx, &journal.Changes{AsOf: time.Now(), State: map[string][]byte{filledState: {1}}})
}

// restore restores the recorder and what is in memory besides it.
func (s *storage) restore(ctx context.Context, o *storageOptions) error {
	began := time.Now()
	var err error
	if o.Recorder.Notices, err = restoreNotices(ctx, s.journal, o.Notices, o.Log); err != nil {
		return err
	}
	left, err := s.journal.Pending(ctx, journal.Archive)
	if err != nil {
		return err
	}
	s.view = view.New(s.journal.Read, func() (store.Stored, error) { return s.archive.Reader() })
	s.view.Cluster = o.Cluster
	s.view.Restore(left)
	o.Recorder.Held = s.view.Held
	if s.recorder, err = restore(ctx, s.journal, o.Recorder, time.Now().Add(maxAhead)); err != nil {
		return err
	}
	s.clock = newClock(time.Now, s.recorder.last, func(by time.Duration) {
		o.Metrics.jumps.Inc()
		o.Log.Warn("the clock of this machine has jumped; times follow it slowly", "by", by.Round(time.Millisecond))
	})
	s.opener = &opener{
		dataDir: o.DataDir, cluster: o.Cluster, path: archiveFile(s.dir),
		log: o.Log, losses: o.Losses, errors: o.Metrics.errors, replaced: o.Metrics.replaced,
	}
	s.archive = s.newArchive(o, left)
	if s.recorder.discarded != nil {
		o.Log.Warn("the saved state could not be restored: the cluster is read again", errAttr(s.recorder.discarded))
	}
	o.Log.Info("journal opened", "dataDir", s.dir, "cluster", o.Cluster, "waitForArchive", len(left),
		"replayed", s.recorder.observations, "took", time.Since(began).Round(time.Millisecond))
	return nil
}

// newArchive returns the writer of the archive.
func (s *storage) newArchive(o *storageOptions, left []journal.Item) *archive.Writer {
	return archive.New(archive.Options{
		Open:     s.opener.open,
		Log:      s.journal,
		Journal:  s.journal,
		Differs:  s.opener.differs,
		Read:     s.view.Entry,
		Archived: s.view.Archived,
		Lost:     s.opener.lost,
		Wrote:    o.Archive.Wrote,
		Refused: func(i journal.Item, why error) {
			o.Log.Error("the archive refuses a finished trace; the trace is left out, and later ones follow",
				"trace", i.TraceID, "spans", i.Spans, errAttr(why))
		},
		Trouble: s.opener.tried,
		Now:     s.clock.Now,
	}, left)
}

// Start implements part.
func (s *storage) Start(ctx context.Context) error {
	writer := s.archive // a test replaces the field
	s.writing.begin(ctx, func(ctx context.Context) { s.ended = writer.Run(ctx) })
	return nil
}

// Stop implements part. The archive's writer writes the rest and closes the archive.
func (s *storage) Stop() error {
	s.writing.end()
	return errors.Join(s.ended, s.journal.Close())
}
