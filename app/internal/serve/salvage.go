// SPDX-License-Identifier: Apache-2.0

package serve

import (
	"context"
	"errors"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/kube-lifeline/lifeline/app/internal/journal"
	"github.com/kube-lifeline/lifeline/app/internal/store"
	"github.com/kube-lifeline/lifeline/app/internal/store/sqlite"
)

// salvageState prefixes the names of state with the damaged archives that were set aside, by the
// name of the file. The value is the position in the file from which to go on.
const salvageState = "salvage/"

// salvageEvery is the period of the search for such files. A part of one waits meanwhile.
const salvageEvery = 2 * time.Second

// damagedArchive notes an archive that was set aside, for salvage. A part of one, such as its log, is
// not readable.
func (s *server) damagedArchive(aside string) {
	if aside == "" || strings.HasSuffix(aside, "-wal") || strings.HasSuffix(aside, "-shm") {
		return
	}
	err := s.salvaged(context.Background(), filepath.Base(aside), []byte("0"))
	if err != nil {
		s.log.Warn("the damaged archive will not be searched for readable traces", "file", aside, errAttr(err))
	}
}

// salvaged saves the position in a file; nil ends its salvage.
func (s *server) salvaged(ctx context.Context, file string, at []byte) error {
	return s.journal.Commit(ctx, &journal.Changes{
		AsOf: s.clock.Now(), State: map[string][]byte{salvageState + file: at},
	})
}

// salvage copies the readable traces of damaged archives into the present one, until ctx ends. The
// files stay where they are.
func (s *server) salvage(ctx context.Context) error {
	ticker := time.NewTicker(salvageEvery)
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return nil
		}
		files, err := s.journal.States(ctx, salvageState)
		if err != nil {
			continue // the loop reports it
		}
		for name, at := range files {
			s.salvageFile(ctx, strings.TrimPrefix(name, salvageState), at)
		}
	}
}

// salvageFile copies the traces of one file, and logs the result. It goes on later if the archive or
// the journal cannot be written.
func (s *server) salvageFile(ctx context.Context, file string, at []byte) {
	dir := filepath.Dir(s.journal.Path())
	path := filepath.Join(dir, filepath.Base(file))
	from, _ := strconv.ParseInt(string(at), 10, 64) // 0 if it is no number: the beginning
	began := time.Now()
	got, err := sqlite.Salvage(ctx, path, from, s.takeIn(file))
	switch {
	case ctx.Err() != nil, errors.Is(err, errArchiveAway):
		return
	case err != nil:
		s.log.Warn(
			"no trace of the damaged archive can be read; the file stays where it is",
			"file",
			path,
			errAttr(err),
		)
	default:
		s.log.Info("the readable traces of the damaged archive are in the new one; the file stays where it is",
			"file", path, "traces", got.Traces, "spans", got.Spans, "lost", got.Lost, "unreadable", got.Unreadable,
			"took", time.Since(began).Round(time.Millisecond))
	}
	if err := s.salvaged(ctx, file, nil); err != nil {
		s.log.Warn("the damaged archive will be searched again", "file", path, errAttr(err))
	}
}

// errArchiveAway ends a salvage that goes on later.
var errArchiveAway = errors.New("the archive or the journal cannot be written now")

// takeIn returns a function that writes a part of a damaged file to the archive and saves the
// position after it.
func (s *server) takeIn(file string) func(context.Context, *sqlite.Part) error {
	return func(ctx context.Context, p *sqlite.Part) error {
		a, err := s.archive.Archive()
		if err != nil {
			return errors.Join(errArchiveAway, err)
		}
		for _, b := range p.Batches {
			if err := a.Write(ctx, b); err != nil {
				return errors.Join(errArchiveAway, err)
			}
		}
		for _, id := range p.Pinned {
			if err := a.Pin(ctx, id, true); err != nil && !errors.Is(err, store.ErrNotFound) {
				return errors.Join(errArchiveAway, err)
			}
		}
		if err := s.salvaged(ctx, file, strconv.AppendInt(nil, p.Next, 10)); err != nil {
			return errors.Join(errArchiveAway, err)
		}
		return nil
	}
}
