// SPDX-License-Identifier: Apache-2.0

// Package store is the contract of trace storage: the stored data, the queries, and the archive.
// Package storetest is the test suite of every archive, such as store/sqlite. The making of traces
// and their export are other rooms.
//
// # Stored data
//
// The archive holds finished traces. Later spans of a finished trace are amendments. These leave
// the stored spans unchanged, with one exception in what is returned: a new claim about the outcome
// of a reconciliation, or an aftermath, is valid from then on (span.Revise), in the trace, its summary
// and its lifecycles. Batches returns the first claims, too. Spans, events, links, evidence and sources of
// time are returned unchanged: a trace has the same OTLP form before and after. Two values are
// changed: invalid UTF-8 becomes valid, and a time outside 64 bits of nanoseconds around 1970 (1678
// to 2262) becomes the nearest one inside.
//
// Each stored API write and each causal edge is also kept as separate data, for queries that
// spans alone cannot serve.
//
// Open traces are in memory only. Another Reader of this package, view.View, adds them to the
// traces of the archive.
//
// # Merge
//
// Batches have increasing revisions. The content of an archive depends on the set of its batches,
// and not on their order or their repetitions:
//
//   - If a trace is finished twice, every span of either is kept. Of spans with the same ID, and of
//     the outcomes, those of the lower revision are valid.
//   - Of the claims about one reconciliation, that with the highest number is valid. So is that of
//     the aftermaths of one series (span.AftermathOf).
//   - An amending span is kept once, that of the lowest revision. It stays invisible until its
//     trace is stored.
//
// Prune and Forget leave no record of the removed traces: a repeated batch restores them. The rollups of a
// trace are those of its spans and valid claims, and stay after Prune. Those of a restored trace replace them.
//
// # Atomicity
//
// After Write has returned nil, the batch survives any end of the process. After an error or
// without a return, a reader may find all of the batch or none. An engine without transactions over
// several tables may leave a part of the traces. A repeated Write is always safe.
//
// # Concurrency and ownership
//
// One process writes to an archive, unless it is shared (Capabilities). An engine refuses a second
// one if it can (ErrInUse). All methods are safe for concurrent use. Readers never wait for the
// writer, and each result is of one moment. Write only reads its batch, and only while it runs. A
// Reader's results belong to the caller.
//
// # Errors
//
// Errors name the store. They wrap an error of this package where a caller may want to branch. The
// end of a context ends the call; its error is wrapped.
package store

import (
	"context"
	"errors"
	"time"

	"go.opentelemetry.io/otel/trace"

	"github.com/kube-lifeline/lifeline/app/internal/span"
)

// Errors for callers to branch on.
var (
	// ErrNotFound: there is no such trace.
	ErrNotFound = errors.New("not found")
	// ErrCursor: the cursor is not from a page of this kind.
	ErrCursor = errors.New("invalid cursor")
	// ErrInUse: another process, or another part of this one, has the store.
	ErrInUse = errors.New("in use")
	// ErrNewer: a newer version of Lifeline has written the store.
	ErrNewer = errors.New("written by a newer version of lifeline")
	// ErrForeign: the file belongs to another program, or a build before 0.1.0 has written it.
	ErrForeign = errors.New("it is a database of another program, or of lifeline before 0.1.0")
	// ErrUnavailable: the archive cannot be asked now. What is in memory can.
	ErrUnavailable = errors.New("the archive is unavailable")
	// ErrFull: no space is left for the batch.
	ErrFull = errors.New("no space left")
	// ErrReadOnly: the store's place is not writable.
	ErrReadOnly = errors.New("read-only")
	// ErrDamaged: the stored data are unreadable. The next Open finds the extent of the damage, and
	// sets a damaged file aside.
	ErrDamaged = errors.New("damaged")
	// ErrSystem: the system failed, such as the disk or for lack of memory. The same call may succeed
	// later.
	ErrSystem = errors.New("error of the system")
	// ErrClosed: the store was closed.
	ErrClosed = errors.New("closed")
)

