// SPDX-License-Identifier: Apache-2.0

package serve

import (
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/kube-lifeline/lifeline/app/internal/journal"
	"github.com/kube-lifeline/lifeline/app/internal/store"
)

// stuck is the time without a round of the loop after which the process counts as dead. An
// unwritable store does not stop the rounds.
const stuck = 2 * time.Minute

// progress is what health and the API report about the loop. It is safe for concurrent use.
type progress struct {
	log *slog.Logger

	mu sync.Mutex
	// asOf is the time of the stored traces. last is the wall-clock time of the loop's last round.
	asOf, last time.Time
	// trouble is the error of the last round, and logged the last logged error.
	trouble error
	logged  string
}

// looked notes a round of the loop and its error.
func (p *progress) looked(err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.trouble != nil && err == nil {
		p.log.Info("the journal is writable again")
	}
	if err == nil {
		p.logged = ""
	}
	p.last, p.trouble = time.Now(), err
}

// advance notes the time of the stored traces.
func (p *progress) advance(asOf time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.asOf = asOf
}

// stored returns the time of the stored traces.
func (p *progress) stored() time.Time {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.asOf
}

// troubled logs the error of a failed look, once until it changes.
func (p *progress) troubled(err error) {
	if errors.Is(err, journal.ErrRenewed) {
		return // losses has logged it
	}
	advice := "the observations wait, nothing is lost"
	switch {
	case errors.Is(err, store.ErrFull):
		advice = "make room on the disk, or lower retention.size; " + advice
	case errors.Is(err, store.ErrReadOnly):
		advice = "make dataDir writable; " + advice
	case errors.Is(err, store.ErrDamaged):
		advice = "all state is written to a new journal"
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if text := err.Error(); text != p.logged {
		p.logged = text
		p.log.Error("cannot store the observations", errAttr(err), "do", advice)
	}
}

// alive and storing are checks of health.
func (p *progress) alive() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if since := time.Since(p.last); !p.last.IsZero() && since > stuck {
		return fmt.Errorf("the loop has made no progress for %s", since.Round(time.Second))
	}
	return nil
}

func (p *progress) storing() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.trouble
}
