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
	// lookEvery is how often a file is looked at that has no more.
	lookEvery = 200 * time.Millisecond
	// maxBatch is how many lines are handed on at once.
	maxBatch = 500
)

// Follow hands on what the audit log at path tells, one event a line, from a
// position on, and then what is added to it, until ctx ends; it returns nil
// then. From the zero Position it begins with all that the file holds.
//
// It goes on when the log is rotated, by another name for the full file or by
// cutting it off in place, and after a restart also with what was rotated
// meanwhile, as long as it lies beside path, uncompressed. A file that is not
// there, or may not be read, is waited for and warned of. A last line without
// an end waits for its end. What is no event is counted and passed over. An
// error says that path cannot be that of a file.
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
			f.cut(own.Size()) // before anything of it is read as what follows
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

// End returns the position behind all that the file at path holds; the zero
// Position if it is not there or empty.
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

// follower is what reads one log.
type follower struct {
	s    *Source
	path string
	file *os.File
	lines
	// older are rotated files that are still to be read, oldest first.
	older []string
	// reached is how far it was handed on.
	reached Position
	// told: what is the matter with the file was warned of.
	told string
}

// begin opens the file that from is a position in, or the first that is there;
// false when ctx has ended.
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
		f.s.Warn(
			"the audit log %s is not the one that was followed before: what was written meanwhile to others is missing",
			f.path,
		)
	}
	return true
}

// resume opens the file that from is a position in; false if it is not there.
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

// known opens a file if from is a position in it, and reports whether it is.
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

// await waits for the file to be there and opens it; false when ctx has ended.
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

// tell warns of what keeps the file from being read, once.
func (f *follower) tell(err error) {
	text := fmt.Sprintf("cannot read the audit log %s: %v; waiting for it", f.path, err)
	if errors.Is(err, fs.ErrNotExist) {
		text = fmt.Sprintf("the audit log %s is not there; waiting for it", f.path)
	}
	if text != f.told {
		f.told = text
		f.s.Warn("%s", text)
	}
}

func open(path string) (*os.File, error) {
	info, err := os.Stat(path) // a pipe would be waited for in vain
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, errors.New("it is no regular file")
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

// drain hands on all that the file has; false when ctx has ended.
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

// batch makes observations of the next lines; some reports whether there were
// some.
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

// line appends what one line tells of.
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

// deliver hands a batch on, as often as it takes; false when ctx has ended.
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

// move goes on to the next file, if the one that was read to its end is not the
// newest any more, or to its beginning, if it was cut off. It reports whether
// there is something to read, and false when ctx has ended.
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
		// It was rotated, and the new one is not there yet; or taken away.
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
	if !f.drain(ctx) { // what came before it was rotated
		return false, false
	}
	return true, f.next(ctx)
}

// next ends the file and opens the one that follows; false when ctx has ended.
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

// end hands on a last line without an end, which will not get one any more.
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

// cut begins anew with a file that was cut off in place, and reports whether it
// was: it is shorter, or begins otherwise.
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

// since are the rotated files that came after the one that was open, oldest
// first.
func (f *follower) since(own os.FileInfo) []string {
	names := siblings(f.path)
	for i, name := range names {
		if info, err := os.Stat(name); err == nil && os.SameFile(info, own) {
			return names[i+1:]
		}
	}
	return nil
}

// maxSiblings bounds how many rotated files are looked at, the newest.
const maxSiblings = 100

// siblings are the files that path may have been rotated to, oldest first:
// "audit-2026-01-02T03-04-05.000.log", as the API server names them, and
// "audit.log.1", as logrotate does. Compressed ones cannot be read.
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