// LostError is ErrDamaged of an open store whose files another program has deleted, replaced or
// overwritten. The next Open creates a new store.
type LostError struct {
	// File is the path of the file, and What the event, as in "was deleted".
	File, What string
	// SetAside is the new path of the file found there; empty if there was none.
	SetAside string
}

// Error names the file and the event.
func (e *LostError) Error() string {
	text := e.File + " " + e.What + " while the store was open"
	if e.SetAside != "" {
		text += "; what was there is now " + e.SetAside
	}
	return text
}

// Unwrap returns ErrDamaged.
func (e *LostError) Unwrap() error { return ErrDamaged }

// Config is the place of an archive. Each engine uses its own fields.
type Config struct {
	// Path is the file of a SQLite archive.
	Path string
	// Damage is the known damage of that file, which wraps ErrDamaged: the file is set aside without
	// a check. Nil means that no damage is known.
	Damage error
}

// Archive is an engine that keeps finished traces.
type Archive interface {
	Stored
	Writer
	Keeper
	Copier
	// Capabilities returns what the engine can do.
	Capabilities() Capabilities
	// Close waits for running calls and releases the archive. A second Close does nothing.
	Close() error
}

// Capabilities are the differences between engines.
type Capabilities struct {
	// Shared: several processes may write to the archive at the same time.
	Shared bool
	// Backup: the archive implements Backupper.
	Backup bool
}

// Backupper is an archive that copies itself.
type Backupper interface {
	// Backup writes a complete copy of the archive, of one moment, to a new file. Writes continue
	// meanwhile.
	Backup(ctx context.Context, path string) error
}

// Copier returns stored traces in a form that another archive accepts.
type Copier interface {
	// Batches returns the content of one finished trace as batches of this trace alone, or
	// ErrNotFound. Written to an archive without the trace, they give the same Record, apart from
	// Pinned. The first batch has the valid version.
	Batches(ctx context.Context, id trace.TraceID) ([]*Batch, error)
}

// Syncer is an archive whose batches may be lost in a power failure until Sync.
type Syncer interface {
	// Sync makes all batches so far survive a power failure.
	Sync(ctx context.Context) error
}

// Paired is an archive that is compared with the journal beside it.
type Paired interface {
	// Pair returns what the archive and its last journal have in common.
	Pair(ctx context.Context) (Pair, error)
}

// Pair identifies an archive, and the last commit in it. A copy of an archive has the same Pair.
type Pair struct {
	// Archive and Journal are random numbers from the creation of each; 0 is unknown.
	Archive, Journal int64
	// Commit is the highest revision of the journal's batches.
	Commit int64
}

// Writer adds data to an archive, and removes them.
type Writer interface {
	// Write merges b into the stored data. It returns an error for a batch that Validate refuses.
	Write(ctx context.Context, b *Batch) error
	// Prune removes whole traces, the earliest end first, and rollups until the limits hold. Pinned traces stay.
	// It returns the removed amounts, also with an error. Writes continue meanwhile.
	Prune(ctx context.Context, l Limits) (Pruned, error)
	// Check returns an error if the archive is lost, so that new writes would not survive. It is a
	// LostError if another program has deleted, replaced or overwritten its files. It is cheap,
	// unless another program has written to them. Write and Prune check as well.
	Check(ctx context.Context) error
}

// Keeper carries out decisions of people about what stays.
type Keeper interface {
	// Pin exempts a trace from Prune, or ends the exemption. It returns ErrNotFound for an absent
	// trace.
	Pin(ctx context.Context, id trace.TraceID, on bool) error
	// Forget removes everything about the selected objects: each trace with such an object as a
	// whole, also if it is pinned or has other objects; the edges from other traces to it; and the
	// rollups, also of traces that Prune has removed. It overwrites the data in the archive. It
	// returns the removed amounts, also with an error; a repetition continues. Free text of other
	// traces may still contain a name.
	Forget(ctx context.Context, which Selector) (Forgotten, error)
}

