// SPDX-License-Identifier: Apache-2.0

package command

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/kube-lifeline/lifeline/app/internal/api"
	"github.com/kube-lifeline/lifeline/app/internal/archive/document"
	"github.com/kube-lifeline/lifeline/app/internal/archive/maintenance"
	"github.com/kube-lifeline/lifeline/app/internal/cli"
	"github.com/kube-lifeline/lifeline/app/internal/datadir"
	"github.com/kube-lifeline/lifeline/app/internal/pipeline"
	"github.com/kube-lifeline/lifeline/app/internal/span"
	"github.com/kube-lifeline/lifeline/app/internal/store"
	"github.com/kube-lifeline/lifeline/app/internal/store/sqlite"
)

// Trace prints one trace of an export or of a data directory, without a server's API:
// `lifeline trace --archive`.
type Trace struct {
	cli.Options
	// From is an export, "-" for stdin, a data directory, or the directory of a cluster in one.
	From string
	// ID is a trace ID, or its first digits.
	ID string
}

// Validate returns an error for invalid options.
func (t *Trace) Validate() error {
	if err := maintenance.CheckID(t.ID); err != nil {
		return fmt.Errorf("--archive: %w", err)
	}
	return nil
}

// Run prints the trace.
func (t *Trace) Run(ctx context.Context) (code int, err error) {
	o := Options{Streams: t.Streams}
	return o.interruptible(ctx, fmt.Sprintf("print trace %s of %s", t.ID, t.From), func(ctx context.Context) error {
		found, err := t.find(ctx)
		if err != nil {
			return err
		}
		return t.print(ctx, found)
	})
}

// find returns the only trace with the ID.
func (t *Trace) find(ctx context.Context) (*document.Trace, error) {
	info, err := os.Stat(t.From)
	if t.From != "-" && err != nil {
		return nil, err
	}
	s := &search{id: strings.ToLower(t.ID)}
	if t.From == "-" || !info.IsDir() {
		err = t.readExport(s)
	} else {
		err = t.readArchive(ctx, s)
	}
	switch {
	case err != nil:
		return nil, err
	case len(s.found) == 0:
		return nil, errors.New("there is no such trace; open traces are not in an archive")
	case len(s.found) > 1:
		return nil, fmt.Errorf(
			"several traces begin with it, such as %s and %s: give more digits",
			s.found[0].ID(),
			s.found[1].ID(),
		)
	}
	return s.found[0], nil
}

func (t *Trace) readExport(s *search) error {
	i := Import{Options: Options{Streams: t.Streams}, File: t.From}
	in, done, err := i.open()
	if err != nil {
		return err
	}
	defer done()
	from := &lines{in: in, most: maintenance.MaxLine, skip: true}
	for {
		line, err := from.next()
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case errors.Is(err, errTooLong):
			continue
		case err != nil:
			return i.at(from.number, err)
		}
		if from.number == 1 { // another kind of file has no such trace either
			if _, err := document.Decode(line); err != nil {
				return i.at(1, err)
			}
		}
		if err := s.take(line); err != nil {
			return i.at(from.number, err)
		}
	}
}

func (t *Trace) readArchive(ctx context.Context, s *search) error {
	dir := t.From
	if _, err := os.Stat(datadir.Archive(dir)); err != nil {
		o := Options{Streams: t.Streams, DataDir: t.From}
		if dir, err = o.cluster(); err != nil {
			return fmt.Errorf("%w; a cluster's own directory may also be named", err)
		}
	}
	o := Options{Streams: t.Streams}
	return o.connected(ctx, dir, false, func(ctx context.Context, ops maintenance.Operations) error {
		_, err := ops.Export(ctx, maintenance.Filter{ID: t.ID}, s)
		return err
	})
}

// search is a writer of the lines of an export. It keeps the traces with an ID.
type search struct {
	id      string
	partial []byte
	found   []*document.Trace
}

// Write implements io.Writer.
func (s *search) Write(data []byte) (int, error) {
	for rest := data; len(rest) > 0; {
		line, after, whole := bytes.Cut(rest, []byte("\n"))
		s.partial, rest = append(s.partial, line...), after
		if !whole {
			break
		}
		if err := s.take(s.partial); err != nil {
			return 0, err
		}
		s.partial = s.partial[:0]
	}
	return len(data), nil
}

// take decodes a line only if it has the digits at all.
func (s *search) take(line []byte) error {
	if len(s.found) > 1 || !bytes.Contains(line, []byte(s.id)) {
		return nil
	}
	one, err := document.Decode(line)
	if err != nil {
		return err
	}
	if strings.HasPrefix(one.ID().String(), s.id) {
		s.found = append(s.found, one)
	}
	return nil
}

// print prints a trace. A temporary archive merges its versions.
func (t *Trace) print(ctx context.Context, found *document.Trace) (err error) {
	dir, err := os.MkdirTemp("", "lifeline-trace-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	a, err := sqlite.Open(ctx, store.Config{Path: filepath.Join(dir, "trace.db")})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, a.Close()) }()
	for _, b := range found.Batches {
		if err := a.Write(ctx, b); err != nil {
			return err
		}
	}
	access := store.NewGate(a, store.Whole).For(store.Scope{})
	rec, err := access.Trace(ctx, found.ID())
	if err != nil {
		return err
	}
	asOf := rec.Summary().AsOf
	if t.Output != cli.OutputHTML {
		p := pipeline.NewDisplay(t.Options, found.Cluster)
		return errors.Join(p.Print([]*span.Trace{rec.Trace()}, asOf), p.View.Close())
	}
	causes, err := access.Causes(ctx, found.ID())
	if err != nil {
		return err
	}
	var file bytes.Buffer
	if err := api.HTML(&file, rec, causes, asOf, ""); err != nil {
		return err
	}
	_, err = t.Streams.Out.Write(file.Bytes())
	return err
}
