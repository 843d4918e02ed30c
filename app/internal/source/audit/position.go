// SPDX-License-Identifier: Apache-2.0

package audit

import (
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/cespare/xxhash/v2"
)

// Position is an offset in a file, with a digest of the file's beginning. So it identifies a file
// even after a rename. Follow continues from it, in the same process or a later one. The zero value
// means no position.
type Position struct {
	// offset is the start of the first line that was not passed on.
	offset int64
	// head is a digest of the file's first length bytes.
	length int64
	head   uint64
}

// maxHead limits the digested beginning. It distinguishes files because the first line has an audit
// ID.
const maxHead = 1024

// IsZero reports whether p is the zero value.
func (p Position) IsZero() bool { return p == Position{} }

// String returns the position in a stable text form for ParsePosition.
func (p Position) String() string {
	return fmt.Sprintf("%d/%d/%016x", p.offset, p.length, p.head)
}

// ParsePosition parses the result of String. An error quotes the text.
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

// of reports whether p is a position in the file: the file has the same beginning and is long
// enough.
func (p Position) of(f io.ReaderAt, size int64) bool {
	if size < p.offset || p.length == 0 {
		return size >= p.offset
	}
	head, ok := digest(f, p.length)
	return ok && head == p.head
}

// at returns the position at an offset of a file.
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