// Selector selects objects.
type Selector struct {
	// Namespace selects the objects in a namespace, and the Namespace itself. It is required.
	Namespace string
}

// Validate returns an error for a selector that selects nothing, or nil.
func (s Selector) Validate() error {
	if s.Namespace == "" {
		return errors.New("no namespace is given")
	}
	return nil
}

// Forgotten counts the data that Forget removed.
type Forgotten struct {
	// Traces counts traces, and Shared those of them with an object of another namespace.
	Traces, Shared int64
	// Edges counts the edges of other traces.
	Edges int64
	// Rollups counts the rollups of traces that were removed before.
	Rollups int64
}

// Reader answers questions about traces within a scope: from what a caller with this scope may see of them, as
// rights.Project returns it. A trace without a visible span does not exist for the caller: it is not returned, not
// counted, and no edge comes from it. Trace alone returns all of a trace: its caller projects it. What a Stored of
// such traces returns is another matter. A Reader that does not record
// clusters has nothing for a Scope with Clusters.
type Reader interface {
	Finder
	Spanner
	Learner
	// Trace returns one trace with all its spans, or ErrNotFound.
	Trace(ctx context.Context, s Scope, id trace.TraceID) (*Record, error)
	// List returns the traces that match q, the latest start first. Among equal starts, the highest
	// ID comes first. A trace that matches throughout, with the same start, appears exactly once in
	// all pages, even with concurrent writes.
	List(ctx context.Context, q Query) (*Page, error)
	// Density counts the traces that match q over time.
	Density(ctx context.Context, q DensityQuery) (*Density, error)
	// Writes returns the API writes that match q, the latest first, with the same guarantee.
	Writes(ctx context.Context, q WriteQuery) (*WritePage, error)
	// Causes returns every edge from a span of the trace to its cause, and every edge from another
	// trace to a span of this one. It is empty for an unknown trace. The order is that of
	// SortCauses. An edge to a trace outside the scope stays: it has only that trace's ID.
	Causes(ctx context.Context, s Scope, id trace.TraceID) ([]Cause, error)
	// Between returns the IDs of the traces from low to high, both included, in order and at most
	// limit of them. It completes the beginning of an ID.
	Between(ctx context.Context, s Scope, low, high trace.TraceID, limit int) ([]trace.TraceID, error)
	// Stats counts what is stored. Bytes and Revision, which concern all data, are 0 for a scope that
	// does not permit everything.
	Stats(ctx context.Context, s Scope) (Stats, error)
}

// Limits are the limits of Prune. The zero value limits nothing.
type Limits struct {
	// Before removes the traces that ended by then; zero means no limit of age.
	Before time.Time
	// Outcomes are limits in place of Before, for traces with these outcomes.
	Outcomes map[span.Outcome]time.Time
	// Bytes bounds the data on disk; 0 means no limit. Traces with an outcome in Outcomes go last.
	Bytes int64
	// Rollups removes the rollups that started by then; zero means no limit of age. Other limits of them are
	// MaxStoredRollups, and a quarter of Bytes: the oldest go first.
	Rollups time.Time
}

// MaxStoredRollups bounds the rollups of an archive.
const MaxStoredRollups = 2_000_000

// Removes reports whether the limits of age remove a trace with that end and outcome.
func (l Limits) Removes(end time.Time, outcome span.Outcome) bool {
	before, own := l.Outcomes[outcome]
	if !own {
		before = l.Before
	}
	return !before.IsZero() && !end.After(before)
}

// Pruned counts the removed data.
type Pruned struct {
	Traces, Rollups int64
	// Bytes is the freed space.
	Bytes int64
}

// Stats is the amount of stored data.
type Stats struct {
	// Traces counts all traces, open ones included. An archive has no open ones.
	Traces, Open  int64
	Spans, Writes int64
	// Bytes is the size of the data on disk.
	Bytes int64
	// Oldest is the earliest start of a trace; zero without traces.
	Oldest time.Time
	// Revision is the highest of all batches; 0 before the first batch.
	Revision int64
}
