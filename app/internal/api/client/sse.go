// SPDX-License-Identifier: Apache-2.0

package client

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
)

// reader reads server-sent events.
type reader struct {
	in *bufio.Reader
	// heard is called for each line.
	heard func()
}

func newReader(in io.Reader, heard func()) *reader {
	return &reader{in: bufio.NewReaderSize(in, 64<<10), heard: heard}
}

// next returns the name and the data of the next event with data. Lines of data are joined by
// newlines.
func (r *reader) next() (name string, data []byte, err error) {
	has := false
	for {
		line, err := r.line(maxAnswer - len(data))
		if err != nil {
			return "", nil, err
		}
		r.heard()
		if len(line) == 0 {
			if has {
				return name, data, nil
			}
			name = ""
			continue
		}
		field, value, _ := bytes.Cut(line, []byte(":"))
		value = bytes.TrimPrefix(value, []byte(" "))
		switch string(field) {
		case "event":
			name = string(value[:min(len(value), 64)])
		case "data":
			if has {
				data = append(data, '\n')
			}
			has, data = true, append(data, value...)
		}
	}
}

// line returns a line without its end, or an error for one that is too long.
func (r *reader) line(most int) ([]byte, error) {
	var out []byte
	for {
		part, err := r.in.ReadSlice('\n')
		if len(out)+len(part) > most {
			return nil, fmt.Errorf("an event has more than %d MiB", maxAnswer>>20)
		}
		out = append(out, part...)
		switch {
		case err == nil:
			return bytes.TrimSuffix(out[:len(out)-1], []byte("\r")), nil
		case !errors.Is(err, bufio.ErrBufferFull):
			return nil, err // an incomplete event does not count
		}
		r.heard()
	}
}
