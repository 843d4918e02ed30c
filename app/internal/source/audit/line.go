// SPDX-License-Identifier: Apache-2.0

package audit

import (
	"bytes"
	"errors"
	"io"
)

// readSize is the number of bytes per read.
const readSize = 256 << 10

// lines reads a file line by line from an offset. It wipes its buffer.
type lines struct {
	in io.ReaderAt
	// read is the offset up to which the file was read. buf[from:to] is the part not returned yet,
	// usually the beginning of an incomplete line.
	read     int64
	buf      []byte
	from, to int
	max      int
	// skipping means that the line is too long and its end was not found yet.
	skipping bool
}

// The results of next.
type found int

const (
	nothing found = iota // no complete line yet
	aLine
	tooLong
)

// offset returns the file offset of the next line.
func (l *lines) offset() int64 { return l.read - int64(l.to-l.from) }

// next returns the next complete line without its newline. The line is valid until the next call.
func (l *lines) next() ([]byte, found, error) {
	looked := 0
	for {
		if i := bytes.IndexByte(l.buf[l.from+looked:l.to], '\n'); i >= 0 {
			line := l.buf[l.from : l.from+looked+i]
			l.from += looked + i + 1
			if l.skipping {
				l.skipping = false
				return nil, tooLong, nil
			}
			return line, aLine, nil
		}
		looked = l.to - l.from
		if looked > l.max {
			l.skipping = true
		}
		if l.skipping {
			l.from, looked = l.to, 0
		}
		n, err := l.fill()
		if n == 0 {
			return nil, nothing, err
		}
	}
}

// fill reads more of the file. 0 means the current end of the file.
func (l *lines) fill() (int, error) {
	kept := l.to - l.from
	if len(l.buf)-kept < readSize {
		grown := make([]byte, max(2*len(l.buf), kept+2*readSize))
		copy(grown, l.buf[l.from:l.to])
		clear(l.buf)
		l.buf = grown
	} else {
		copy(l.buf, l.buf[l.from:l.to])
		clear(l.buf[kept:max(kept, l.to)])
	}
	l.from, l.to = 0, kept
	n, err := l.in.ReadAt(l.buf[kept:kept+readSize], l.read)
	l.read += int64(n)
	l.to += n
	if errors.Is(err, io.EOF) {
		err = nil
	}
	return n, err
}

// rest returns the incomplete line at the end of the file.
func (l *lines) rest() []byte {
	if l.skipping {
		return nil
	}
	return l.buf[l.from:l.to]
}

func (l *lines) wipe() { clear(l.buf) }
