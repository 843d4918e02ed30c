// SPDX-License-Identifier: Apache-2.0

package serve

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.opentelemetry.io/otel/trace"

	"github.com/kube-lifeline/lifeline/app/internal/database"
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
	content, err := os.ReadFile(archiveFile(p.dir))
	must(t, err)
	const page = 4096
	at := bytes.LastIndex(content, []byte("reconcile ")) / page * page // in a page of traces or spans
	copy(content[at:at+page], strings.Repeat("garbage!", page/8))
	must(t, os.WriteFile(archiveFile(p.dir), content, 0o600))
	p = startStored(t, data)
	<-p.archive.Opened()
	return p, before
}

func (p *storedServer) salvages() *salvages {
	return newSalvages(p.journal, p.archive, p.clock.Now, p.server.log)
}

// salvaging runs the salvage until the test ends or stop is called.
func (p *storedServer) salvaging() (stop func()) {
	ctx, cancel := context.WithCancel(p.t.Context())
	ended := make(chan error, 1)
	go func() { ended <- p.salvages().run(ctx) }()
	return func() { cancel(); must(p.t, <-ended) }
}

// unsalvaged returns the damaged archives that are set aside and not done.
func (p *storedServer) unsalvaged() []string {
	p.t.Helper()
	files, err := database.Damaged(archiveFile(p.dir))
	must(p.t, err)
	return files
}

// salvagedSome waits for the end of the salvage, and returns how many traces are in the new archive.
func (p *storedServer) salvagedSome(of []trace.TraceID) (n int) {
	p.t.Helper()
	p.until("a damaged file is still to be salvaged", func() bool { return len(p.unsalvaged()) == 0 })
	a, err := p.archive.Archive()
	must(p.t, err)
	for _, id := range of {
		if _, err := a.Trace(p.t.Context(), store.Scope{}, id); err == nil {
			n++
		} else if !errors.Is(err, store.ErrNotFound) {
			p.t.Error(err)
		}
	}
	return n
}

// TestSalvage: the readable traces of a damaged archive come into the new one. Afterwards its name
// marks it as done, and the journal has no position in it.
func TestSalvage(t *testing.T) {
	p, before := damagedServer(t)
	stop := p.salvaging()
	n := p.salvagedSome(before)
	p.log.await(t, `(the readable traces of the damaged archive)`)
	stop()
	if n == 0 || n == len(before) {
		t.Errorf("%d of %d traces were salvaged, want some and not all", n, len(before))
	}
	if left, err := p.journal.States(t.Context(), salvageState); len(left) > 0 || err != nil {
		t.Errorf("the journal names %v: %v", left, err)
	}
	p.lines(
		`level=ERROR msg="the archive was damaged; it was set aside, and a new one was created" .*`,
		`level=INFO msg="the readable traces of the damaged archive are in .* file=\S+Z.done .* lost=[0-9]+`,
	)
}

// TestSalvageAfterRestart: a server that ended before the salvage leaves it to the next one.
func TestSalvageAfterRestart(t *testing.T) {
	p, before := damagedServer(t)
	p.end()
	p = startStored(t, p.options.DataDir)
	<-p.archive.Opened()
	stop := p.salvaging()
	if n := p.salvagedSome(before); n == 0 {
		t.Error("nothing was salvaged")
	}
	stop()
}

// TestSalvageAfterKill: a server was killed when it had set its archive aside, and had done nothing
// else.
func TestSalvageAfterKill(t *testing.T) {
	data, id := filled(t)
	path := archiveFile(filepath.Join(data, "c"))
	_, err := database.SetAside(path, "damaged", time.Now(), store.ErrDamaged)
	must(t, err)
	p := startStored(t, data)
	<-p.archive.Opened()
	stop := p.salvaging()
	if n := p.salvagedSome([]trace.TraceID{id}); n != 1 {
		t.Errorf("%d of 1 trace is in the new archive", n)
	}
	stop()
}

// TestSalvageWaits: without an archive to write to, the salvage goes on later, and says so once.
func TestSalvageWaits(t *testing.T) {
	p, _ := damagedServer(t)
	p.archive = p.newArchive(p.options, nil) // it never runs
	all := p.salvages()
	for _, path := range p.unsalvaged() {
		if err := all.file(t.Context(), path); !errors.Is(err, errArchiveAway) {
			t.Errorf("got %v", err)
		}
	}
	all.files(t.Context())
	all.files(t.Context())
	if len(p.unsalvaged()) != 1 {
		t.Errorf("to be salvaged: %v, want one file", p.unsalvaged())
	}
	p.lines(`level=ERROR msg="the archive was damaged`, `level=WARN msg="the salvage of a damaged archive waits"`)
}
