// SPDX-License-Identifier: Apache-2.0

package command

import (
	"bufio"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"
)

// TestLines: a line that is too long is skipped as one, whatever the size of the buffer.
func TestLines(t *testing.T) {
	long := strings.Repeat("x", 100)
	in := "a\n\n" + long + "\nb\n" + long[:40] + "\n" + long
	l := &lines{in: bufio.NewReaderSize(strings.NewReader(in), 16), most: 41, skip: true}
	var got []string
	for {
		line, err := l.next()
		if errors.Is(err, io.EOF) {
			break
		}
		switch {
		case errors.Is(err, errTooLong):
			got = append(got, "long")
		case err != nil:
			t.Fatal(err)
		default:
			got = append(got, string(line))
		}
	}
	want := []string{"a\n", "\n", "long", "b\n", long[:40] + "\n", "long"}
	if !slices.Equal(got, want) || l.number != 7 {
		t.Errorf("got %q up to line %d, want %q", got, l.number, want)
	}
}

// endless is an input without an end of line.
type endless struct{ read int }

// Read implements io.Reader.
func (e *endless) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = 'x'
	}
	e.read += len(p)
	return len(p), nil
}

// TestEndlessLine: the reading of a line without an end stops at a limit, also if the line is skipped.
func TestEndlessLine(t *testing.T) {
	cases := map[string]struct {
		skip bool
		want error
		most int
	}{
		"the first damage is an error": {false, errTooLong, 1000 + 16},
		"damage is skipped":            {true, errEndless, maxSkip*1000 + 16},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			in := &endless{}
			l := &lines{in: bufio.NewReaderSize(in, 16), most: 1000, skip: tc.skip}
			if _, err := l.next(); !errors.Is(err, tc.want) || in.read > tc.most {
				t.Errorf("%v after %d bytes, want %v after at most %d", err, in.read, tc.want, tc.most)
			}
		})
	}
}
