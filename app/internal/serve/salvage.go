// SPDX-License-Identifier: Apache-2.0

package serve

import (
	"context"
	"errors"
	"io/fs"
	"maps"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/kube-lifeline/lifeline/app/internal/journal"
	"github.com/kube-lifeline/lifeline/app/internal/store"
	"github.com/kube-lifeline/lifeline/app/internal/store/sqlite"
)

// salvageState prefixes names of state with the damaged archives that were set aside, by the name of
// the file. The value is the position in the file from which to go on.
const salvageState = "salvage/"

// salvageEvery is the period of the attempts.
const salvageEvery = 2 * time.Second

// salvages are the damaged archives that were set aside, with the position in each. The journal has
// a copy for the next process. It is safe for concurrent use; the zero value has none.
type salvages struct {
	mu sync.Mutex
	at map[string]int64
}

// set changes the position in a file. A file that is known stays where it is at 0.
func (s *salvages) set(file string, at int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.at == nil {
		s.at = map[string]int64{}
	}
	s.at[file] = max(s.at[file], at)
}

func (s *salvages) remove(file string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.at, file)
}

func (s *salvages) all() map[string]int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return maps.Clone(s.at)
}

// damagedArchive notes an archive that was set aside, for salvage. A part of one, such as its log, is
// not readable.
func (s *server) damagedArchive(aside string) {
	if aside == "" || strings.HasSuffix(aside, "-wal") || strings.HasSuffix(aside, "-shm") {
		return
	}
	file := filepath.Base(aside)
	s.salvages.set(file, 0)
	if err := s.saveSalvage(context.Background(), file, []byte("0")); err != nil {
		// The first part saves it again.
		s.log.Warn(
			"a restart now would not search the damaged archive for readable traces",
			"file",
			aside,
			errAttr(err),
		)
	}
}

// saveSalvage saves the position in a file; nil removes it.
func (s *server) saveSalvage(ctx context.Context, file string, at []byte) error {
	return s.journal.Commit(ctx, &journal.Changes{
		AsOf: s.clock.Now(), State: map[string][]byte{salvageState + file: at},
	})
}

// salvage copies the readable traces of damaged archives into the present one, until ctx ends. The
// files stay where they are.
func (s *server) salvage(ctx context.Context) error {
	found, err := s.journal.States(ctx, salvageState)
	if err != nil {
		s.log.Warn("the salvage of damaged archives does not go on", errAttr(err))
	}
	for name, text := range found {
		at, _ := strconv.ParseInt(string(text), 10, 64) // 0 if it is no number: the beginning
		s.salvages.set(strings.TrimPrefix(name, salvageState), at)
	}
	told := map[string]string{} // the last error of each file
	ticker := time.NewTicker(salvageEvery)
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return nil
		}
		for file, at := range s.salvages.all() {
			err := s.salvageFile(ctx, file, at)
			if err != nil && ctx.Err() == nil && told[file] != err.Error() {
				told[file] = err.Error()
				s.log.Warn("the salvage of a damaged archive waits", "file", file, errAttr(err))
			}
		}
	}
}

// salvageFile copies the traces of one file, and logs the result. An error means that it goes on
// later.
func (s *server) salvageFile(ctx context.Context, file string, from int64) error {
	path := filepath.Join(filepath.Dir(s.journal.Path()), filepath.Base(file))
	began := time.Now()
	got, err := sqlite.Salvage(ctx, path, from, s.takeIn(file))
	hopeless := errors.Is(err, store.ErrDamaged) || errors.Is(err, fs.ErrNotExist) ||
		errors.Is(err, store.ErrForeign) || errors.Is(err, store.ErrNewer)
	switch {
	case err == nil:
		s.log.Info("the readable traces of the damaged archive are in the new one; the file stays where it is",
			"file", path, "traces", got.Traces, "spans", got.Spans, "lost", got.Lost, "unreadable", got.Unreadable,
			"took", time.Since(began).Round(time.Millisecond))
	case hopeless && !errors.Is(err, errArchiveAway):
		s.log.Warn("the rest of the damaged archive cannot be read; the file stays where it is",
			"file", path, "traces", got.Traces, errAttr(err))
	default:
		return err
	}
	s.salvages.remove(file)
	return s.saveSalvage(ctx, file, nil)
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
		if err := s.saveSalvage(ctx, file, strconv.AppendInt(nil, p.Next, 10)); err != nil {
			return errors.Join(errArchiveAway, err)
		}
		s.salvages.set(file, p.Next)
		return nil
	}
}
