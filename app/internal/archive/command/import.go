// SPDX-License-Identifier: Apache-2.0

package command

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"time"

	"github.com/kube-lifeline/lifeline/app/internal/archive/document"
	"github.com/kube-lifeline/lifeline/app/internal/archive/maintenance"
	"github.com/kube-lifeline/lifeline/app/internal/config"
	"github.com/kube-lifeline/lifeline/app/internal/datadir"
)

// Import reads the lines of an export: `lifeline archive import`.
type Import struct {
	Options
	// File is the file to read, also compressed; "-" means stdin.
	File string
	// SkipDamaged skips damaged lines and counts them. Without it, the first one is an error.
	SkipDamaged bool

	added, known, damaged, foreign int64
	// expired are the traces that the retention of the running server removes, and old those beyond the default
	// retention.
	expired, old int64
	other        string
	// alone means that no server runs on the archive.
	alone bool
}

// Run stores the traces of all lines. After an error, those of the lines before it are stored.
func (i *Import) Run(ctx context.Context) (code int, err error) {
	return i.interruptible(ctx, "import "+i.name(), func(ctx context.Context) error {
		in, done, err := i.open()
		if err != nil {
			return err
		}
		defer done()
		lines := &lines{in: in, most: maintenance.MaxLine, skip: i.SkipDamaged}
		first, failed := lines.next()
		for i.SkipDamaged && errors.Is(failed, errTooLong) {
			i.damaged++
			first, failed = lines.next()
		}
		if failed != nil && !errors.Is(failed, io.EOF) {
			return i.at(lines.number, failed)
		}
		dir, create, err := i.target(first)
		if err != nil {
			return err
		}
		lines.again(first, failed)
		err = i.connected(ctx, dir, create, func(ctx context.Context, ops maintenance.Operations) error {
			_, i.alone = ops.(*maintenance.Local)
			return i.all(ctx, ops, lines)
		})
		i.report()
		return err
	})
}

func (i *Import) name() string {
	if i.File == "-" {
		return "stdin"
	}
	return i.File
}

// at adds the place to an error.
func (i *Import) at(line int64, err error) error {
	if i.File == "-" {
		return fmt.Errorf("line %d: %w", line, err)
	}
	return fmt.Errorf("line %d of %s: %w", line, i.File, err)
}

// open returns the uncompressed input.
func (i *Import) open() (*bufio.Reader, func(), error) {
	done := func() {}
	from := i.Streams.In
	if i.File != "-" {
		f, err := os.Open(i.File)
		if err != nil {
			return nil, nil, err
		}
		from, done = f, func() { _ = f.Close() }
	}
	in := bufio.NewReaderSize(from, 1<<16)
	if magic, _ := in.Peek(2); bytes.Equal(magic, []byte{0x1f, 0x8b}) {
		zip, err := gzip.NewReader(in)
		if err != nil {
			done()
			return nil, nil, fmt.Errorf("%s is not a whole gzip file: %w", i.name(), err)
		}
		in = bufio.NewReaderSize(zip, 1<<16)
	}
	return in, done, nil
}

// target returns the directory of the cluster. It creates the directory of the first trace's
// cluster, or of --cluster in a data directory without clusters.
func (i *Import) target(first []byte) (dir string, create bool, err error) {
	dir, err = i.cluster()
	if err == nil {
		return dir, false, nil
	}
	dataDir, unknown := i.dataDir()
	if unknown != nil {
		return "", false, unknown
	}
	known, read := datadir.Clusters(dataDir)
	if read != nil && !errors.Is(read, fs.ErrNotExist) {
		return "", false, read
	}
	uid := i.ClusterUID
	if uid == "" || len(known) > 0 { // a mistyped UID makes no archive
		t, damage := document.Decode(first)
		switch {
		case len(known) > 0 && (damage != nil || uid == "" || t.Cluster != uid), damage == nil && t.Cluster == "":
			return "", false, err
		case damage != nil:
			return "", false, i.at(1, damage)
		}
		uid = t.Cluster
	}
	if dir, err = datadir.Make(dataDir, uid); err != nil {
		return "", false, err
	}
	i.say("creates the archive %s", datadir.Archive(dir))
	return dir, true, nil
}

