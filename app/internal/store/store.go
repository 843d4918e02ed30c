// SPDX-License-Identifier: Apache-2.0

// Package store is the contract of Lifeline's memory: what an engine such as
// store/sqlite keeps, how it merges what it is told, and what it answers.
// Package storetest holds every engine to it. How traces come about, and where
// else they go, is for others.
//
// # What is kept
//
// A trace is open, as long as more is expected of it, or finished. A Writer is
// told of both in batches. An open trace is provisional: each version of it
// replaces the one before as a whole, and may be withdrawn when its writes turn
// out to belong elsewhere. A finished trace stays as it is. What is learned of
// it later is an amendment: further spans, which change none of those there.
// Spans, events, links, evidence, sources of time and outcomes come back as
// they were given: converted to OTLP, what is read equals what was written.
// Text that is not UTF-8 is made so, and times that 64 bits of nanoseconds
// around 1970 cannot hold (before 1678, after 2262) are kept as the nearest
// that they can.
//
// Besides, each stored API write and each causal edge is kept as data of its
// own, so that a question which no span answers can still be asked.
//
// # How versions merge
//
// Batches have revisions, which only grow. What a store holds depends on the
// set of batches it was given and not on their order, nor on how often each
// came:
//
//   - Of two open versions of a trace the one of the higher revision counts. A
//     withdrawal is a version without spans.
//   - A finished version counts more than any open one and any withdrawal.
//   - Where a trace is finished twice, every span of either is kept; of spans
//     with the same ID, and of the outcomes, those of the lower revision.
//   - An amending span is kept once, that of the lowest revision, and waits
//     unseen if its trace is not known yet.
//   - State alone goes by order: a batch older than the newest whose state was
//     kept changes no state.
//
// What Prune has removed is not remembered: a batch that is repeated brings it
// back.
//
// # Atomicity
//
// When Write returns nil, the batch survives the end of the process, however it
// ends. When it fails or never returns, a reader may find all of it or none; an
// engine without transactions over several tables may leave part of the traces,
// but never state whose traces are not there. Writing the batch again is always
// right.
//
// # Concurrency and ownership
//
// One process writes to a store; an engine refuses a second one where it can
// (ErrInUse). All methods may be called from any goroutine. Readers do not wait
// for the writer, and each answer is of one moment. Batches are only read while
// Write runs; what a Reader returns is the caller's.
//
// # Errors
//
// Errors name the store, and wrap one of this package's where a caller may want
// to tell them apart. A context that ends, ends the call: its error is wrapped.
package store

import (
	"context"
	"errors"
	"time"

	"go.opentelemetry.io/otel/trace"
)

// What callers tell apart.
var (
	// ErrNotFound: there is no such trace, or no such state.
	ErrNotFound = errors.New("not found")
	// ErrCursor: a cursor that no page of this kind has given.
	ErrCursor = errors.New("invalid cursor")
	// ErrInUse: another process, or another part of this one, has the store.
	ErrInUse = errors.New("in use")
	// ErrNewer: a newer version of Lifeline has written the store.
	ErrNewer = errors.New("written by a newer version of lifeline")
	// ErrFull: there is no space left for what is to be written.
	ErrFull = errors.New("no space left")
	// ErrReadOnly: the place of the store may not be written to.
	ErrReadOnly = errors.New("read-only")
	// ErrDamaged: what is stored cannot be read any more. Opening the store
	// again finds out how much of it, and sets a damaged file aside.
	ErrDamaged = errors.New("damaged")
	// ErrClosed: the store was closed.
	ErrClosed = errors.New("closed")
)

// LostError is ErrDamaged of an open store whose files another program has deleted,
// replaced or overwritten. Open the store again: it begins a new one.
type LostError struct {
	// File is the path of the file, and What the event, as in "was deleted".
	File, What string
	// SetAside is the new path of what stood there; empty if nothing did.
	SetAside string
}

// Error names the file and what was done.
func (e *LostError) Error() string {
	text := e.File + " " + e.What + " while the store was open"
	if e.SetAside != "" {
		text += "; what was there is now " + e.SetAside
	}
	return text
}

// Unwrap returns ErrDamaged.
func (e *LostError) Unwrap() error { return ErrDamaged }

// Store is an engine.
type Store interface {
	Reader
	Writer
	// Close waits for the calls that are under way and gives the store free.
	// Closing twice is harmless.
	Close() error
}

// Writer is how a store is filled.
type Writer interface {
	// Write merges b into what is stored. A batch that Validate refuses is
	// refused.
	Write(ctx context.Context, b *Batch) error
	// Prune removes finished traces, each whole, those that ended first
	// before others, until the limits hold or only open traces are left. It
	// tells what it has removed, also beside an error, and lets writes
	// through meanwhile.
	Prune(ctx context.Context, l Limits) (Pruned, error)
	// Check returns an error if the store is lost: nothing written to it would
	// survive. It is a LostError if another program has deleted, replaced or
	// overwritten its files. It is cheap unless another program has written to
	// them. Write and Prune check as well.
	Check(ctx context.Context) error
}

// Reader is how a store is asked.
type Reader interface {
	// Trace returns one trace with all its spans; ErrNotFound if there is
	// none.
	Trace(ctx context.Context, id trace.TraceID) (*Record, error)
	// List returns traces that match q, those that started last first; of the
	// same start, in order of their IDs, the highest first. A trace that
	// matches and starts at the same time throughout comes exactly once on
	// the way through all pages, whatever is written meanwhile.
	List(ctx context.Context, q Query) (*Page, error)
	// Writes returns API writes that match q, latest first, with the same
	// promise.
	Writes(ctx context.Context, q WriteQuery) (*WritePage, error)
	// Causes returns every edge from a span of the trace to its cause, and
	// every edge from another trace to a span of this one; empty if the
	// trace is not known. Their order is always the same.
	Causes(ctx context.Context, id trace.TraceID) ([]Cause, error)
	// State returns what a batch has kept under that name; ErrNotFound if
	// nothing.
	State(ctx context.Context, name string) ([]byte, error)
	// States returns all state whose names begin with prefix.
	States(ctx context.Context, prefix string) (map[string][]byte, error)
	// Stats counts what is stored.
	Stats(ctx context.Context) (Stats, error)
}

// Limits are what Prune makes hold. The zero value limits nothing.
type Limits struct {
	// Before removes what had ended by then; zero for no limit of age.
	Before time.Time
	// Bytes is what all data may take on disk; 0 for any amount.
	Bytes int64
}

// Pruned is what Prune has removed.
type Pruned struct {
	Traces int64
	// Bytes is by how much less the data take.
	Bytes int64
}

// Stats is how much is stored.
type Stats struct {
	// Traces are all traces, open ones included.
	Traces, Open  int64
	Spans, Writes int64
	// Bytes is what the data take on disk.
	Bytes int64
	// Oldest is the earliest start of a trace; zero if there is none.
	Oldest time.Time
	// Revision is the highest of all batches; 0 before the first.
	Revision int64
}
