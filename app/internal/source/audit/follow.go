// SPDX-License-Identifier: Apache-2.0

package audit

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/kube-lifeline/lifeline/app/internal/observation"
)

const (
	// lookEvery is the interval between checks of a file without new lines.
	lookEvery = 200 * time.Millisecond
	// maxBatch limits the lines of one batch.
	maxBatch = 500
)

// Follow passes on the events of the audit log at path, one a line, from a position on. It then
// follows the file until ctx ends and returns nil. The zero Position is the start of the file.
//
// It follows rotations, both renaming and truncation in place. After a restart it also reads the
// files rotated in between, if they are beside path and not compressed. If the file is missing or
// unreadable, Follow warns and waits. It waits for the end of an incomplete last line. Invalid
// lines are counted and skipped. An error means that path is empty.
func (s *Source) Follow(ctx context.Context, path string, from Position) error {
	if path == "" {
		return errors.New("cannot follow an audit log: its path is empty")
	}
	f := &follower{s: s, path: path}
	defer f.close()
	if !f.begin(ctx, from) {
		return nil
	}
	for {
		if own, err := f.file.Stat(); err == nil {
			f.cut(own.Size()) // before new content is read as a continuation
		}
		if !f.drain(ctx) {
			return nil
		}
		moved, ok := f.move(ctx)
		if !ok {
			return nil
		}
		if !moved && !s.wait(ctx, lookEvery) {
			return nil
		}
	}
}

// End returns the position at the end of the file at path. It is the zero Position if the file is
// missing or empty.
func End(path string) (Position, error) {
	f, err := open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return Position{}, nil
	}
	if err != nil {
		return Position{}, fmt.Errorf("cannot read the audit log %s: %w", path, err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return Position{}, fmt.Errorf("cannot read the audit log %s: %w", path, err)
	}
	return at(f, info.Size()), nil
}

// follower is the state of Follow for one log.
type follower struct {
	s    *Source
	path string
	file *os.File
	lines
	// older are rotated files that are not read yet, oldest first.
	older []string
	// reached is the position up to which events were passed on.
	reached Position
	// told is the last warning about the file.
	told string
}

// begin opens the file of the position, or else the file at path. It returns false if ctx has
// ended.
func (f *follower) begin(ctx context.Context, from Position) bool {
	if !from.IsZero() {
		if f.resume(from) {
			return true
		}
	}
	if !f.await(ctx) {
		return false
	}
	if !from.IsZero() {
		f.s.counters.gaps.Add(1)
		f.s.Warn("the audit log %s is not the file of the last position: events between the two may be missing", f.path)
	}
	return true
}

// resume opens the file of the position. It returns false if that file does not exist.
func (f *follower) resume(from Position) bool {
	rotated := siblings(f.path)
	if f.known(f.path, from) {
		return true
	}
	for i := len(rotated) - 1; i >= 0; i-- {
		if f.known(rotated[i], from) {
			f.s.counters.rotations.Add(1)
			f.older = rotated[i+1:]
			return true
		}
	}
	return false
}

// known opens a file if it is the one of the position, and reports whether it is.
func (f *follower) known(name string, from Position) bool {
	file, err := open(name)
	if err != nil {
		return false
	}
	info, err := file.Stat()
	if err != nil || !from.of(file, info.Size()) {
		_ = file.Close() // only looked at
		return false
	}
	f.open(file, from.offset)
	f.reached = from
	return true
}

// await waits until the file exists, and opens it. It returns false if ctx has ended.
func (f *follower) await(ctx context.Context) bool {
	for {
		file, err := open(f.path)
		if err == nil {
			f.open(file, 0)
			return true
		}
		f.s.counters.missing.Store(true)
		f.tell(err)
		if !f.s.wait(ctx, lookEvery) {
			return false
		}
	}
}

// tell warns about an error with the file, once for each text.
func (f *follower) tell(err error) {
	text := fmt.Sprintf("cannot read the audit log %s: %v; waiting for it", f.path, err)
	if errors.Is(err, fs.ErrNotExist) {
		text = fmt.Sprintf("the audit log %s does not exist; waiting for it", f.path)
	}
	if text != f.told {
		f.told = text
		f.s.Warn("%s", text)
	}
}

func open(path string) (*os.File, error) {
	info, err := os.Stat(path) // opening a pipe would block
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, errors.New("it is not a regular file")
	}
	return os.Open(path)
}

func (f *follower) open(file *os.File, offset int64) {
	f.close()
	f.file = file
	f.lines = lines{in: file, read: offset, max: f.s.MaxLine}
	f.reached, f.told = Position{}, ""
	f.s.counters.missing.Store(false)
}

func (f *follower) close() {
	if f.file != nil {
		_ = f.file.Close() // only read
		f.file = nil
	}
	f.wipe()
}

// drain passes on all events in the file. It returns false if ctx has ended.
func (f *follower) drain(ctx context.Context) bool {
	for {
		batch, some, err := f.batch()
		if err != nil {
			f.tell(err)
		}
		if !some {
			return ctx.Err() == nil
		}
		if !f.deliver(ctx, batch) {
			return false
		}
		f.reached = at(f.file, f.offset())
		f.s.Reached(f.reached)
	}
}

