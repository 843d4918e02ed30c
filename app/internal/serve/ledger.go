// SPDX-License-Identifier: Apache-2.0

package serve

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"go.opentelemetry.io/otel/trace"

	"github.com/kube-lifeline/lifeline/app/internal/api"
	"github.com/kube-lifeline/lifeline/app/internal/store"
)

// ledger is the store for all parts of a server. It gives each batch its revision, and reopens a
// damaged database underneath the readers. It is safe for concurrent use.
type ledger struct {
	open func(context.Context) (store.Store, error)
	// wrote gets the duration of each batch; may be nil. It is set before the ledger is shared.
	wrote func(time.Duration)
	// replaced is called after a lost store was reopened, with the error of the loss; may be nil.
	// It is set before the ledger is shared.
	replaced func(why error)

	// writing is held while a batch is written, so that revisions are written in order.
	writing  sync.Mutex
	revision int64

	mu sync.RWMutex
	st store.Store
	// renewed counts the replacements of the store by an empty one.
	renewed int
	closed  bool
	// lost is the error of a store that is closed and not replaced yet.
	lost error
}

var (
	_ store.Reader = (*ledger)(nil)
	_ api.Finder   = (*ledger)(nil)
)

// openLedger opens the store.
func openLedger(ctx context.Context, open func(context.Context) (store.Store, error)) (*ledger, error) {
	st, err := open(ctx)
	if err != nil {
		return nil, err
	}
	stats, err := st.Stats(ctx)
	if err != nil {
		return nil, errors.Join(err, st.Close())
	}
	return &ledger{open: open, st: st, revision: stats.Revision}, nil
}

// commit writes b with the next revision. It replaces a damaged store and then returns errRenewed:
// the caller must start again with a full snapshot.
func (l *ledger) commit(ctx context.Context, b *store.Batch) error {
	l.writing.Lock()
	defer l.writing.Unlock()
	l.revision++
	b.Revision = l.revision
	began := time.Now()
	if l.isLost() {
		if err := l.reopen(ctx); err != nil {
			return err
		}
		return errRenewed
	}
	err := l.store().Write(ctx, b)
	if l.wrote != nil {
		l.wrote(time.Since(began))
	}
	if !errors.Is(err, store.ErrDamaged) {
		return err
	}
	l.lose(err)
	if again := l.reopen(ctx); again != nil {
		return fmt.Errorf("%w; %w", err, again)
	}
	return fmt.Errorf("%w: %w", errRenewed, err)
}

// sound reports whether the store is open, intact and not replaced since that many renewals.
func (l *ledger) sound(ctx context.Context, renewals int) bool {
	return !l.isLost() && l.renewals() == renewals && l.store().Check(ctx) == nil
}

// errRenewed is returned once for a replaced store, which may lack earlier batches.
var errRenewed = errors.New("the store was opened again")

// isLost reports whether the store was closed as damaged and is not reopened yet.
func (l *ledger) isLost() bool {
	l.mu.RLock()
	defer l.mu.RUnlock()
	return l.lost != nil && !l.closed
}

// lose closes a damaged store.
func (l *ledger) lose(why error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed || l.lost != nil {
		return
	}
	l.lost = why
	// Its files may have been set aside just now.
	if err := l.st.Close(); errors.Is(err, store.ErrDamaged) {
		l.lost = err
	}
}

// reopen replaces a lost store by a new Open.
func (l *ledger) reopen(ctx context.Context) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return store.ErrClosed
	}
	// The check of the whole file may take longer than the caller's deadline.
	ctx = context.WithoutCancel(ctx)
	st, err := l.open(ctx)
	if err != nil {
		return err
	}
	stats, err := st.Stats(ctx)
	if err != nil {
		return errors.Join(err, st.Close())
	}
	why := l.lost
	l.st, l.lost = st, nil
	l.renewed++
	l.revision = max(l.revision, stats.Revision)
	if l.replaced != nil {
		l.replaced(why)
	}
	return nil
}

func (l *ledger) store() store.Store {
	l.mu.RLock()
	defer l.mu.RUnlock()
	return l.st
}

// renewals returns the number of replacements.
func (l *ledger) renewals() int {
	l.mu.RLock()
	defer l.mu.RUnlock()
	return l.renewed
}

// close closes the store; a second call is harmless.
func (l *ledger) close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.closed = true
	if l.lost != nil {
		return nil
	}
	if err := l.st.Close(); err != nil {
		return fmt.Errorf("cannot close the store: %w", err)
	}
	return nil
}

// prune is store.Writer.Prune.
func (l *ledger) prune(ctx context.Context, limits store.Limits) (store.Pruned, error) {
	return l.store().Prune(ctx, limits)
}

// Trace implements store.Reader.
func (l *ledger) Trace(ctx context.Context, id trace.TraceID) (*store.Record, error) {
	return l.store().Trace(ctx, id)
}

// List implements store.Reader.
func (l *ledger) List(ctx context.Context, q store.Query) (*store.Page, error) {
	return l.store().List(ctx, q)
}

// Between implements api.Finder.
func (l *ledger) Between(ctx context.Context, low, high trace.TraceID, limit int) ([]trace.TraceID, error) {
	finder, ok := l.store().(api.Finder)
	if !ok {
		return nil, errors.ErrUnsupported
	}
	return finder.Between(ctx, low, high, limit)
}

// Writes implements store.Reader.
func (l *ledger) Writes(ctx context.Context, q store.WriteQuery) (*store.WritePage, error) {
	return l.store().Writes(ctx, q)
}

// Causes implements store.Reader.
func (l *ledger) Causes(ctx context.Context, id trace.TraceID) ([]store.Cause, error) {
	return l.store().Causes(ctx, id)
}

// State implements store.Reader.
func (l *ledger) State(ctx context.Context, name string) ([]byte, error) {
	return l.store().State(ctx, name)
}

// States implements store.Reader.
func (l *ledger) States(ctx context.Context, prefix string) (map[string][]byte, error) {
	return l.store().States(ctx, prefix)
}

// Stats implements store.Reader.
func (l *ledger) Stats(ctx context.Context) (store.Stats, error) { return l.store().Stats(ctx) }
