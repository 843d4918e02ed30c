// SPDX-License-Identifier: Apache-2.0

package serve

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"go.opentelemetry.io/otel/trace"

	"github.com/kube-lifeline/lifeline/app/internal/export"
	"github.com/kube-lifeline/lifeline/app/internal/journal"
	"github.com/kube-lifeline/lifeline/app/internal/store"
)

func (p *storedServer) newCompletion(o *export.Outbox) *completion {
	return newCompletion(p.journal, p.archive, o, p.clock.Now, p.server.log)
}

// keptAgain waits until a trace is on the list of kept ones.
func (p *storedServer) keptAgain(id trace.TraceID) {
	p.t.Helper()
	ctx, cancel := context.WithCancel(p.t.Context())
	ended := make(chan error, 1)
	go func() { ended <- p.newCompletion(p.delivery.outbox).run(ctx) }()
	p.until("a trace of the archive is not on the list of kept ones", func() bool {
		kept, _, err := p.journal.Kept(p.t.Context(), id)
		must(p.t, err)
		return kept
	})
	cancel()
	must(p.t, <-ended)
}

// TestKeptAfterLoss: later spans of an archived trace belong to it, also after the loss of the journal.
func TestKeptAfterLoss(t *testing.T) {
	t.Run("while the server runs", func(t *testing.T) {
		p := startStored(t, t.TempDir())
		p.look()
		id := p.finish()
		p.archivedAll(id)
		must(t, os.Remove(journalFile(p.dir)))
		p.r.save = true
		p.look()
		p.keptAgain(id)
	})
	t.Run("before a start", func(t *testing.T) {
		data, id := filled(t)
		must(t, os.Remove(journalFile(filepath.Join(data, "c"))))
		p := startStored(t, data)
		p.look()
		p.keptAgain(id)
	})
}

// countingLog counts the readings of the log.
type countingLog struct {
	export.Log
	reads int
}

func (l *countingLog) Pending(ctx context.Context, of journal.Consumer) ([]journal.Item, error) {
	l.reads++
	return l.Log.Pending(ctx, of)
}

// TestCompleteWithoutArchive: while the archive is away, the whole log is read once for each journal.
func TestCompleteWithoutArchive(t *testing.T) {
	p := startStored(t, t.TempDir())
	p.look()
	p.archive = p.newArchive(p.options, nil) // it never runs
	log := &countingLog{Log: p.journal}
	outbox, err := export.OpenOutbox(t.Context(), export.OutboxOptions{Log: log})
	must(t, err)
	c := p.newCompletion(outbox)
	log.reads = 0
	for n := range 2 {
		for range 3 {
			if err := c.restore(t.Context(), n); !errors.Is(err, store.ErrUnavailable) {
				t.Errorf("without the archive: %v", err)
			}
		}
		if log.reads != n+1 {
			t.Errorf("%d readings of the log for %d journals", log.reads, n+1)
		}
	}
	must(t, outbox.Close(t.Context()))
}

// TestMarkOfReplacedJournal: a journal that was replaced while its list was made has no mark.
func TestMarkOfReplacedJournal(t *testing.T) {
	p := startStored(t, t.TempDir())
	p.look()
	p.archivedAll(p.finish())
	seen := p.journal.Renewals()
	must(t, os.Remove(journalFile(p.dir)))
	p.r.save = true
	p.look()
	if err := p.newCompletion(p.delivery.outbox).restore(t.Context(), seen); !errors.Is(err, journal.ErrRenewed) {
		t.Errorf("got %v", err)
	}
	if _, err := p.journal.State(t.Context(), keptState); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("the mark of the new journal: %v", err)
	}
}
