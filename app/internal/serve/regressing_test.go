// SPDX-License-Identifier: Apache-2.0

package serve

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kube-lifeline/lifeline/app/internal/config"
	"github.com/kube-lifeline/lifeline/app/internal/shift"
	"github.com/kube-lifeline/lifeline/app/internal/store"
)

// TestRegressing follows the pauses, the errors and the off switch through several reports.
func TestRegressing(t *testing.T) {
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	var log bytes.Buffer
	var fault error
	took := time.Second
	var published []*shift.Report
	s := &settings{}
	c := config.Default()
	c.Regressions.Period = metav1.Duration{Duration: 48 * time.Hour}
	s.Store(c)
	r := &regressing{
		settings: s, now: func() time.Time { return now }, log: slog.New(slog.NewTextHandler(&log, nil)),
		compute: func(_ context.Context, since, until time.Time) (*shift.Report, error) {
			if !until.Equal(now) || !since.Equal(now.Add(-48*time.Hour)) {
				t.Errorf("computed from %s to %s", since, until)
			}
			now = now.Add(took)
			return &shift.Report{}, fault
		},
		publish: func(r *shift.Report) { published = append(published, r) },
	}
	off := config.Default()
	off.Regressions.Enabled = false
	for _, step := range []struct {
		name  string
		set   func()
		pause time.Duration
		count int
	}{
		{"usual", func() {}, 10 * time.Minute, 1},
		{"slow", func() { took = time.Minute }, 20 * time.Minute, 2},
		{"the archive is being opened", func() { fault = store.ErrUnavailable }, time.Minute, 2},
		{"others ask", func() { fault = store.ErrBusy }, time.Minute, 2},
		{"a fault", func() { fault, took = errors.New("no rows"), 0 }, 10 * time.Minute, 2},
		{"again", func() {}, 10 * time.Minute, 2},
		{"mended", func() { fault = nil }, 10 * time.Minute, 3},
		{"off", func() { s.Store(off) }, time.Minute, 4},
	} {
		step.set()
		if pause := r.next(t.Context()); pause != step.pause || len(published) != step.count {
			t.Errorf(
				"%s: pause %s, %d reports, want %s and %d",
				step.name,
				pause,
				len(published),
				step.pause,
				step.count,
			)
		}
	}
	if published[3] != nil {
		t.Error("reports are switched off, and the last one stays")
	}
	if strings.Count(log.String(), "no rows") != 1 {
		t.Errorf("the log is %s", &log)
	}
	var pauses []time.Duration
	ctx, cancel := context.WithCancel(t.Context())
	r.wait = func(_ context.Context, d time.Duration) {
		if pauses = append(pauses, d); len(pauses) == 3 {
			cancel()
		}
	}
	s.Store(c)
	if err := r.run(ctx); err != nil || pauses[0] != firstReport || pauses[2] != 10*time.Minute || len(published) != 6 {
		t.Errorf("%v, pauses %v, %d reports", err, pauses, len(published))
	}
	pauseFor(ctx, time.Hour) // returns with the end of ctx
}
