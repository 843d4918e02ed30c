// SPDX-License-Identifier: Apache-2.0

package audit

import (
	"bytes"
	"errors"
	"io"
)

// readSize is how much of a file is read at once.
const readSize = 256 << 10

// lines reads a file line by line from an offset. What it has read it wipes.
type lines struct {
	in io.ReaderAt
	// read is up to where the file was read; buf[from:to] is what of that has
	// not been told: the beginning of a line, as long as that has no end.
	read     int64
	buf      []byte
	from, to int
	max      int
	// skipping: the line was too long, and its end is looked for.
	skipping bool
}

// What next found.
type found int

const (
	nothing found = iota // no whole line, for now
	aLine
	tooLong
)

// offset is where the next line begins.
func (l *lines) offset() int64 { return l.read - int64(l.to-l.from) }

// next returns the next whole line without its end, valid until the next call.
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

// fill reads more of the file; 0 is the end, for now.
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

// rest returns what the file ends with that is no whole line.
func (l *lines) rest() []byte {
	if l.skipping {
		return nil
	}
	return l.buf[l.from:l.to]
}

func (l *lines) wipe() { clear(l.buf) }
