// SPDX-License-Identifier: Apache-2.0

package maintenance

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"time"

	"github.com/kube-lifeline/lifeline/app/internal/archive"
	"github.com/kube-lifeline/lifeline/app/internal/database"
	"github.com/kube-lifeline/lifeline/app/internal/datadir"
	"github.com/kube-lifeline/lifeline/app/internal/journal"
	"github.com/kube-lifeline/lifeline/app/internal/store"
	"github.com/kube-lifeline/lifeline/app/internal/store/sqlite"
)

// Connect returns the operations of the server that runs on the directory of a cluster. Without a
// server it opens the archive itself; create allows a new one.
func Connect(ctx context.Context, dir string, create bool) (Operations, error) {
	c, err := Dial(ctx, dir)
	if err == nil {
		return c, nil
	}
	if !errors.Is(err, ErrNoServer) {
		return nil, err
	}
	return Open(ctx, dir, create)
}

// Open locks and opens the archive in the directory of a cluster. It archives the finished traces
// that a server has left in its journal. Without an archive, it returns ErrNoArchive, or creates one
// in the existing directory.
func Open(ctx context.Context, dir string, create bool) (*Local, error) {
	hasJournal, err := exists(datadir.Journal(dir))
	if err != nil {
		return nil, err
	}
	hasArchive, err := exists(datadir.Archive(dir))
	if err != nil {
		return nil, err
	}
	if !hasJournal && !hasArchive && !create {
		return nil, fmt.Errorf("%w in %s", ErrNoArchive, dir)
	}
	l, err := open(ctx, dir, hasJournal)
	if err == nil {
		_ = RemoveCopies(dir) // the next start tries again
	}
	if errors.Is(err, store.ErrInUse) {
		err = fmt.Errorf("%w, and that process offers no archive operations on %s: it starts or ends just now; "+
			"try again, or stop it first", err, datadir.Socket(dir))
	}
	return l, err
}

func exists(path string) (bool, error) {
	_, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil, err
}

func open(ctx context.Context, dir string, hasJournal bool) (*Local, error) {
	l := &Local{UID: filepath.Base(dir), Dir: dir}
	if !hasJournal {
		a, err := openArchive(ctx, dir)
		if err != nil {
			return nil, err
		}
		l.Archive, l.close = func() (store.Archive, error) { return a, nil }, a.Close
		return l, nil
	}
	j, err := journal.Open(ctx, datadir.Journal(dir))
	if err != nil {
		return nil, err
	}
	if o := j.Opening(); o.SetAside != "" {
		return nil, errors.Join(setAside("journal", o), j.Close())
	}
	w, end, err := l.flushed(ctx, j, dir)
	if err != nil {
		return nil, errors.Join(err, j.Close())
	}
	l.Archive, l.Log, l.Journal = w.Archive, w, j
	l.close = func() error { return errors.Join(end(), j.Close()) }
	return l, nil
}

func openArchive(ctx context.Context, dir string) (store.Archive, error) {
	a, err := sqlite.Open(ctx, store.Config{Path: datadir.Archive(dir)})
	if err != nil {
		return nil, err
	}
	if o := a.Opening(); o.SetAside != "" {
		return nil, errors.Join(setAside("archive", o), a.Close())
	}
	return a, nil
}

func setAside(what string, o database.Opening) error {
	return fmt.Errorf("the %s was damaged: it is now %s, and a new one is empty (%w)", what, o.SetAside, o.Why)
}

// flushed opens the archive behind the log of a journal, and archives the log.
func (l *Local) flushed(ctx context.Context, j *journal.Journal, dir string) (*archive.Writer, func() error, error) {
	left, err := j.Pending(ctx, journal.Archive)
	if err != nil {
		return nil, nil, err
	}
	running, stop := context.WithCancel(context.WithoutCancel(ctx))
	waiting, fail := context.WithCancelCause(ctx)
	defer fail(nil)
	w := archive.New(archive.Options{
		Open:     func(ctx context.Context) (store.Archive, error) { return openArchive(ctx, dir) },
		Log:      j,
		Journal:  j,
		Differs:  func(d journal.Difference) { l.Difference = d },
		Read:     j.Read,
		Archived: func([]uint64) {},
		Lost:     func(why error) { fail(why) },
		Trouble: func(err error) {
			if err != nil {
				fail(err)
			}
		},
		// Only a server drops traces.
		MaxBytes: math.MaxInt, MaxAge: math.MaxInt64, Now: time.Now,
	}, left)
	ended := make(chan error, 1)
	go func() { ended <- w.Run(running) }()
	end := func() error { stop(); return <-ended }
	select {
	case <-w.Opened():
		err = w.Flush(waiting)
	case <-waiting.Done():
		err = context.Cause(waiting)
	}
	if err != nil {
		return nil, nil, errors.Join(err, end())
	}
	return w, end, nil
}
