// SPDX-License-Identifier: Apache-2.0

package serve

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	"go.opentelemetry.io/otel/trace"
)

// relisted waits until a trace is on the list of kept ones.
func (p *storedServer) relisted(id trace.TraceID) {
	p.t.Helper()
	ctx, cancel := context.WithCancel(p.t.Context())
	ended := make(chan error, 1)
	go func() { ended <- p.relist(ctx) }()
	kept := false
	for late := time.Now().Add(time.Minute); !kept && time.Now().Before(late); time.Sleep(10 * time.Millisecond) {
		var err error
		kept, _, err = p.journal.Kept(p.t.Context(), id)
		must(p.t, err)
	}
	cancel()
	must(p.t, <-ended)
	if !kept {
		p.t.Error("later spans of an archived trace would be dropped")
	}
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
		p.relisted(id)
	})
	t.Run("before a start", func(t *testing.T) {
		data, id := filled(t)
		must(t, os.Remove(journalFile(filepath.Join(data, "c"))))
		p := startStored(t, data)
		p.look()
		p.relisted(id)
	})
}
