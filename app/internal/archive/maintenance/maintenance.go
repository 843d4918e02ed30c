// SPDX-License-Identifier: Apache-2.0

// Package maintenance has the operations on an archive that a person asks for: export, import,
// backup, forget and pin. A running server offers them on a Unix socket in the directory of its
// cluster (Listen, Handler). Without a server, Open locks the files and works on them. Both ways
// give the same Operations.
//
// The socket belongs to the user of the server, and its mode is 0600. This permission is the only
// authority: there is no other authentication.
package maintenance

import (
	"context"
	"errors"
	"io"
	"time"

	"github.com/kube-lifeline/lifeline/app/internal/store"
)

// Errors for callers to branch on.
var (
	// ErrNoArchive: the directory has no archive.
	ErrNoArchive = errors.New("there is no archive")
	// ErrNoServer: no server offers the operations.
	ErrNoServer = errors.New("no server offers archive operations")
)

// MaxLine bounds a line of an export, in bytes.
const MaxLine = 256 << 20

// Operations are the operations on the archive of one cluster. They are safe for concurrent use.
type Operations interface {
	// Cluster returns the name of the cluster's directory: its UID.
	Cluster() string
	// Export writes the selected traces to w, one line each, the latest start first. A trace that
	// finishes meanwhile may be missing.
	Export(ctx context.Context, f Filter, w io.Writer) (Exported, error)
	// Import stores the trace of one line. A line that document.Decode refuses is
	// document.ErrDamaged.
	Import(ctx context.Context, line []byte) (Imported, error)
	// Backup writes a complete copy of the archive to a new file, with an absolute path.
	Backup(ctx context.Context, path string) (Exported, error)
	// Copy writes a complete copy of the archive to w. It needs room for the copy beside the archive.
	Copy(ctx context.Context, w io.Writer) (Exported, error)
	// Forget removes all traces that touch a namespace.
	Forget(ctx context.Context, namespace string) (Forgotten, error)
	// Pin exempts a trace from retention, or ends the exemption. The ID may be its beginning, of at
	// least MinDigits digits.
	Pin(ctx context.Context, id string, on bool) (Pinned, error)
	// Close releases the archive or the connection.
	Close() error
}

// Filter selects traces, as store.Query does. The zero value selects all.
type Filter struct {
	// Since and Until bound the start: not before Since, before Until.
	Since, Until time.Time
	// Namespace selects the traces that touch an object in a namespace.
	Namespace string
	// ID selects the traces with these first digits, at least MinDigits. The first two are enough to see
	// that it is ambiguous: no more are selected.
	ID string
}

// Exported counts the traces of an export or a copy.
type Exported struct {
	// Traces counts the written traces; 0 for a copy.
	Traces int64 `json:"traces"`
	// Missing counts the finished traces that still wait for the archive, and are not in the result.
	Missing int `json:"missing"`
}

// Imported describes an imported trace.
type Imported struct {
	// Added reports whether the archive did not have the trace.
	Added bool `json:"added"`
	// Cluster is the UID of the trace's cluster; empty if unknown.
	Cluster string `json:"cluster,omitempty"`
	// End is the end of the trace.
	End time.Time `json:"end,omitzero"`
	// Expired means that the retention of the running server removes the trace again. It is false without a server.
	Expired bool `json:"expired,omitempty"`
}

// Forgotten counts the data that Forget removed.
type Forgotten struct {
	store.Forgotten
	// Unsent counts the traces, and later parts of traces, that will not be sent to the backend.
	Unsent int `json:"unsent"`
}

// Pinned is a trace that Pin has found.
type Pinned struct {
	TraceID string `json:"traceId"`
	// What is the change in a few words.
	What string `json:"what"`
	// Before reports whether it was pinned before.
	Before bool `json:"before"`
}