func (i *Import) all(ctx context.Context, ops maintenance.Operations, from *lines) error {
	next := time.Now().Add(sayEvery)
	for {
		line, err := from.next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil && !errors.Is(err, errTooLong) {
			return i.at(from.number, err)
		}
		if err == nil && len(bytes.TrimSpace(line)) == 0 {
			continue
		}
		var out maintenance.Imported
		if err == nil {
			out, err = ops.Import(ctx, line)
		}
		switch {
		case err != nil && i.SkipDamaged && (errors.Is(err, document.ErrDamaged) || errors.Is(err, errTooLong)):
			i.damaged++
		case err != nil:
			return i.at(from.number, err)
		case out.Added:
			i.added++
		default:
			i.known++
		}
		if out.Expired {
			i.expired++
		}
		if err == nil && !out.End.IsZero() && i.now().Sub(out.End) > config.Default().Retention.Age.Duration {
			i.old++
		}
		if out.Cluster != "" && out.Cluster != ops.Cluster() {
			i.foreign++
			i.other = out.Cluster
		}
		if time.Now().After(next) {
			i.say("%s so far", traces(i.added+i.known))
			next = time.Now().Add(sayEvery)
		}
	}
}

func (i *Import) report() {
	text := "imported " + traces(i.added)
	if i.known > 0 {
		text += fmt.Sprintf("; %d were in the archive already", i.known)
	}
	if i.damaged > 0 {
		text += fmt.Sprintf("; skipped %d damaged lines", i.damaged)
	}
	i.say("%s", text)
	switch {
	case i.expired > 0:
		i.say("%s are older than the server keeps traces, and it removes them within a minute: set retention.age of "+
			"its configuration higher, and import again", traces(i.expired))
	case i.alone && i.old > 0:
		i.say("%s are older than 7 days: a server with the default retention.age removes them within a minute of its "+
			"start", traces(i.old))
	}
	if i.foreign > 0 {
		i.say("%s are of another cluster, such as %.80q", traces(i.foreign), i.other)
	}
}

// errTooLong is the error of a line with too many bytes.
var errTooLong = fmt.Errorf("it has more than %d MiB", maintenance.MaxLine>>20)

// errEndless is the error of a line whose end is not found.
var errEndless = errors.New("the line does not end")

// maxSkip bounds the length of a skipped line, as a multiple of the greatest length of a line.
const maxSkip = 8

// lines reads lines of a bounded length.
type lines struct {
	in   *bufio.Reader
	most int
	// skip continues after a line that is too long. Without it, nothing is read beyond the limit.
	skip bool
	// number is the number of the last line.
	number int64
	kept   []byte
	err    error
	repeat bool
}

// again returns a line with the next call once more.
func (l *lines) again(line []byte, err error) {
	l.kept, l.err, l.repeat = line, err, true
}

// next returns the next line, or io.EOF. A line that is too long is errTooLong. With skip, the next
// call returns the line after it; a skipped line has a bounded length, too.
func (l *lines) next() ([]byte, error) {
	if l.repeat {
		l.repeat = false
		return l.kept, l.err
	}
	l.number++
	var line []byte
	length := 0
	for {
		part, err := l.in.ReadSlice('\n')
		length += len(part)
		long := length > l.most
		if !long {
			line = append(line, part...)
		}
		switch {
		case long && !l.skip:
			return nil, errTooLong
		case length > maxSkip*l.most:
			return nil, fmt.Errorf("%w, after %d MiB", errEndless, length>>20)
		case errors.Is(err, bufio.ErrBufferFull):
			continue
		case errors.Is(err, io.EOF) && len(line) == 0 && !long:
			return nil, io.EOF
		case err != nil && !errors.Is(err, io.EOF):
			return nil, fmt.Errorf("the file is damaged: %w", err)
		case long:
			return nil, errTooLong
		}
		return line, nil
	}
}