// batch returns the observations of the next lines. some reports whether there were any lines.
func (f *follower) batch() (batch []*observation.Observation, some bool, err error) {
	var t tally
	defer f.s.count(&t)
	for range maxBatch {
		line, what, err := f.lines.next()
		switch what {
		case nothing:
			return batch, some, err
		case tooLong:
			f.s.counters.overlong.Add(1)
		case aLine:
			batch = f.line(batch, line, &t)
		}
		some = true
	}
	return batch, some, nil
}

// line appends the observations of one line and wipes it.
func (f *follower) line(batch []*observation.Observation, line []byte, t *tally) []*observation.Observation {
	f.s.counters.bytes.Add(uint64(len(line) + 1))
	if blank(line) {
		return batch
	}
	e, err := decode(line)
	if err != nil {
		e = nil
	}
	batch = f.s.add(batch, e, t)
	clear(line)
	return batch
}

func blank(line []byte) bool {
	for _, c := range line {
		if c != ' ' && c != '\t' && c != '\r' {
			return false
		}
	}
	return true
}

// deliver passes a batch to the sink and retries until it succeeds. It returns false if ctx has
// ended.
func (f *follower) deliver(ctx context.Context, batch []*observation.Observation) bool {
	for {
		err := f.s.hand(ctx, batch)
		if err == nil {
			return true
		}
		if !f.s.wait(ctx, lookEvery) {
			return false
		}
	}
}

// move continues with the next file after a rotation, or with the start of a truncated file. moved
// reports whether there is something to read. ok is false if ctx has ended.
func (f *follower) move(ctx context.Context) (moved, ok bool) {
	if len(f.older) > 0 {
		return true, f.next(ctx)
	}
	now, err := os.Stat(f.path)
	var own os.FileInfo
	if err == nil {
		own, err = f.file.Stat()
	}
	if err != nil {
		// The file was rotated and the new one does not exist yet, or it was removed.
		f.s.counters.missing.Store(true)
		f.tell(err)
		return false, true
	}
	f.s.counters.missing.Store(false)
	if os.SameFile(now, own) {
		return f.cut(own.Size()), true
	}
	f.s.counters.rotations.Add(1)
	f.older = f.since(own)
	if !f.drain(ctx) { // lines written just before the rotation
		return false, false
	}
	return true, f.next(ctx)
}

// next finishes the current file and opens the one after it. It returns false if ctx has ended.
func (f *follower) next(ctx context.Context) bool {
	if !f.end(ctx) {
		return false
	}
	for len(f.older) > 0 {
		name := f.older[0]
		f.older = f.older[1:]
		file, err := open(name)
		if err == nil {
			f.open(file, 0)
			return true
		}
		f.s.counters.gaps.Add(1)
		f.s.Warn("cannot read the rotated audit log %s: %v", name, err)
	}
	return f.await(ctx)
}

// end passes on an incomplete last line, which a rotated file will not complete.
func (f *follower) end(ctx context.Context) bool {
	rest := f.rest()
	if len(rest) == 0 {
		return true
	}
	var t tally
	batch := f.line(nil, rest, &t)
	f.s.count(&t)
	return f.deliver(ctx, batch)
}

// cut restarts at the beginning of a truncated file and reports whether it was truncated. Such a
// file is shorter or has another beginning.
func (f *follower) cut(size int64) bool {
	if size >= f.lines.read && f.reached.of(f.file, size) {
		return false
	}
	f.s.counters.truncations.Add(1)
	f.wipe()
	f.lines = lines{in: f.file, max: f.s.MaxLine}
	f.reached = Position{}
	return true
}

// since returns the files rotated after the open one, oldest first.
func (f *follower) since(own os.FileInfo) []string {
	names := siblings(f.path)
	for i, name := range names {
		if info, err := os.Stat(name); err == nil && os.SameFile(info, own) {
			return names[i+1:]
		}
	}
	return nil
}

// maxSiblings limits the rotated files to the newest ones.
const maxSiblings = 100

// siblings returns the rotated files of path, oldest first. The API server names them
// "audit-2026-01-02T03-04-05.000.log", logrotate "audit.log.1". Compressed files are left out.
func siblings(path string) []string {
	dir, base := filepath.Split(path)
	ext := filepath.Ext(base)
	entries, err := os.ReadDir(cmp.Or(dir, "."))
	if err != nil {
		return nil
	}
	type sibling struct {
		name string
		at   time.Time
	}
	var found []sibling
	for _, entry := range entries {
		name := entry.Name()
		dated := strings.HasPrefix(name, strings.TrimSuffix(base, ext)+"-") && filepath.Ext(name) == ext
		numbered := strings.HasPrefix(name, base+".") && !strings.HasSuffix(name, ".gz")
		info, err := entry.Info()
		if (dated || numbered) && err == nil && info.Mode().IsRegular() {
			found = append(found, sibling{filepath.Join(dir, name), info.ModTime()})
		}
	}
	slices.SortFunc(found, func(a, b sibling) int { return cmp.Or(a.at.Compare(b.at), cmp.Compare(a.name, b.name)) })
	out := make([]string, 0, len(found))
	for _, s := range found[max(0, len(found)-maxSiblings):] {
		out = append(out, s.name)
	}
	return out
}
