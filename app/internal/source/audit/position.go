// SPDX-License-Identifier: Apache-2.0

package audit

import (
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/cespare/xxhash/v2"
)

// Position says how far a file has been followed. It is small, and knows the
// file by how it begins, not by its name: a rotated file keeps its position.
// Follow goes on from it, in the same process or a later one. The zero value is
// no position.
type Position struct {
	// offset is where the first line begins that has not been handed on.
	offset int64
	// head is a digest of the file's first length bytes.
	length int64
	head   uint64
}

// maxHead is how much of its beginning tells a file from others: audit IDs are
// in the first line.
const maxHead = 1024

// IsZero reports whether it is no position.
func (p Position) IsZero() bool { return p == Position{} }

// String is the position in a stable text form, which ParsePosition reads.
func (p Position) String() string {
	return fmt.Sprintf("%d/%d/%016x", p.offset, p.length, p.head)
}

// ParsePosition reads what String wrote. An error names the text.
func ParsePosition(text string) (Position, error) {
	parts := strings.Split(text, "/")
	if len(parts) == 3 {
		offset, err1 := strconv.ParseInt(parts[0], 10, 64)
		length, err2 := strconv.ParseInt(parts[1], 10, 64)
		head, err3 := strconv.ParseUint(parts[2], 16, 64)
		if err1 == nil && err2 == nil && err3 == nil && length >= 0 && length <= maxHead && offset >= length {
			return Position{offset: offset, length: length, head: head}, nil
		}
	}
	return Position{}, fmt.Errorf("cannot read %.100q as the position of an audit log", text)
}

// of reports whether the file is the one that p is a position in: it begins so,
// and is not shorter.
func (p Position) of(f io.ReaderAt, size int64) bool {
	if size < p.offset || p.length == 0 {
		return size >= p.offset
	}
	head, ok := digest(f, p.length)
	return ok && head == p.head
}

// at is the position at an offset of a file.
func at(f io.ReaderAt, offset int64) Position {
	p := Position{offset: offset, length: min(offset, maxHead)}
	p.head, _ = digest(f, p.length)
	return p
}

func digest(f io.ReaderAt, length int64) (uint64, bool) {
	buf := make([]byte, length)
	defer wipe(buf)
	if n, err := f.ReadAt(buf, 0); int64(n) < length && err != nil {
		return 0, false
	}
	return xxhash.Sum64(buf), true
}
