// SPDX-License-Identifier: Apache-2.0

package telemetry

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"
	"time"
)

// TestSeldom: of a frequent message one line is logged, with the number of suppressed ones.
func TestSeldom(t *testing.T) {
	var out bytes.Buffer
	s := Seldom{Log: slog.New(slog.NewTextHandler(&out, nil)), Pause: time.Hour}
	for range 3 {
		s.Say(slog.LevelWarn, "a door was shut", slog.String("who", "mallory\x1b[31m\n"))
		s.Say(slog.LevelWarn, "another was")
	}
	if got := strings.Count(out.String(), "\n"); got != 2 {
		t.Errorf("%d lines:\n%s", got, &out)
	}
	if strings.Contains(out.String(), "\x1b") || !strings.Contains(out.String(), "mallory") {
		t.Errorf("it is not escaped: %q", &out)
	}
	start := time.Now().Add(2 * time.Hour)
	for i, want := range []struct {
		after time.Duration
		left  int
		ok    bool
	}{
		{0, 2, true}, {time.Minute, 0, false}, {2 * time.Minute, 0, false}, {time.Hour, 2, true},
		{3 * time.Hour, 0, true},
	} {
		if left, ok := s.next("a door was shut", start.Add(want.after)); left != want.left || ok != want.ok {
			t.Errorf("call %d: %d, %v, want %+v", i, left, ok, want)
		}
	}
}

func TestSeldomWriter(t *testing.T) {
	var out bytes.Buffer
	s := Seldom{Log: slog.New(slog.NewTextHandler(&out, nil))}
	w := s.Writer("a client")
	for range 2 {
		if n, err := w.Write([]byte(strings.Repeat("x", 2000) + "\n")); n != 2001 || err != nil {
			t.Errorf("wrote %d, %v", n, err)
		}
	}
	if got := out.String(); strings.Count(got, "\n") != 1 || len(got) > maxReason+200 ||
		!strings.Contains(got, "a client") {
		t.Errorf("it says %q", got)
	}
}
