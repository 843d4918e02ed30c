// SPDX-License-Identifier: Apache-2.0

package serve

import (
	"context"
	"errors"
	"io/fs"
	"log/slog"
	"path/filepath"
	"strconv"
	"time"

	"github.com/kube-lifeline/lifeline/app/internal/archive"
	"github.com/kube-lifeline/lifeline/app/internal/database"
	"github.com/kube-lifeline/lifeline/app/internal/journal"
	"github.com/kube-lifeline/lifeline/app/internal/store"
	"github.com/kube-lifeline/lifeline/app/internal/store/sqlite"
)

// salvageState prefixes names of state with the position in a damaged archive that was set aside, by
// the name of the file. The salvage continues there after a restart.
const salvageState = "salvage/"

// salvageEvery is the period of the attempts.
const salvageEvery = 2 * time.Second

// salvages copies the readable traces of damaged archives into the present one. It is for one
// goroutine.
type salvages struct {
	journal *journal.Journal
	archive *archive.Writer
	now     func() time.Time
	log     *slog.Logger
	// at has the position in each file. The journal has a copy, which may be lost.
	at map[string]int64
	// logged has the last logged error of each file.
	logged map[string]string
}

func newSalvages(j *journal.Journal, a *archive.Writer, now func() time.Time, log *slog.Logger) *salvages {
	return &salvages{journal: j, archive: a, now: now, log: log, at: map[string]int64{}, logged: map[string]string{}}
}

// run copies the traces of damaged archives, until ctx ends.
func (s *salvages) run(ctx context.Context) error {
	ticker := time.NewTicker(salvageEvery)
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
			s.files(ctx)
		case <-ctx.Done():
			return nil
		}
	}
}

// files copies the traces of all files. A file with an error is tried again later.
func (s *salvages) files(ctx context.Context) {
	path := archiveFile(filepath.Dir(s.journal.Path()))
	files, err := database.Damaged(path)
	if err != nil {
		s.logOnce(ctx, path, err)
	}
	for _, file := range files {
		if err := s.file(ctx, file); err != nil {
			s.logOnce(ctx, file, err)
		}
	}
}

// logOnce logs a new error.
func (s *salvages) logOnce(ctx context.Context, file string, err error) {
	if ctx.Err() == nil && s.logged[file] != err.Error() {
		s.logged[file] = err.Error()
		s.log.Warn("the salvage of a damaged archive waits", "file", file, errAttr(err))
	}
}

// file copies the traces of one file, and logs the result. The end of its name then marks it as done.
func (s *salvages) file(ctx context.Context, path string) error {
	name := salvageState + filepath.Base(path)
	if _, known := s.at[path]; !known {
		text, err := s.journal.State(ctx, name)
		if err != nil && !errors.Is(err, store.ErrNotFound) {
			return err
		}
		s.at[path], _ = strconv.ParseInt(string(text), 10, 64) // 0 if it is no number: the beginning
	}
	began := time.Now()
	got, err := sqlite.Salvage(ctx, path, s.at[path], func(ctx context.Context, p *sqlite.Part) error {
		if err := s.takeIn(ctx, p, name); err != nil {
			return errors.Join(errArchiveAway, err)
		}
		s.at[path] = p.Next
		return nil
	})
	hopeless := errors.Is(err, store.ErrDamaged) || errors.Is(err, store.ErrForeign) || errors.Is(err, store.ErrNewer)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil // the file was moved
	case err != nil && (!hopeless || errors.Is(err, errArchiveAway)):
		return err
	}
	if failed := s.save(ctx, name, nil); failed != nil {
		return failed
	}
	done, failed := database.MarkDone(path)
	if failed != nil {
		return failed
	}
	if err != nil {
		s.log.Warn("the rest of the damaged archive cannot be read; the file stays beside the new one",
			"file", done, "traces", got.Traces, errAttr(err))
		return nil
	}
	s.log.Info("the readable traces of the damaged archive are in the new one; the file stays beside it",
		"file", done, "traces", got.Traces, "spans", got.Spans, "lost", got.Lost, "unreadable", got.Unreadable,
		"took", time.Since(began).Round(time.Millisecond))
	return nil
}

// errArchiveAway ends a salvage that continues later.
var errArchiveAway = errors.New("the archive or the journal cannot be written now")

// takeIn writes a part of a damaged file to the archive and saves the position after it.
func (s *salvages) takeIn(ctx context.Context, p *sqlite.Part, name string) error {
	a, err := s.archive.Archive()
	if err != nil {
		return err
	}
	for _, b := range p.Batches {
		if err := a.Write(ctx, b); err != nil {
			s.archive.Damaged(a, err)
			return err
		}
	}
	for _, id := range p.Pinned {
		if err := a.Pin(ctx, id, true); err != nil && !errors.Is(err, store.ErrNotFound) {
			return err
		}
	}
	return s.save(ctx, name, strconv.AppendInt(nil, p.Next, 10))
}

// save saves the position in a file; nil removes it.
func (s *salvages) save(ctx context.Context, name string, at []byte) error {
	return s.journal.Commit(ctx, &journal.Changes{AsOf: s.now(), State: map[string][]byte{name: at}})
}
