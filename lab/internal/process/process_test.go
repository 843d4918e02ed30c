// SPDX-License-Identifier: Apache-2.0

package process

import (
	"context"
	"errors"
	"strings"
	"syscall"
	"testing"
	"time"
)

func newGroup(t *testing.T) (*Group, string) {
	t.Helper()
	dir := t.TempDir()
	g := NewGroup(dir, false)
	t.Cleanup(func() {
		if err := g.Close(); err != nil {
			t.Error(err)
		}
	})
	return g, dir
}

func start(t *testing.T, g *Group, spec Spec) *Process {
	t.Helper()
	p, err := g.Start(spec)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestStop(t *testing.T) {
	cases := map[string]struct {
		reason string
		role   string
		want   string
	}{
		"Obedient": {reason: "SIGTERM ends an ordinary program.", role: "wait", want: "signal: terminated"},
		"Stubborn": {
			reason: "What ignores SIGTERM is killed after the grace period.",
			role:   "stubborn",
			want:   "signal: killed",
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			g, dir := newGroup(t)
			spec := play(dir, "it", tc.role)
			if tc.role == "wait" {
				spec.Grace = time.Minute // it is never in need of more
			}
			p := start(t, g, spec)
			if err := p.WaitReady(t.Context(), logHas(p.LogFile(), "waiting")); err != nil {
				t.Fatal(err)
			}
			if err := p.Err(); err != nil {
				t.Errorf("Err() of a running process: %v", err)
			}
			if err := g.Stop(t.Context()); err != nil {
				t.Fatal(err)
			}
			if p.state != tc.want {
				t.Errorf("%s\nended by %q, want %q", tc.reason, p.state, tc.want)
			}
			if err := p.Err(); err != nil {
				t.Errorf("Err() after Stop: %v", err)
			}
		})
	}
}

func TestStartAgain(t *testing.T) {
	g, dir := newGroup(t)
	first := start(t, g, play(dir, "it", "wait"))
	if _, err := g.Start(play(dir, "it", "wait")); err == nil {
		t.Error("Start() of a name that is running: no error")
	}
	if err := first.Kill(); err != nil {
		t.Fatal(err)
	}
	second := start(t, g, play(dir, "it", "wait"))
	entries, err := Recorded(dir)
	if err != nil {
		t.Fatal(err)
	}
	if len(entries) != 1 || entries[0].Pid != second.Pid() || !entries[0].Alive() {
		t.Errorf("Recorded(): %+v, want pid %d alone, alive", entries, second.Pid())
	}
}

func TestWaitReadyFails(t *testing.T) {
	never := func(context.Context) error { return errors.New("connection refused") }
	cases := map[string]struct {
		reason string
		role   string
		want   []string
	}{
		"Ended": {
			reason: "An ended process will not become ready: the error has its exit and its last output.",
			role:   "fail",
			want:   []string{"it: it ended before it was ready: exit status 3", "it.log ends:\n  disk on fire"},
		},
		"Patience": {
			reason: "When the caller's patience ends the last answer matters.",
			role:   "wait",
			want:   []string{"it: not ready: that was enough (last answer: connection refused)", "it.log ends:"},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			g, dir := newGroup(t)
			p := start(t, g, play(dir, "it", tc.role))
			limit := 2 * time.Minute
			if tc.role == "wait" {
				limit = 2 * time.Second
			}
			ctx, cancel := context.WithTimeoutCause(t.Context(), limit, errors.New("that was enough"))
			defer cancel()
			err := p.WaitReady(ctx, never)
			for _, want := range tc.want {
				if err == nil || !strings.Contains(err.Error(), want) {
					t.Errorf("%s\nWaitReady(): %v\nwant %q", tc.reason, err, want)
				}
			}
		})
	}
}

func TestErrAfterUnexpectedEnd(t *testing.T) {
	g, dir := newGroup(t)
	p := start(t, g, play(dir, "it", "wait"))
	if err := syscall.Kill(p.Pid(), syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	<-p.Done()
	if err := p.Err(); err == nil || !strings.Contains(err.Error(), "it ended: signal: killed") {
		t.Errorf("Err(): %v, want how it ended", err)
	}
}
