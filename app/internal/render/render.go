// SPDX-License-Identifier: Apache-2.0

// Package render draws traces: as a tree with bars, as a table, as a graph of their causes, as an
// OTLP JSON document, and live on a terminal. It writes to an io.Writer and does not read the
// environment: callers supply the width, the colours and the time.
//
// Names and messages from a cluster are not trusted. Characters that could move the cursor, change
// colours or reorder text are escaped.
package render

import (
	"time"
)

// defaultWidth is the width without a terminal.
const defaultWidth = 100

// minWidth is the smallest useful width of a line.
const minWidth = 20

// Options configures a drawing. The zero value draws 100 cells wide, without colour, at the zero
// time; set Now if spans may be open.
type Options struct {
	// Width is the number of cells in a line; 0 means 100.
	Width int
	// Color allows ANSI colours. The caller checks NO_COLOR and pipes.
	Color bool
	// Now is the end of open spans. Its location is that of the printed times.
	Now time.Time
	// Cluster is the UID of the cluster, for documents; may be empty.
	Cluster string
	// Full draws every span, without folding of similar siblings or foreign spans. A graph still has
	// one node for each reconciliation.
	Full bool
	// Settle is the time for which a converged trace is still watched, for the header of a live
	// drawing; 0 omits it.
	Settle time.Duration
}

func (o Options) width() int {
	if o.Width <= 0 {
		return defaultWidth
	}
	return max(o.Width, minWidth)
}
