// SPDX-License-Identifier: Apache-2.0

// Package viewtest makes views of traces for tests of their readers.
package viewtest

import (
	"context"
	"fmt"
	"net/http"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"go.opentelemetry.io/otel/trace"

	"github.com/kube-lifeline/lifeline/app/internal/span"
	"github.com/kube-lifeline/lifeline/app/internal/store"
	"github.com/kube-lifeline/lifeline/app/internal/store/sqlite"
	"github.com/kube-lifeline/lifeline/app/internal/view"
)

// View is a view over an archive in a temporary directory.
type View struct {
	*view.View
	archive store.Archive

	mu       sync.Mutex
	revision int64
	open     map[trace.TraceID]*span.Trace
	// down is the reason of an unavailable archive; nil if it is available.
	down error
}

// Traces are the traces of one look.
type Traces struct {
	// Open replaces the open traces with the same IDs. The others stay open, unless they are in
	// Finished.
	Open []*span.Trace
	// Finished and Amendments are written to the archive.
	Finished, Amendments []*span.Trace
}

// New returns a View without a look: readers get store.ErrUnavailable before the first Put.
func New(tb testing.TB) *View {
	tb.Helper()
	archive, err := sqlite.Open(tb.Context(), store.Config{Path: filepath.Join(tb.TempDir(), "lifeline.db")})
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = archive.Close() })
	v := &View{archive: archive, open: map[trace.TraceID]*span.Trace{}}
	v.View = view.New(pending, v.reader)
	return v
}

// Access returns the access of a sender who may see everything.
func (v *View) Access(*http.Request) (store.Access, error) {
	return store.NewGate(v, store.Whole).For(store.Scope{}), nil
}

// pending reads an entry of the pending log, which is empty.
func pending(context.Context, uint64) (*span.Trace, error) { return nil, store.ErrNotFound }

func (v *View) reader() (store.Stored, error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.down != nil {
		return nil, v.down
	}
	return v.archive, nil
}

// Put stores one look.
func (v *View) Put(tb testing.TB, asOf time.Time, t Traces) {
	tb.Helper()
	v.mu.Lock()
	defer v.mu.Unlock()
	v.revision++
	if len(t.Finished)+len(t.Amendments) > 0 {
		if err := v.archive.Write(tb.Context(), &store.Batch{
			Revision: v.revision, AsOf: asOf, Finished: t.Finished, Amendments: t.Amendments,
		}); err != nil {
			tb.Fatal(err)
		}
	}
	for _, one := range t.Finished {
		delete(v.open, one.ID)
	}
	for _, one := range t.Open {
		v.open[one.ID] = one
	}
	open := make([]*span.Trace, 0, len(v.open))
	for _, one := range v.open {
		open = append(open, one)
	}
	v.Publish(asOf, v.revision, open, nil)
}

// Fail makes the archive unavailable for that reason; nil makes it available again.
func (v *View) Fail(why error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.down = nil
	if why != nil {
		v.down = fmt.Errorf("%w: %w", store.ErrUnavailable, why)
	}
}
