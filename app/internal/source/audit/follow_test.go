// SPDX-License-Identifier: Apache-2.0

package audit

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// following is a Source that follows a file and checks it only on look.
type following struct {
	t      *testing.T
	s      *Source
	looks  chan struct{}
	idle   chan struct{}
	reach  chan Position
	cancel context.CancelFunc
	ended  chan error
}

// follow starts to follow path. It returns when all existing content has been read, or when the
// file is missing.
func follow(t *testing.T, s *Source, path string, from Position) *following {
	t.Helper()
	f := &following{
		t:     t,
		s:     s,
		looks: make(chan struct{}),
		idle:  make(chan struct{}),
		reach: make(chan Position, 100),
		ended: make(chan error, 1),
	}
	s.Reached = func(p Position) { f.reach <- p }
	s.wait = func(ctx context.Context, _ time.Duration) bool {
		select {
		case f.idle <- struct{}{}:
		case <-ctx.Done():
			return false
		}
		select {
		case <-f.looks:
			return true
		case <-ctx.Done():
			return false
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	f.cancel = cancel
	go func() { f.ended <- s.Follow(ctx, path, from) }()
	t.Cleanup(func() { f.stop() })
	<-f.idle
	return f
}

// look triggers one check of the file and returns after its new content has been read.
func (f *following) look() {
	f.looks <- struct{}{}
	<-f.idle
}

// reads fails the test unless n events have been read so far.
func (f *following) reads(n uint64) {
	f.t.Helper()
	if got := f.s.Stats().Events; got != n {
		f.t.Fatalf("%d events were read, want %d", got, n)
	}
}

// stop ends the following and returns its last position.
func (f *following) stop() (last Position) {
	f.t.Helper()
	if f.cancel == nil {
		return last
	}
	f.cancel()
	f.cancel = nil
	if err := <-f.ended; err != nil {
		f.t.Error(err)
	}
	for len(f.reach) > 0 {
		last = <-f.reach
	}
	return last
}

// line returns an event of one write with this audit ID.
func line(id string) string { return told("auditID", `"`+id+`"`) + "\n" }

func lined(from, to int) string {
	var b strings.Builder
	for i := from; i < to; i++ {
		b.WriteString(line(fmt.Sprint(i)))
	}
	return b.String()
}

func write(t *testing.T, path, text string) {
	t.Helper()
	f, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteString(text); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
}

func rename(t *testing.T, from, to string) {
	t.Helper()
	if err := os.Rename(from, to); err != nil {
		t.Fatal(err)
	}
}

func TestFollow(t *testing.T) {
	cases := map[string]struct {
		reason string
		// do changes the log at path. look triggers a check of it.
		do    func(t *testing.T, path string, look func())
		want  string
		stats Stats
	}{
		"Grows": {"added lines are read", func(t *testing.T, path string, look func()) {
			write(t, path, lined(1, 3))
			look()
			write(t, path, line("3"))
		}, "0 1 2 3", Stats{}},
		"Partial": {"an incomplete line waits for its end", func(t *testing.T, path string, look func()) {
			text := line("1")
			write(t, path, text[:40])
			look()
			write(t, path, text[40:])
		}, "0 1", Stats{}},
		"Damaged": {"invalid lines are counted", func(t *testing.T, path string, _ func()) {
			write(t, path, "{\n\n"+line("1")+"[]\n\x00\x00\n"+line("2"))
		}, "0 1 2", Stats{Damaged: 3}},
		"Overlong": {"too long lines are counted, whole or in parts", func(t *testing.T, path string, look func()) {
			write(t, path, strings.Repeat("x", 3<<20)+"\n"+line("1")+strings.Repeat("y", 2<<20))
			look()
			write(t, path, strings.Repeat("y", 1<<20)+"\n"+line("2"))
		}, "0 1 2", Stats{Overlong: 2}},
		"Renamed": {"the old file is read to its end, then the new one", func(t *testing.T, path string, look func()) {
			write(t, path, line("1"))
			rename(t, path, path+".1")
			write(t, path+".1", line("2"))
			write(t, path, line("3"))
		}, "0 1 2 3", Stats{Rotations: 1}},
		"NotThereYet": {"the new file may come later", func(t *testing.T, path string, look func()) {
			rename(t, path, path+".1")
			look()
			write(t, path+".1", line("1"))
			look()
			write(t, path, line("2"))
		}, "0 1 2", Stats{Rotations: 1}},
		"RenamedTwice": {"two rotations happen between two checks", func(t *testing.T, path string, _ func()) {
			dir, ext := filepath.Dir(path), ".log"
			rename(t, path, filepath.Join(dir, "audit-2026-05-04T03-02-01.000"+ext))
			write(t, path, line("1"))
			second := filepath.Join(dir, "audit-2026-05-04T03-02-02.000"+ext)
			rename(t, path, second)
			// Files with the same time are in the order of their names.
			now := time.Now().Add(time.Hour)
			if err := os.Chtimes(second, now, now); err != nil {
				t.Fatal(err)
			}
			write(t, path, line("2"))
		}, "0 1 2", Stats{Rotations: 2}},
		"LastWords": {
			"the incomplete last line of a rotated file is read",
			func(t *testing.T, path string, _ func()) {
				write(t, path, strings.TrimSuffix(line("1"), "\n"))
				rename(t, path, path+".1")
				write(t, path, line("2"))
			},
			"0 1 2",
			Stats{Rotations: 1},
		},
		"Truncated": {"the file is truncated in place, as copytruncate does", func(
			t *testing.T, path string, look func(),
		) {
			write(t, path, lined(1, 4))
			look()
			if err := os.Truncate(path, 0); err != nil {
				t.Fatal(err)
			}
			look()
			write(t, path, line("4"))
		}, "0 1 2 3 4", Stats{Truncations: 1}},
		"Regrown": {"a truncated file is longer than before at the next check", func(
			t *testing.T, path string, _ func(),
		) {
			if err := os.Truncate(path, 0); err != nil {
				t.Fatal(err)
			}
			write(t, path, lined(1, 5))
		}, "0 1 2 3 4", Stats{Truncations: 1}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			to := newSink()
			s := newSource(t, to, func(c *Config) { c.MaxLine = 1 << 20 })
			path := filepath.Join(t.TempDir(), "audit.log")
			write(t, path, line("0"))
			f := follow(t, s, path, Position{})
			tc.do(t, path, f.look)
			for range 4 { // a check may find another file that needs a check
				f.look()
			}
			f.stop()
			if got := strings.Join(to.ids(), " "); got != tc.want {
				t.Errorf("%s: got %q, want %q", tc.reason, got, tc.want)
			}
			got := s.Stats()
			if diff := cmp.Diff(tc.stats, Stats{
				Damaged:     got.Damaged,
				Overlong:    got.Overlong,
				Rotations:   got.Rotations,
				Truncations: got.Truncations,
				Gaps:        got.Gaps,
			}); diff != "" {
				t.Errorf("stats -want +got:\n%s", diff)
			}
		})
	}
}

// TestResume stops, and continues from the position in its text form. No event is lost or repeated,
// with any rotation in between.
func TestResume(t *testing.T) {
	cases := map[string]struct {
		reason  string
		between func(t *testing.T, path string)
		want    string
		gaps    uint64
	}{
		"AsItWas": {"", func(*testing.T, string) {}, "0 1 2 3 4", 0},
		"Grown":   {"", func(t *testing.T, path string) { write(t, path, line("5")) }, "0 1 2 3 4 5", 0},
		"Rotated": {
			"the rest of the old file comes first",
			func(t *testing.T, path string) { rename(t, path, path+".1"); write(t, path, line("5")) },
			"0 1 2 3 4 5",
			0,
		},
		"Another": {
			"the followed file does not exist any more",
			func(t *testing.T, path string) { rename(t, path, path+".gz"); write(t, path, line("5")) },
			"0 1 2 5",
			1,
		},
		"Replaced": {
			"another file of the same length is not the same file",
			func(t *testing.T, path string) { rename(t, path, path+".gz"); write(t, path, lined(5, 10)) },
			"0 1 2 5 6 7 8 9",
			1,
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			to := newSink()
			path := filepath.Join(t.TempDir(), "audit.log")
			write(t, path, lined(0, 3))
			first := follow(t, newSource(t, to, nil), path, Position{})
			text := first.stop().String()
			write(t, path, lined(3, 5))
			tc.between(t, path)
			from, err := ParsePosition(text)
			if err != nil {
				t.Fatal(err)
			}
			second := follow(t, newSource(t, to, nil), path, from)
			for range 3 {
				second.look()
			}
			second.stop()
			if got := strings.Join(to.ids(), " "); got != tc.want {
				t.Errorf("%s: got %q, want %q", tc.reason, got, tc.want)
			}
			if got := second.s.Stats().Gaps; got != tc.gaps {
				t.Errorf("%d gaps, want %d", got, tc.gaps)
			}
		})
	}
}

