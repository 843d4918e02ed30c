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
	l := &lines{in: bufio.NewReaderSize(strings.NewReader(in), 16), most: 41}
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
