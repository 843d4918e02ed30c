// SPDX-License-Identifier: Apache-2.0

package serve

import (
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/kube-lifeline/lifeline/app/internal/journal"
	"github.com/kube-lifeline/lifeline/app/internal/store"
)

// TestProgress: an error is logged once until it changes or is over, and readiness has it meanwhile.
func TestProgress(t *testing.T) {
	var log strings.Builder
	p := &progress{log: slog.New(slog.NewTextHandler(&log, nil))}
	if err := errors.Join(p.alive(), p.storing()); err != nil {
		t.Errorf("at first: %v", err)
	}
	full := fmt.Errorf("disk: %w", store.ErrFull)
	for range 3 {
		p.looked(full)
		p.troubled(full)
	}
	p.troubled(journal.ErrRenewed) // logged elsewhere
	if err := p.storing(); !errors.Is(err, store.ErrFull) {
		t.Errorf("storing is %v", err)
	}
	p.looked(nil)
	if err := p.storing(); err != nil {
		t.Errorf("afterwards storing is %v", err)
	}
	p.looked(full)
	p.troubled(full)
	if n := strings.Count(log.String(), "make room on the disk"); n != 2 {
		t.Errorf("%d lines for two faults:\n%s", n, log.String())
	}
	if n := strings.Count(log.String(), "writable again"); n != 1 {
		t.Errorf("%d lines for one recovery:\n%s", n, log.String())
	}
	p.last = p.last.Add(-stuck - time.Second)
	if p.alive() == nil {
		t.Error("a loop without a round is alive")
	}
}
