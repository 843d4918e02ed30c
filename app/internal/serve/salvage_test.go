// SPDX-License-Identifier: Apache-2.0

package serve

import (
	"context"
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	"go.opentelemetry.io/otel/trace"

	"github.com/kube-lifeline/lifeline/app/internal/store"
)

// damagedServer ends a server with traces in its archive, damages a part of the archive, and starts
// another one on the same data.
func damagedServer(t *testing.T) (p *storedServer, before []trace.TraceID) {
	t.Helper()
	data := t.TempDir()
	p = startStored(t, data)
	for range 200 {
		before = append(before, p.finish())
	}
	p.archivedAll(before...)
	p.end()
	f, err := os.OpenFile(archiveFile(p.dir), os.O_RDWR, 0)
	must(t, err)
	size, err := f.Seek(0, 2)
	must(t, err)
	_, err = f.WriteAt([]byte(strings.Repeat("garbage!", 512)), size*3/4) // the tables begin before it
	must(t, errors.Join(err, f.Close()))
	p = startStored(t, data)
	<-p.archive.Opened()
	return p, before
}

// salvaging runs the salvage until the test ends or stop is called.
func (p *storedServer) salvaging() (stop func()) {
	ctx, cancel := context.WithCancel(p.t.Context())
	ended := make(chan error, 1)
	go func() { ended <- p.salvage(ctx) }()
	return func() { cancel(); must(p.t, <-ended) }
}

// salvagedSome waits for the end of the salvage, and returns how many traces are in the new archive.
func (p *storedServer) salvagedSome(of []trace.TraceID) (n int) {
	p.t.Helper()
	for late := time.Now().Add(time.Minute); len(p.salvages.all()) > 0; {
		if time.Now().After(late) {
			p.t.Fatalf("still to be salvaged: %v", p.salvages.all())
		}
		time.Sleep(10 * time.Millisecond)
	}
	a, err := p.archive.Archive()
	must(p.t, err)
	for _, id := range of {
		if _, err := a.Trace(p.t.Context(), id); err == nil {
			n++
		} else if !errors.Is(err, store.ErrNotFound) {
			p.t.Error(err)
		}
	}
	return n
}

// TestSalvage: the readable traces of a damaged archive come into the new one. Afterwards the journal
// does not name the file any more.
func TestSalvage(t *testing.T) {
	p, before := damagedServer(t)
	stop := p.salvaging()
	n := p.salvagedSome(before)
	stop()
	if n == 0 || n == len(before) {
		t.Errorf("%d of %d traces were salvaged, want some and not all", n, len(before))
	}
	if left, err := p.journal.States(t.Context(), salvageState); len(left) > 0 || err != nil {
		t.Errorf("the journal names %v: %v", left, err)
	}
	p.lines(
		`level=ERROR msg="the archive was damaged; it was set aside, and a new one was created" .*`,
		`level=INFO msg="the readable traces of the damaged archive are in the new one; .* lost=[0-9]+ .*`,
	)
}

// TestSalvageAfterRestart: a server that ended before the salvage leaves it to the next one.
func TestSalvageAfterRestart(t *testing.T) {
	p, before := damagedServer(t)
	p.end()
	p = startStored(t, p.conf.Load().DataDir)
	<-p.archive.Opened()
	stop := p.salvaging()
	for late := time.Now().Add(time.Minute); len(p.salvages.all()) == 0 && time.Now().Before(late); {
		if found, err := p.journal.States(t.Context(), salvageState); len(found) == 0 || err != nil {
			break // it has ended already
		}
		time.Sleep(time.Millisecond)
	}
	if n := p.salvagedSome(before); n == 0 {
		t.Error("nothing was salvaged")
	}
	stop()
}

// TestSalvageWaits: without an archive to write to, the salvage goes on later, and says so once.
func TestSalvageWaits(t *testing.T) {
	p, _ := damagedServer(t)
	for file, at := range p.salvages.all() {
		p.archive = p.newArchive(p.dir, nil) // it never runs
		if err := p.salvageFile(t.Context(), file, at); !errors.Is(err, errArchiveAway) {
			t.Errorf("got %v", err)
		}
	}
	if len(p.salvages.all()) != 1 {
		t.Errorf("to be salvaged: %v, want one file", p.salvages.all())
	}
}