// TestFollowWaits: a refused batch is sent again when the sink has room.
func TestFollowWaits(t *testing.T) {
	to := newSink()
	to.fail(ErrFull)
	s := newSource(t, to, nil)
	path := filepath.Join(t.TempDir(), "audit.log")
	write(t, path, lined(0, 2))
	f := follow(t, s, path, Position{})
	f.look()
	if len(to.ids()) != 0 || len(f.reach) != 0 {
		t.Fatal("the position advanced although the sink refused the batch")
	}
	to.fail(nil)
	f.look()
	if got := strings.Join(to.ids(), " "); got != "0 1" {
		t.Errorf("got %q", got)
	}
}

func TestFollowMissing(t *testing.T) {
	var warned []string
	to := newSink()
	s := newSource(t, to, func(c *Config) {
		c.Warn = func(format string, args ...any) { warned = append(warned, fmt.Sprintf(format, args...)) }
	})
	path := filepath.Join(t.TempDir(), "audit.log")
	f := follow(t, s, path, Position{})
	f.look()
	if !s.Stats().Missing || len(warned) != 1 || !strings.Contains(warned[0], "does not exist") {
		t.Errorf("missing: %v, warned %q: want one warning", s.Stats().Missing, warned)
	}
	write(t, path, line("0"))
	f.look()
	if s.Stats().Missing || len(to.ids()) != 1 {
		t.Errorf("missing: %v; read %q", s.Stats().Missing, to.ids())
	}
	f.stop()
	if err := s.Follow(t.Context(), "", Position{}); err == nil {
		t.Error("Follow accepts an empty path")
	}
}

func TestParsePosition(t *testing.T) {
	for _, text := range []string{"", "1/2", "5/6/00", "-1/0/0", "9/9999/0", "a/b/c", "1/1/xyz"} {
		if p, err := ParsePosition(text); err == nil {
			t.Errorf("%q is parsed as %v, want an error", text, p)
		}
	}
	f, err := os.Open("position.go")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	p := at(f, 700)
	if again, err := ParsePosition(p.String()); err != nil || again != p {
		t.Errorf("%v is parsed as %v, %v", p, again, err)
	}
	if _, err := New(Config{}); err == nil || errors.Is(err, ErrFull) {
		t.Error("New accepts a Config without a Sink")
	}
}
